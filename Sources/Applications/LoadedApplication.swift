package import Domain
package import Encodings
package import Mapping
import NIOConcurrencyHelpers
package import Providers
package import Secrets
package import Store

/// An application that is ready to use: secrets decrypted, mappings compiled, statements generated.
///
/// The object is immutable, at one revision of the application.
package final class LoadedApplication: Sendable {
    package let application: Application
    /// The time at which the application was created here, in milliseconds since 1970 UTC.
    package let created: Int64
    package let storedMappings: [ProviderName: Mapping]
    /// The configured providers whose configuration can be read.
    private let providers: [ProviderName: any Provider]
    private let storedProviders: [ProviderName: StoredApplication.Provider]
    private let providerKinds: [ProviderName: ProviderName]
    private let kinds: ProviderKinds
    /// The API keys by the SHA-256 of their text.
    private let keys: [[UInt8]: StoredApplication.Key]
    package let dynamicNames: Set<PropertyName>
    /// The reason why all logins by providers are refused; nil if there is none.
    ///
    /// For example, a secret cannot be decrypted, or a mapping does not fit the properties.
    package let defect: String?
    /// Providers of kinds that this version does not know, configured by a later version.
    ///
    /// Logins by other providers work.
    package let unknownProviders: [ProviderName]
    private let plans = NIOLockedValueBox<[[UInt8]: LoginPlan]>([:])
    /// The providers that refuse a field of the stored mapping, each with its error.
    ///
    /// Every login by such a provider fails. The error stays until the provider sends a profile or the configuration
    /// changes.
    private let refusals = NIOLockedValueBox<[ProviderName: String]>([:])

    /// The maximum number of cached login plans, one for each mapping that clients send.
    ///
    /// An app has few mappings. An attacker who sends many only empties the cache.
    private static let plansKept = 128

    package init(_ stored: StoredApplication, masterKeys: MasterKeys, kinds: ProviderKinds) {
        var defects = stored.unreadable.map { "its stored \($0) cannot be read" }
        var settings = ApplicationSettings()
        do { settings = try SettingsDocument.parse(stored: stored.settings) } catch {
            defects.append("its settings cannot be read: \(error)")
        }
        var providers: [ProviderName: any Provider] = [:]
        var mappings: [ProviderName: Mapping] = [:]
        for (name, provider) in stored.providers {
            guard let kind = kinds.named(provider.kind) else { continue }
            let setup = ProviderSetup(
                name: name,
                application: stored.id,
                isEnabled: provider.enabled,
                apps: masterKeys.apps(of: provider, at: name, application: stored.id, defects: &defects),
                options: provider.options,
                secrets: masterKeys.secrets(
                    of: provider,
                    named: name,
                    kind: kind,
                    application: stored.id,
                    defects: &defects
                )
            )
            do { providers[name] = try kind.provider(setup) } catch {
                defects.append("its options of the provider \(name) cannot be read: \(error)")
            }
        }
        for (name, mapping) in stored.mappings {
            do { mappings[name] = try Mapping(mapping.document) } catch {
                defects.append("its mapping for \(name) cannot be read: \(error.first.message)")
            }
        }
        application = Application(
            id: stored.id,
            name: stored.name,
            schema: stored.schema,
            database: stored.database,
            revision: stored.revision,
            settings: settings,
            properties: stored.properties
        )
        created = stored.created
        self.providers = providers
        self.kinds = kinds
        storedMappings = mappings
        storedProviders = stored.providers
        providerKinds = stored.providerKinds
        keys = Dictionary(stored.keys.map { ($0.hash, $0) }) { first, _ in first }
        dynamicNames = stored.dynamicNames
        defect = defects.isEmpty ? nil : defects.joined(separator: "; ")
        unknownProviders = stored.providers.filter { kinds.named($0.value.kind) == nil }.map(\.key)
    }

    /// The reasons why all logins by some or all providers of the application fail, each as a sentence.
    ///
    /// The readiness check, the command `doctor` and the console show this list.
    package var obstacles: [String] {
        (defect.map { ["Logins by providers are refused: \($0)."] } ?? [])
            + unknownProviders.map { "Logins by \($0) are refused: \(Self.unknownKind(of: $0))." } + refusedMappings
    }

    /// The part of `obstacles` that the service learns only from failed logins: a provider refuses a field of the
    /// stored mapping.
    package var refusedMappings: [String] {
        refusals.withLockedValue { $0 }.sorted { $0.key.text < $1.key.text }.map {
            "Logins by \($0.key) are refused: \($0.value)"
        }
    }

    /// Returns the application's provider that has a given name, for a login.
    ///
    /// - Throws: `provider_misconfigured`, `provider_not_configured`; `not_found` for a name that is neither a provider
    ///   kind nor a provider of the application.
    package func provider(_ name: ProviderName) throws(Failure) -> any Provider {
        if let defect { throw .unusableConfiguration(cause: defect) }
        guard let provider = providers[name], provider.isEnabled, !provider.apps.isEmpty else {
            throw notSetUp(name)
        }
        return provider
    }

    /// Returns the provider that has a given name, if it conforms to a given protocol, such as `DialogOffering`.
    ///
    /// The protocol is a capability of the provider, which the login needs.
    ///
    /// - Throws: The errors of `provider(_:)`; `not_found` for a provider without the capability.
    package func provider<Capability>(
        _ name: ProviderName,
        as capability: Capability.Type
    ) throws(Failure) -> Capability {
        let provider = try provider(name)
        guard let capable = provider as? Capability else { throw Self.missingCapability(provider.title) }
        return capable
    }

    /// Returns the configured provider with a name, enabled or not; nil when it is not configured or cannot be read.
    package func configured(_ name: ProviderName) -> (any Provider)? { providers[name] }

    /// Returns how many days the service waits before it erases a user who requested the deletion at a provider.
    ///
    /// - Returns: Nil for a provider that is not configured or does not report deletion requests.
    package func eraseAfterDays(of name: ProviderName) -> Int64? {
        (configured(name) as? any RemovalReporting)?.eraseAfterDays
    }

    /// Returns the identities that a user's id at a provider can mean.
    ///
    /// There is one for each app of the provider, or a single one if a user has the same id at all apps. Empty if the
    /// provider is not configured, or if the text is no id there.
    package func identities(of subject: String, at name: ProviderName) -> [IdentityKey] {
        guard let provider = providers[name], let rule = kinds.named(providerKinds[name] ?? name)?.subjects,
            let subject = rule.subject(subject)
        else { return [] }
        let apps = rule.isGlobal ? [.global] : provider.apps.map(\.id)
        return apps.map { IdentityKey(provider: name, app: $0, subject: subject) }
    }

    /// The configured providers whose configuration can be read, sorted by name.
    package var configuredProviders: [any Provider] { providers.sorted { $0.key.text < $1.key.text }.map(\.value) }

    /// Returns the names of all providers that may have identities of an app, sorted.
    ///
    /// These are the given provider; the other providers of the same kind that have the app, even if its secret cannot
    /// be decrypted; and the removed providers of that kind, whose identities still exist. If subjects are the same in
    /// every app, another provider's subjects may be those of another issuer, so the result is the given provider.
    package func names(havingApp app: ProviderAppID, of provider: ProviderName) -> [ProviderName] {
        guard app != .global, let kind = storedProviders[provider]?.kind else { return [provider] }
        let others = providerKinds.filter { name, ofKind in
            guard let stored = storedProviders[name] else { return ofKind == kind }
            return stored.kind == kind && stored.apps.contains { $0.id == app }
        }
        return Set(others.keys).union([provider]).sorted { $0.text < $1.text }
    }

    /// Returns the displayed name of a provider, configured or not.
    package func title(of provider: ProviderName) -> String {
        providers[provider]?.title ?? kinds.named(provider)?.title ?? provider.text
    }

    /// Returns the fields that a mapping can read from a provider, configured or not.
    ///
    /// - Throws: `not_found` for a name that is neither a provider kind nor a provider of the application.
    package func fields(of provider: ProviderName) throws(Failure) -> ProfileFields {
        guard let fields = providers[provider]?.fields ?? kinds.named(provider)?.fields else {
            throw kinds.unknown(provider, beside: storedProviders.keys)
        }
        return fields
    }

    /// Returns the text with which the log reports a provider of an unknown kind.
    package static func unknownKind(of name: ProviderName) -> String {
        "its provider \(name) has a kind that this version does not know"
    }

    package static func missingCapability(_ title: String) -> Failure {
        Failure(.notFound, "\(title) has no such path.")
    }

    /// Returns whether a name is a provider of the application, or a provider kind.
    package func knows(_ provider: ProviderName) -> Bool {
        storedProviders[provider] != nil || kinds.named(provider) != nil
    }

    /// Returns the failure for logins by a provider that is not configured or not known.
    ///
    /// The text of the failure does not name other providers, since clients see it.
    package func notSetUp(_ name: ProviderName) -> Failure {
        if unknownProviders.contains(name) { return .unusableConfiguration(cause: Self.unknownKind(of: name)) }
        guard let kind = storedProviders[name].flatMap({ kinds.named($0.kind) }) ?? kinds.named(name) else {
            return .noSuchProvider
        }
        return Failure(
            .providerNotConfigured,
            """
            Login with \(kind.title) is not set up for this application. The operator must enable it with \
            \(kind.appTerms.id) and \(kind.appTerms.secret) of an app.
            """
        )
    }

    /// The undeclared properties that clients have added, sorted by name.
    package var undeclaredNames: [PropertyName] {
        dynamicNames.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
    }

    /// The SHA-256 of each API key.
    var keyHashes: [[UInt8]] { Array(keys.keys) }

    /// Returns the API key with a text; nil when the application does not have it.
    ///
    /// The comparison uses a hash of the client's text, so its duration reveals nothing about the keys.
    package func key(_ text: Substring) -> APIKey? {
        keys[Digest.sha256(text)].map { APIKey(text: Secret(String(text)), label: $0.label, isServer: $0.server) }
    }

    /// Returns whether a provider is usable, and its configuration is the same as in another revision of the
    /// application.
    ///
    /// If so, a response that the provider sent under the other revision is still valid.
    package func isSetUp(with provider: ProviderName, as other: LoadedApplication) -> Bool {
        defect == nil && storedProviders[provider] == other.storedProviders[provider]
    }

    /// Returns the plan of the logins by a provider: the compiled mapping and the SQL statements.
    ///
    /// The plan depends on the mapping that the client sent, and is cached for each such mapping.
    package func plan(for provider: ProviderName, clientMapping: JSONValue?) throws(Failure) -> LoginPlan {
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
                fields: providers[provider]?.fields ?? kinds.named(provider)?.fields ?? .none,
                properties: application.properties,
                settings: application.settings,
                dynamicNames: dynamicNames
            )
            return LoginPlan(
                mapping: mapping,
                provider: provider,
                tokens: tokenPolicy(of: provider),
                application: application
            )
        } catch {
            // The client cannot correct the operator's mapping.
            guard error.first.origin == .client else {
                throw .unusableConfiguration(cause: error.first.message)
            }
            throw error.failure
        }
    }

    /// Returns the policy for the tokens of a provider's logins; nil when no tokens are kept.
    package func tokenPolicy(of provider: ProviderName) -> TokenPolicy? {
        (providers[provider] as? any TokenChecking)?.tokenPolicy
    }
}

