package import Vocabulary
import Store

extension Administration {
    /// `{"enabled", "apps": [{"appId", "appSecret": {"set": true, "changed", "keyId"}, "configId"?}], …options, "warnings": [text]}`; how the
    /// members of an app are called, and which options there are, is the provider's to say.
    ///
    /// A secret option is shown as an app's secret is.
    ///
    /// - Throws: `not_found` when the provider is not configured.
    package func provider(_ provider: ProviderName, of application: String) async throws(Failure) -> Resource {
        try resource(of: provider, in: try await existing(application))
    }

    /// Makes the provider's settings what the document says.
    ///
    /// An app's secret is a text, which is stored sealed; left out, or as it was read, the stored secret stays. So it is with secret
    /// options, but that `null` removes one.
    package func putProvider(
        _ provider: ProviderName,
        of application: String,
        _ document: JSONValue,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) -> Resource {
        let changed = try await edit(provider, of: application, if: precondition, by: actor) { _, _ in
            document.withoutWarnings
        }
        return try resource(of: provider, in: changed)
    }

    /// Changes the provider's settings by a merge patch.
    ///
    /// `apps` is replaced as a whole, secrets as in `putProvider`.
    package func changeProvider(
        _ provider: ProviderName,
        of application: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) -> Resource {
        let changed = try await edit(provider, of: application, if: precondition, by: actor) { stored, reader in
            let (type, settings) = try stored.configured(provider)
            var merged = reader.merge(patch.withoutWarnings, into: settings.document(of: type), fixed: [])
            // Left out, a secret would stay.
            for option in type.secretOptions where patch.object?[option.name]?.isNull == true {
                merged.append(option.name, .null)
            }
            return .object(merged)
        }
        return try resource(of: provider, in: changed)
    }

    /// Removes the provider with its apps and secrets.
    package func removeProvider(
        _ provider: ProviderName,
        of application: String,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) {
        _ = try await edit(application, if: precondition, by: actor) { desired, stored in
            _ = try stored.configured(provider)
            desired.providers[provider] = nil
        }
    }

    /// Makes the provider's settings what a document says that the closure gives.
    private func edit(
        _ provider: ProviderName,
        of application: String,
        if precondition: Precondition,
        by actor: Actor,
        _ document: @escaping @Sendable (StoredApplication, inout DocumentReader) throws -> JSONValue
    ) async throws(Failure) -> StoredApplication {
        let masterKeys = masterKeys
        let part = JSONPointer() / "providers" / provider.text
        return try await edit(application, part: part, if: precondition, by: actor) { desired, stored in
            var reader = DocumentReader(origin: .request)
            let document = try document(stored, &reader)
            guard let type = IdentityProviders.named(provider),
                let settings = reader.provider(document, of: type, at: JSONPointer())
            else { throw reader.problems }
            var secrets = DocumentSecrets(of: stored.id, stored: stored, masterKeys: masterKeys)
            desired.providers[provider] = secrets.provider(settings, of: type, at: JSONPointer())
            reader.problems.add(secrets.problems)
            // All at once: an operator should not mend one list of problems to be shown another.
            let rest = ConfigurationDifference.problems(from: stored, to: desired, columns: [])
            reader.problems.add(rest.moved(from: part))
            try reader.check()
        }
    }

    private func resource(
        of provider: ProviderName,
        in stored: StoredApplication
    ) throws(Failure) -> Resource {
        let (type, settings) = try stored.configured(provider)
        var body = settings.document(of: type)
        let warnings = type.warnings(about: settings, of: stored.id, in: self)
        body.append("warnings", .array(warnings.map(JSONValue.string)))
        return stored.resource(.object(body))
    }
}

extension StoredApplication {
    /// A provider's settings.
    ///
    /// - Throws: `not_found`.
    func configured(_ name: ProviderName) throws(Failure) -> (type: any IdentityProvider.Type, settings: Provider) {
        guard let type = IdentityProviders.named(name), let settings = providers[name] else {
            let title = IdentityProviders.named(name)?.title ?? name.text
            throw Failure(
                .notFound,
                """
                Login with \(title) is not set up for this application. It begins with \(name.appMembers.id) and \
                \(name.appMembers.secret) of an app.
                """
            )
        }
        return (type, settings)
    }
}

extension StoredApplication.Provider {
    /// As operators see the provider; a secret is told by when it came and under which master key it is.
    fileprivate func document(of type: any IdentityProvider.Type) -> JSONObject {
        let apps = apps.map { app in
            var document: JSONObject = [
                type.appTerms.id: .string(app.id.text),
                type.appTerms.secret: .object([
                    "set": .bool(true), "changed": .integer(app.secretChanged), "keyId": .string(app.secret.keyID),
                ]),
            ]
            type.appTerms.write(configID: app.configID, into: &document)
            return JSONValue.object(document)
        }
        let settings: JSONObject = ["enabled": .bool(enabled), "apps": .array(apps)]
        return JSONObject(settings.members + type.members(of: readOptions(of: type)) { $1.shown })
    }

    /// All the options, with the defaults of those that are not stored; as they are stored when they cannot be read.
    ///
    /// Secret ones are as they are stored in any case: not to be shown.
    func readOptions(of type: any IdentityProvider.Type) -> JSONValue {
        var problems = DocumentProblems()
        let place = JSONPointer()
        guard let object = options.object else { return options }
        let known = type.allOptionNames
        for member in object.members where !known.contains(where: { $0.hasSameBytes(as: member.key) }) {
            problems.add(place / member.key, "is not an option")
        }
        let read = type.options(in: object, at: place, problems: &problems)
        return problems.isEmpty ? type.options(read) { object[$0.name] } : options
    }
}

extension JSONValue {
    /// The settings as somebody read them, without what the service adds by itself.
    fileprivate var withoutWarnings: JSONValue {
        guard let object else { return self }
        return .object(JSONObject(object.members.filter { !$0.key.hasSameBytes(as: "warnings") }))
    }
}
