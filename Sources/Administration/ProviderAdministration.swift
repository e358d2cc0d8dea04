import Applications
import Description
package import Domain
package import Encodings
import FoundationEssentials
package import Providers
import Secrets
package import Store

/// Reads, changes and removes the providers of an application with their options, apps and secrets.
package struct ProviderAdministration: Sendable {
    let store: Store
    let kinds: ProviderKinds
    let masterKeys: MasterKeys
    let clock: WallClock
    let changes: ApplicationChanges

    /// Returns a provider as operators see it.
    ///
    /// The shape is `{"enabled", "apps": [{"appId", "appSecret": {"set": true, "changed", "keyId"}, "configId"?}],
    /// …options, "warnings": [text]}`. The provider kind decides the options, and the names of an app's members. A
    /// secret option has the same form as `appSecret`.
    ///
    /// - Throws: `not_found` when the provider is not configured.
    package func read(_ provider: ProviderName, of application: String) async throws(Failure) -> Resource {
        try resource(of: provider, in: try await changes.existing(application))
    }

    /// Replaces a provider's options and apps by those of an operator's document.
    ///
    /// In the document, an app's secret is a text, which the service encrypts. The stored secret stays if the document
    /// has none, or has the object that `read` returns in place of it. Secret options work the same way, but `null`
    /// removes one.
    package func put(
        _ provider: ProviderName,
        of application: String,
        _ document: JSONValue,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let changed = try await edit(provider, of: application, if: precondition, by: actor) { _, _ in
            document.withoutWarnings
        }
        return try resource(of: provider, in: changed)
    }

    /// Changes a provider by a merge patch.
    ///
    /// The patch replaces the list `apps` as a whole. A secret that is absent, or has the form in which an operator
    /// read it, stays. `null` removes a secret option.
    package func change(
        _ provider: ProviderName,
        of application: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let changed = try await edit(provider, of: application, if: precondition, by: actor) { stored, reader in
            let (kind, settings) = try stored.configured(provider, kinds)
            var merged = reader.merge(
                patch.withoutWarnings,
                into: settings.document(of: kind, named: provider),
                fixed: []
            )
            // Without this, the stored secret of an absent option would stay.
            for option in kind.secretOptions where patch.object?[option.name]?.isNull == true {
                merged.append(option.name, .null)
            }
            return .object(merged)
        }
        return try resource(of: provider, in: changed)
    }

    /// Removes a provider with its apps and secrets.
    ///
    /// If the provider's name is that of its provider kind, its mapping stays. Otherwise its mapping is removed, too:
    /// without the provider, the service cannot tell which kind's fields the mapping reads.
    package func remove(
        _ provider: ProviderName,
        of application: String,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        let kinds = kinds
        _ = try await changes.edit(application, if: precondition, by: actor) { desired, stored in
            guard let settings = stored.providers[provider] else { throw stored.lacks(provider, kinds) }
            desired.providers[provider] = nil
            if kinds.named(provider)?.name != settings.kind { desired.mappings[provider] = nil }
        }
    }

    /// Replaces the configuration of a provider by the document that the closure returns.
    private func edit(
        _ provider: ProviderName,
        of application: String,
        if precondition: Precondition,
        by actor: ChangeAuthor,
        _ document: @escaping @Sendable (StoredApplication, inout DocumentReader) throws -> JSONValue
    ) async throws(Failure) -> StoredApplication {
        let (masterKeys, kinds) = (masterKeys, kinds)
        let part = JSONPointer() / "providers" / provider.text
        return try await changes.edit(application, part: part, if: precondition, by: actor) { desired, stored in
            var reader = DocumentReader(origin: .request)
            let document = try document(stored, &reader)
            guard let settings = reader.provider(document, named: provider, kinds, at: JSONPointer()) else {
                throw reader.problems
            }
            var secrets = DocumentSecrets(of: stored.id, stored: stored, masterKeys: masterKeys, clock: clock)
            desired.providers[provider] = secrets.provider(settings, named: provider, kinds, at: JSONPointer())
            reader.problems.add(secrets.problems)
            // All problems are reported at once. Otherwise an operator would correct one list only to get another.
            let rest = ConfigurationDifference.problems(from: stored, to: desired, columns: [])
            reader.problems.add(rest.moved(from: part))
            try reader.check()
        }
    }

    private func resource(
        of provider: ProviderName,
        in stored: StoredApplication
    ) throws(Failure) -> Resource {
        let (kind, settings) = try stored.configured(provider, kinds)
        var body = settings.document(of: kind, named: provider)
        let warnings = warnings(about: settings, named: provider, of: kind, application: stored.id)
        body.append("warnings", .array(warnings.map(JSONValue.string)))
        return stored.resource(.object(body))
    }
}

extension ProviderAdministration {
    /// Returns the provider kind with this name.
    ///
    /// - Throws: `not_found`.
    package func kind(named name: ProviderName) throws(Failure) -> any ProviderKind {
        guard let kind = kinds.named(name) else { throw kinds.unknown(name, beside: []) }
        return kind
    }

