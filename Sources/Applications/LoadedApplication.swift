package import Mapping
import NIOConcurrencyHelpers
package import Providers
package import Secrets
package import Store
package import Vocabulary

/// An application ready to work with: secrets opened, mappings compiled, statements generated; immutable at one
/// revision.
package final class LoadedApplication: Sendable {
    package let application: Application
    package let storedMappings: [ProviderName: Mapping]
    /// What is configured of each provider, and can be read.
    private let providers: [ProviderName: any Provider]
    private let storedProviders: [ProviderName: StoredApplication.Provider]
    private let providerKinds: [ProviderName: ProviderName]
    private let kinds: ProviderKinds
    /// The API keys by SHA-256 of their text.
    private let keys: [[UInt8]: StoredApplication.Key]
    package let dynamicNames: Set<PropertyName>
    /// Why logins are refused although the provider is enabled: a secret that does not open, a mapping that does not
    /// fit.
    package let defect: String?
    /// Providers of kinds that this version does not know, since a later one has set them up; logins by the others go
    /// on.
    package let unknownProviders: [ProviderName]
    private let plans = NIOLockedValueBox<[[UInt8]: LoginPlan]>([:])
    /// Problems of stored mappings that a provider has told, and that refuse each login: until a login succeeds, or the
    /// configuration changes.
    private let refusals = NIOLockedValueBox<[ProviderName: String]>([:])

    /// Client mappings are few per app; an attacker who sends many only empties the cache.
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

    /// What makes logins fail, each as a sentence; the one list of it, for readiness, doctor and console.
    package var hindrances: [String] {
        (defect.map { ["Logins by providers are refused: \($0)."] } ?? [])
            + unknownProviders.map { "Logins by \($0) are refused: \(Self.unknownKind(of: $0))." } + refusedMappings
    }

    /// Those of the hindrances that an instance learns from its logins alone.
    package var refusedMappings: [String] {
        refusals.withLockedValue { $0 }.sorted { $0.key.text < $1.key.text }.map {
            "Logins by \($0.key) are refused: \($0.value)"
        }
    }

    /// The provider of a name, for logins.
    ///
    /// - Throws: `provider_misconfigured`, `provider_not_configured`; `not_found` for a name that neither a kind nor a
    ///   provider of the application has.
    package func provider(_ name: ProviderName) throws(Failure) -> any Provider {
        if let defect { throw .unusableConfiguration(cause: defect) }
        guard let provider = providers[name], provider.isEnabled, !provider.apps.isEmpty else {
            throw notSetUp(name)
        }
        return provider
    }

    /// The provider of a name with a capability, for logins.
    ///
    /// - Throws: As `provider(_:)`; `not_found` for a provider that has no such thing.
    package func provider<Capability>(
        _ name: ProviderName,
        as capability: Capability.Type
    ) throws(Failure) -> Capability {
        let provider = try provider(name)
        guard let capable = provider as? Capability else { throw Self.lacksCapability(provider.title) }
        return capable
    }

    /// The provider of a name as it is configured, whether people can log in by it or not; nil when it is not, or
    /// cannot be read.
    package func configured(_ name: ProviderName) -> (any Provider)? { providers[name] }

    /// Days for which a provider lets erasures wait that people ask for; nil where it is not configured, or reports no
    /// removals.
    package func eraseAfterDays(of name: ProviderName) -> Int64? {
        (configured(name) as? any RemovalReporting)?.eraseAfterDays
    }

    /// The providers that are configured and can be read, by their names.
    package var configuredProviders: [any Provider] { providers.sorted { $0.key.text < $1.key.text }.map(\.value) }

    /// The names, in their order, under which people of an app of a provider may be known: its own, those of its kind
    /// that have the app, whether its secret opens or not, and those that have been removed, whose identities are still
    /// there.
    package func names(havingApp app: ProviderAppID, of provider: ProviderName) -> [ProviderName] {
        guard let kind = storedProviders[provider]?.kind else { return [provider] }
        let others = providerKinds.filter { name, ofKind in
            guard let stored = storedProviders[name] else { return ofKind == kind }
            return stored.kind == kind && stored.apps.contains { $0.id == app }
        }
        return Set(others.keys).union([provider]).sorted { $0.text < $1.text }
    }

    /// The name for people of a provider that may be configured or not.
    package func title(of provider: ProviderName) -> String {
        providers[provider]?.title ?? kinds.named(provider)?.title ?? provider.text
    }

    /// What a mapping can read of a person at a provider that may be configured or not.
    ///
    /// - Throws: `not_found` for a name that neither a kind nor a provider of the application has.
    package func fields(of provider: ProviderName) throws(Failure) -> ProfileFields {
        guard let fields = providers[provider]?.fields ?? kinds.named(provider)?.fields else {
            throw kinds.unknown(provider, beside: storedProviders.keys)
        }
        return fields
    }

    /// What the log says of a provider whose kind is not known.
    package static func unknownKind(of name: ProviderName) -> String {
        "its provider \(name) is of a kind that this version does not know"
    }

    package static func lacksCapability(_ title: String) -> Failure {
        Failure(.notFound, "\(title) has no such path.")
    }

    /// Whether a name is that of a provider of the application, or of a kind.
    package func knows(_ provider: ProviderName) -> Bool {
        storedProviders[provider] != nil || kinds.named(provider) != nil
    }

    /// Why nobody can log in by a provider that may be known or not.
    ///
    /// Clients hear it: it does not say what other providers there are.
    package func notSetUp(_ name: ProviderName) -> Failure {
        if unknownProviders.contains(name) { return .unusableConfiguration(cause: Self.unknownKind(of: name)) }
        guard let kind = storedProviders[name].flatMap({ kinds.named($0.kind) }) ?? kinds.named(name) else {
            return .noSuchProvider
        }
        return Failure(
            .providerNotConfigured,
            """
            Login with \(kind.title) is not set up for this application: its operator enables it, with \
            \(kind.appTerms.id) and \(kind.appTerms.secret) of an app.
            """
        )
    }

    /// Undeclared properties that clients have brought in, in the order of their names.
    package var undeclaredNames: [PropertyName] {
        dynamicNames.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
    }

    /// The API key of that text; nil when the application has none such.
    ///
    /// What is compared is a hash of what the caller sent, so the time it takes says nothing of the keys.
    package func key(_ text: Substring) -> APIKey? {
        keys[Digest.sha256(text)].map { APIKey(text: Secret(String(text)), label: $0.label, isServer: $0.server) }
    }

    /// Whether what a provider has said for another revision of the application would be said for this one.
    package func isSetUp(with provider: ProviderName, as other: LoadedApplication) -> Bool {
        defect == nil && storedProviders[provider] == other.storedProviders[provider]
    }

    /// What to ask of a provider and what to write, for logins with this client mapping.
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
            // The client cannot mend what the operator wrote.
            guard error.first.origin == .client else {
                throw .unusableConfiguration(cause: error.first.message)
            }
            throw error.failure
        }
    }

    /// What the operator decided about the tokens of a provider's logins; nil when none are kept.
    package func tokenPolicy(of provider: ProviderName) -> TokenPolicy? {
        (providers[provider] as? any TokenChecking)?.tokenPolicy
    }
}