extension LoadedApplication {
    /// Explains a failure that reports an unknown field: the new failure names the mapping's entry that reads this
    /// field.
    ///
    /// Returns any other failure unchanged. If the entry belongs to the operator's stored mapping, and not to the
    /// client's, every login by the provider fails. In that case the method adds the failure to `obstacles`.
    package func explained(
        _ failure: Failure,
        provider: ProviderName,
        clientMapping: JSONValue?
    ) throws(Failure) -> Failure {
        guard failure.reason == .mappingInvalid, let field = failure.details["field"]?.string else { return failure }
        let stored = try plan(for: provider, clientMapping: nil).mapping
        guard stored.asks(for: field) else {
            return try plan(for: provider, clientMapping: clientMapping).mapping.failure(forUnknownField: field)
        }
        let failure = stored.failure(forUnknownField: field)
        refusals.withLockedValue { $0[provider] = failure.message }
        return failure
    }

    /// Notes that a provider has sent a profile, and so accepts all fields of the stored mapping.
    package func noteProfile(from provider: ProviderName) {
        refusals.withLockedValue { $0[provider] = nil }
    }
}

extension MasterKeys {
    /// Returns the provider's apps whose secrets can be decrypted.
    ///
    /// For each other app, adds the reason to the defects of the application.
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