    /// Returns the kind of an application's provider.
    ///
    /// - Throws: `not_found` when the provider is not configured.
    package func kind(
        of provider: ProviderName,
        in application: String
    ) async throws(Failure) -> any ProviderKind {
        try await changes.existing(application).configured(provider, kinds).kind
    }

    /// Returns an application's provider for calls that need no secrets.
    ///
    /// The apps of the result have empty secrets.
    ///
    /// Default options replace options that cannot be read. The result is nil if the kind refuses the default options,
    /// too.
    package func provider(
        _ settings: StoredApplication.Provider,
        named name: ProviderName,
        of kind: any ProviderKind,
        application: ApplicationID
    ) -> (any Provider)? {
        let apps = settings.apps.map { ProviderApp(id: $0.id, secret: Secret(""), configID: $0.configID) }
        func setup(_ options: JSONValue) -> ProviderSetup {
            ProviderSetup(
                name: name,
                application: application,
                isEnabled: settings.enabled,
                apps: apps,
                options: options
            )
        }
        return (try? kind.provider(setup(settings.options))) ?? (try? kind.provider(setup(kind.defaultOptions)))
    }

    /// Returns warnings for the operator about the stored options of a provider.
    package func warnings(
        about settings: StoredApplication.Provider,
        named name: ProviderName,
        of kind: any ProviderKind,
        application: ApplicationID
    ) -> [String] {
        guard let today = clock.today,
            let reviewing = provider(settings, named: name, of: kind, application: application)
                as? any SettingsReviewing
        else { return [] }
        return reviewing.warnings(on: today)
    }
}

extension StoredApplication {
    /// Returns a provider and its kind.
    ///
    /// - Throws: `not_found`.
    package func configured(
        _ name: ProviderName,
        _ kinds: ProviderKinds
    ) throws(Failure) -> (kind: any ProviderKind, settings: Provider) {
        guard let settings = providers[name] else { throw lacks(name, kinds) }
        guard let kind = kinds.named(settings.kind) else {
            throw Failure(
                .notFound,
                "\(name) has the kind \(settings.kind), which this version does not know. It can only be removed."
            )
        }
        return (kind, settings)
    }

    /// Returns the error for a provider that is not configured.
    fileprivate func lacks(_ name: ProviderName, _ kinds: ProviderKinds) -> Failure {
        guard let kind = kinds.named(name) else { return kinds.unknown(name, beside: providers.keys) }
        return Failure(
            .notFound,
            """
            Login with \(kind.title) is not set up for this application. Set \(kind.appTerms.id) and \
            \(kind.appTerms.secret) of an app.
            """
        )
    }
}

extension StoredApplication.Provider {
    /// Returns the provider as a JSON object for operators.
    ///
    /// In place of each secret, the object has the time of the last change and the id of the master key.
    fileprivate func document(of kind: any ProviderKind, named name: ProviderName) -> JSONObject {
        let apps = apps.map { app in
            var document: JSONObject = [
                kind.appTerms.id: .string(app.id.text),
                kind.appTerms.secret: .object([
                    "set": .bool(true), "changed": .integer(app.secretChanged), "keyId": .string(app.secret.keyID),
                ]),
            ]
            kind.appTerms.write(configID: app.configID, into: &document)
            return JSONValue.object(document)
        }
        var settings: JSONObject = name == kind.name ? [:] : ["kind": .string(kind.name.text)]
        settings.append("enabled", .bool(enabled))
        settings.append("apps", .array(apps))
        return JSONObject(settings.members + kind.members(of: readOptions(of: kind)) { $1.shown })
    }

    /// Returns all options that this version knows.
    ///
    /// Absent options have their defaults.
    ///
    /// Options that cannot be read are returned as stored. Secret options are always as stored, and must not be shown.
    func readOptions(of kind: any ProviderKind) -> JSONValue {
        var problems = DocumentProblems()
        guard let object = options.object else { return options }
        let read = kind.options(in: object, at: JSONPointer(), problems: &problems)
        return problems.isEmpty ? kind.options(read) { object[$0.name] } : options
    }

    /// Returns the new options, together with those stored options that only a later version of the service knows.
    func keepingUnknownOptions(in new: JSONValue, of kind: any ProviderKind) -> JSONValue {
        guard self.kind == kind.name, let object = new.object else { return new }
        let known = kind.allOptionNames + object.members.map(\.key)
        let unknown = (options.object?.members ?? []).filter { member in
            !known.contains { $0.hasSameBytes(as: member.key) }
        }
        return .object(JSONObject(object.members + unknown))
    }
}

extension JSONValue {
    /// The object without the member `warnings`, which the service adds in responses.
    fileprivate var withoutWarnings: JSONValue {
        guard let object else { return self }
        return .object(JSONObject(object.members.filter { !$0.key.hasSameBytes(as: "warnings") }))
    }
}