extension LoadedApplication {
    /// A failure of a provider's, where it does not know a field told by the entry of the mapping that asks for it.
    ///
    /// Such an entry of the stored mapping refuses every login, so it is among the hindrances from then on.
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

    /// Notes that a provider has given what the mappings ask for.
    package func noteProfile(from provider: ProviderName) {
        refusals.withLockedValue { $0[provider] = nil }
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
            let keyID = stored.sealed?.keyID ?? "none"
            defects.append("its \(option.name) is under master key \(keyID), ours: \(ids.joined(separator: ", "))")
        }
        return secrets
    }
}

/// What logins of one application with one client mapping have in common: made once, used until the configuration
/// changes.
///
/// All of them hold the same object: a copy of its many parts for each would cost as much as mapping a profile.
package final class LoginPlan: Sendable {
    package let mapping: CompiledMapping
    /// For a credential that may be used again.
    package let statement: SignInStatement
    /// For a credential that counts once.
    package let singleUseStatement: SignInStatement
    /// Made once where people are asked for a second factor; elsewhere a login is finished only when the operator has
    /// just changed that.
    private let showing: SignInStatement?
    /// For each target of the statement the position of its value among the mapping's targets.
    private let positions: [Int]
    /// Dynamic targets: name and position of its value.
    private let dynamic: [(name: PropertyName, position: Int)]

    package init(mapping: CompiledMapping, provider: ProviderName, tokens: TokenPolicy?, application: Application) {
        var targets: [SignInStatement.Target] = []
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
        statement = SignInStatement(application: application, provider: provider, tokens: tokens, targets: targets)
        singleUseStatement = SignInStatement(
            application: application,
            provider: provider,
            tokens: tokens,
            targets: targets,
            use: .once
        )
        let isAsking = application.settings.secondFactor.demand != .off
        showing = isAsking ? singleUseStatement.finishing(by: .shown) : nil
    }

    /// For a login that was put off for a second factor, of which there is evidence now.
    package func finishingStatement(by evidence: FactorProof.Kind) -> SignInStatement {
        switch evidence {
        case .shown: showing ?? singleUseStatement.finishing(by: .shown)
        case .enrolled: singleUseStatement.finishing(by: .enrolled)
        }
    }

    /// For a profile that was read without a login; with the values of `columnValues(of:)`.
    package func refreshStatement(of application: Application) -> ProfileRefreshStatement {
        ProfileRefreshStatement(application: application, targets: statement.targets)
    }

    /// The mapped values in the order of the statement's targets.
    package func columnValues(of mapped: MappedProfile) -> [PropertyValue?] {
        positions.map { mapped.values[$0] }
    }

    /// The mapped values of undeclared properties.
    package func dynamicValues(of mapped: MappedProfile) -> JSONObject {
        JSONObject(
            dynamic.compactMap { name, position in
                mapped.values[position].map { JSONObject.Member(name.text, $0.json) }
            }
        )
    }
}
