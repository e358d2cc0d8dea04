package import Identity
import Store

extension Administration {
    /// `{"enabled", "graphVersion", "proof", "apps": [{"appId", "appSecret": {"set": true, "changed", "keyId"}}], …options,
    /// "warnings": [text]}`; the options are those of `FacebookOptionsDocument`, all of them.
    ///
    /// - Throws: `not_found` when the provider is not configured.
    package func facebook(of application: String) async throws(Failure) -> Resource {
        try facebookResource(of: try await existing(application))
    }

    /// Makes the provider's settings what the document says.
    ///
    /// An app's `appSecret` is a text, which is stored sealed; left out, or as it was read, the stored secret stays.
    package func putFacebook(
        of application: String,
        _ document: JSONValue,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) -> Resource {
        let changed = try await editFacebook(of: application, if: precondition, by: actor) { _, _ in
            document.withoutWarnings
        }
        return try facebookResource(of: changed)
    }

    /// Changes the provider's settings by a merge patch.
    ///
    /// `apps` is replaced as a whole, secrets as in `putFacebook`.
    package func changeFacebook(
        of application: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) -> Resource {
        let changed = try await editFacebook(of: application, if: precondition, by: actor) { stored, reader in
            let current = try stored.configuredFacebook().document
            return .object(reader.merge(patch.withoutWarnings, into: current, fixed: []))
        }
        return try facebookResource(of: changed)
    }

    /// Removes the provider with its apps and secrets.
    package func removeFacebook(
        of application: String,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) {
        _ = try await edit(application, if: precondition, by: actor) { desired, stored in
            _ = try stored.configuredFacebook()
            desired.facebook = nil
        }
    }

    /// Makes the provider's settings what a document says that the closure gives.
    private func editFacebook(
        of application: String,
        if precondition: Precondition,
        by actor: Actor,
        _ document: @escaping @Sendable (StoredApplication, inout DocumentReader) throws -> JSONValue
    ) async throws(Failure) -> StoredApplication {
        let masterKeys = masterKeys
        let part = JSONPointer() / "providers" / "facebook"
        return try await edit(application, part: part, if: precondition, by: actor) { desired, stored in
            var reader = DocumentReader(origin: .request)
            let document = try document(stored, &reader)
            guard let facebook = reader.facebook(document, at: JSONPointer()) else { throw reader.problems }
            var secrets = DocumentSecrets(of: stored.id, stored: stored, masterKeys: masterKeys)
            desired.facebook = secrets.facebook(facebook, at: JSONPointer())
            reader.problems.add(secrets.problems)
            // All at once: an operator should not mend one list of problems to be shown another.
            let rest = ConfigurationDifference.problems(from: stored, to: desired, columns: [])
            reader.problems.add(rest.moved(from: part))
            try reader.check()
        }
    }

    private func facebookResource(of stored: StoredApplication) throws(Failure) -> Resource {
        let facebook = try stored.configuredFacebook()
        var body = facebook.document
        body.append("warnings", .array(warnings(about: facebook, of: stored.id).map(JSONValue.string)))
        return stored.resource(.object(body))
    }
}

extension StoredApplication {
    /// The provider's settings.
    ///
    /// - Throws: `not_found`.
    func configuredFacebook() throws(Failure) -> Facebook {
        guard let facebook else {
            throw Failure(
                .notFound,
                "Login with Facebook is not set up for this application. It begins with an app id and an app secret."
            )
        }
        return facebook
    }
}

extension StoredApplication.Facebook {
    /// As operators see the provider; a secret is told by when it came and under which master key it is.
    fileprivate var document: JSONObject {
        let apps = apps.map { app in
            JSONValue.object([
                "appId": .string(app.id.text),
                "appSecret": .object([
                    "set": .bool(true), "changed": .integer(app.secretChanged), "keyId": .string(app.secret.keyID),
                ]),
            ])
        }
        let options = (try? FacebookOptionsDocument.parse(options)) ?? FacebookOptions()
        let settings: JSONObject = [
            "enabled": .bool(enabled), "graphVersion": .string(graphVersion), "proof": .string(proof.rawValue),
            "apps": .array(apps),
        ]
        return JSONObject(settings.members + (FacebookOptionsDocument.document(of: options).object?.members ?? []))
    }
}

extension JSONValue {
    /// The settings as somebody read them, without what the service adds by itself.
    fileprivate var withoutWarnings: JSONValue {
        guard let object else { return self }
        return .object(JSONObject(object.members.filter { !$0.key.hasSameBytes(as: "warnings") }))
    }
}