    /// Returns the values of the provider's secret options that can be decrypted, by name.
    ///
    /// For each other secret option, adds the reason to the defects of the application.
    fileprivate func secrets(
        of provider: StoredApplication.Provider,
        named name: ProviderName,
        kind: any ProviderKind,
        application: ApplicationID,
        defects: inout [String]
    ) -> [String: Secret] {
        var secrets: [String: Secret] = [:]
        for option in kind.secretOptions {
            guard let stored = StoredSecretOption(provider.options.object?[option.name]) else { continue }
            let place = MasterKey.Place.secretOption(application: application, provider: name, option: option.name)
            secrets[option.name] = open(stored, at: place)
            guard secrets[option.name] == nil else { continue }
            let keyID = stored.encrypted?.keyID ?? "none"
            defects.append("its \(option.name) is under master key \(keyID), ours: \(ids.joined(separator: ", "))")
        }
        return secrets
    }
}

/// The mapping and the SQL statements that all logins by one provider with one client mapping share.
///
/// The plan is cached until the configuration changes. It is a class, since to copy its many parts for each login would
/// cost as much as to map a profile.
package final class LoginPlan: Sendable {
    package let mapping: CompiledMapping
    private let plain: LoginStatement
    /// The variants of the statement that have been used so far.
    private let variants: NIOLockedValueBox<[LoginStatement.Variant: LoginStatement]>
    /// For each value that `columnValues(of:)` returns, its index in the values of a mapped profile.
    private let positions: [Int]
    /// For each undeclared property, its name and the index of its value in the mapping's targets.
    private let dynamic: [(name: PropertyName, position: Int)]

    package init(mapping: CompiledMapping, provider: ProviderName, tokens: TokenPolicy?, application: Application) {
        var targets: [LoginStatement.Target] = []
        var positions: [Int] = []
        var dynamic: [(name: PropertyName, position: Int)] = []
        for (position, target) in mapping.targets.enumerated() {
            switch target.place {
            case .column(let property):
                targets.append(
                    .init(
                        name: property.name,
                        type: property.type,
                        sync: target.sync,
                        mayBeCleared: target.mayBeCleared
                    )
                )
                positions.append(position)
            case .dynamic(let name):
                dynamic.append((name, position))
            }
        }
        self.mapping = mapping
        self.positions = positions
        self.dynamic = dynamic
        let tokens: TokenKeeping? = tokens.map { $0.isExchanged ? .exchanged : .asItIs }
        plain = LoginStatement(application: application, provider: provider, tokens: tokens, targets: targets)
        variants = NIOLockedValueBox([LoginStatement.Variant(.repeated): plain])
    }

    /// Returns a variant of the login's SQL statement, which is generated once.
    package func statement(_ variant: LoginStatement.Variant) -> LoginStatement {
        variants.withLockedValue { variants in
            if let made = variants[variant] { return made }
            let made = plain.variant(variant)
            variants[variant] = made
            return made
        }
    }

    /// Returns the e-mail address that the mapping gives to the user; nil if it gives none.
    package func email(of mapped: MappedProfile) -> String? {
        for (target, value) in zip(plain.targets, columnValues(of: mapped)) where target.name == .email {
            if case .text(let email)? = value { return email }
        }
        return nil
    }

    /// Returns the SQL statement that writes a profile that was fetched without a login.
    ///
    /// The statement takes the values of `columnValues(of:)`.
    package func refreshStatement(of application: Application) -> ProfileRefreshStatement {
        ProfileRefreshStatement(application: application, targets: plain.targets)
    }

    /// Returns the mapped values in the order of the statement's targets.
    package func columnValues(of mapped: MappedProfile) -> [PropertyValue?] {
        positions.map { mapped.values[$0] }
    }

    /// Returns the mapped values of undeclared properties.
    package func dynamicValues(of mapped: MappedProfile) -> JSONObject {
        JSONObject(
            dynamic.compactMap { name, position in
                mapped.values[position].map { JSONObject.Member(name.text, $0.json) }
            }
        )
    }
}
