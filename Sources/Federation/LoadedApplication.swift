package import Vocabulary
import Mapping
import NIOConcurrencyHelpers
import Store

/// An application ready to work with: secrets opened, mappings compiled, statements generated; immutable at one revision.
package final class LoadedApplication: Sendable {
    package let application: Application
    let storedMappings: [ProviderName: Mapping]
    private let storedProviders: [ProviderName: StoredApplication.Provider]
    /// The API keys by SHA-256 of their text.
    private let keys: [[UInt8]: StoredApplication.Key]
    let dynamicNames: Set<PropertyName>
    /// Why logins are refused although the provider is enabled: a secret that does not open, a mapping that does not fit.
    let defect: String?
    private let plans = NIOLockedValueBox<[[UInt8]: LoginPlan]>([:])

    /// Client mappings are few per app; an attacker who sends many only empties the cache.
    private static let plansKept = 128

    init(_ stored: StoredApplication, masterKeys: MasterKeys) {
        var defects = stored.unreadable.map { "its stored \($0) cannot be read" }
        var settings = ApplicationSettings()
        do { settings = try SettingsDocument.parse(stored.settings) } catch {
            defects.append("its settings cannot be read: \(error)")
        }
        var providers: [ProviderName: any ProviderSettings] = [:]
        var mappings: [ProviderName: Mapping] = [:]
        for type in IdentityProviders.all {
            if let provider = stored.providers[type.name] {
                let apps = masterKeys.apps(of: provider, at: type.name, application: stored.id, defects: &defects)
                let secrets = masterKeys.secrets(of: provider, at: type, application: stored.id, defects: &defects)
                do {
                    providers[type.name] = try type.settings(
                        enabled: provider.enabled,
                        options: provider.options,
                        secrets: secrets,
                        apps: apps
                    )
                } catch {
                    defects.append("its options of \(type.title) cannot be read: \(error)")
                }
            }
            if let mapping = stored.mappings[type.name] {
                do { mappings[type.name] = try Mapping(mapping.document) } catch {
                    defects.append("its mapping for \(type.title) cannot be read: \(error.first.message)")
                }
            }
        }
        application = Application(
            id: stored.id,
            name: stored.name,
            schema: stored.schema,
            revision: stored.revision,
            settings: settings,
            properties: stored.properties,
            providers: providers
        )
        storedMappings = mappings
        storedProviders = stored.providers
        keys = Dictionary(stored.keys.map { ($0.hash, $0) }) { first, _ in first }
        dynamicNames = stored.dynamicNames
        defect = defects.isEmpty ? nil : defects.joined(separator: "; ")
    }

    /// Undeclared properties that clients have brought in, in the order of their names.
    package var undeclaredNames: [PropertyName] {
        dynamicNames.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
    }

    /// The API key of that text; nil when the application has none such.
    ///
    /// What is compared is a hash of what the caller sent, so the time it takes says nothing of the keys.
    func key(_ text: Substring) -> APIKey? {
        keys[Digest.sha256(text)].map { APIKey(text: Secret(String(text)), label: $0.label, isServer: $0.server) }
    }

    /// Whether what a provider has said for another revision of the application would be said for this one.
    func isSetUp(with provider: ProviderName, as other: LoadedApplication) -> Bool {
        defect == nil && storedProviders[provider] == other.storedProviders[provider]
    }

    /// What to ask of a provider and what to write, for logins with this client mapping.
    func plan(for provider: ProviderName, clientMapping: JSONValue?) throws(Failure) -> LoginPlan {
        let client = application.settings.clientMapping ? clientMapping : nil
        var writer = JSONWriter()
        if let client { writer.value(client) }
        let key = Array("\(provider) ".utf8) + writer.bytes
        if let plan = plans.withLockedValue({ $0[key] }) { return plan }
        let plan = try makePlan(for: provider, client: client)
        plans.withLockedValue {
            if $0.count >= Self.plansKept { $0.removeAll() }
            $0[key] = plan
        }
        return plan
    }

    private func makePlan(for provider: ProviderName, client: JSONValue?) throws(Failure) -> LoginPlan {
        do throws(MappingProblems) {
            var clientMapping: Mapping?
            if let client { clientMapping = try Mapping(client, origin: .client) }
            let mapping = try CompiledMapping(
                stored: storedMappings[provider],
                client: clientMapping,
                fields: IdentityProviders.named(provider)?.fields ?? .none,
                properties: application.properties,
                settings: application.settings,
                dynamicNames: dynamicNames
            )
            return LoginPlan(mapping: mapping, provider: provider, application: application)
        } catch {
            // The client cannot mend what the operator wrote.
            guard error.first.origin == .client else { throw Self.unusable(cause: error.first.message) }
            throw error.failure
        }
    }

    /// The answer to logins while the configuration cannot be used.
    static func unusable(cause: String) -> Failure {
        Failure(
            .providerMisconfigured,
            "This application's configuration cannot be used. Its operator finds the cause in the service's log.",
            retryAfter: 60,
            cause: cause
        )
    }
}

extension MasterKeys {
    /// The apps whose secrets open.
    fileprivate func apps(
        of provider: StoredApplication.Provider,
        at name: ProviderName,
        application: ApplicationID,
        defects: inout [String]
    ) -> [ProviderApp] {
        provider.apps.compactMap { app in
            let place = MasterKey.Place.appSecret(application: application, provider: name, app: app.id)
            if let secret = open(app.secret, at: place) {
                return ProviderApp(id: app.id, secret: secret, configID: app.configID)
            }
            let ours = ids.joined(separator: ", ")
            defects.append("the secret of app \(app.id) is under master key \(app.secret.keyID), ours: \(ours)")
            return nil
        }
    }

    /// The secret options that open, by their names.
    fileprivate func secrets(
        of provider: StoredApplication.Provider,
        at type: any IdentityProvider.Type,
        application: ApplicationID,
        defects: inout [String]
    ) -> [String: Secret] {
        var secrets: [String: Secret] = [:]
        for option in type.secretOptions {
            guard let stored = StoredSecretOption(provider.options.object?[option.name]) else { continue }
            let place = MasterKey.Place.secretOption(application: application, provider: type.name, option: option.name)
            secrets[option.name] = open(stored, at: place)
            guard secrets[option.name] == nil else { continue }
            let keyID = stored.sealed?.keyID ?? "none"
            defects.append("its \(option.name) is under master key \(keyID), ours: \(ids.joined(separator: ", "))")
        }
        return secrets
    }
}
