import Applications
import Description
package import Domain
package import Encodings
import Mapping
import Providers
import Secrets
import Store

/// Previews of mappings: the properties that a login would write for a profile.
package struct MappingPreviews: Sendable {
    let store: Store
    let kinds: ProviderKinds
    let masterKeys: MasterKeys
    let changes: ApplicationChanges

    /// Returns the fields of a provider, with a sample profile that has all of them.
    ///
    /// The shape is `{"fields": [{"path", "permission", "holds", "sample"}], "profile": {…}}`.
    ///
    /// - Throws: `not_found` for a provider that the application does not have.
    package func fields(of provider: ProviderName, in application: String) async throws(Failure) -> JSONValue {
        let stored = try await changes.existing(application)
        let fields = try LoadedApplication(stored, masterKeys: masterKeys, kinds: kinds).fields(of: provider)
        return .object(["fields": .array(fields.catalogue), "profile": .object(fields.sample)])
    }

    /// Returns the property values that a login would write, without writing them.
    ///
    /// The request is `{"profile": {…}, "scopes"?: [text]}` or `{"accessToken": text, "appId"?}`. Optional members are:
    ///
    /// - `mapping`: a candidate, which the preview uses in place of the stored mapping.
    /// - `fieldsMapping`: the client's mapping.
    /// - `user`: the objectId of an existing user. With an access token, the default is the user of the token.
    ///
    /// The response is `{"fields", "missingPermissions", "refusal"?: {"reason", "message", …}, "warnings": [text],
    /// "created": bool, "entries": [{"mapping": "stored"|"client", "position", "from", "to", "type", "sync", "outcome",
    /// "value"?, "current"?, "why", "field"?, "permission"?, "leftOut"?, "warning"?}]}`. The outcomes are `written`,
    /// `unchanged`, `defaulted`, `cleared`, `skipped`, `missing`, `leftOut` and `refused`.
    ///
    /// `refusal` is the error that the login would get. If the error occurs before there is a profile, `entries` is
    /// empty. Entries of a client's mapping that cannot be read appear only in the refusal.
    /// - Throws: `document_invalid` for the request, and for a candidate that could not be saved; `not_found` for an
    ///   unknown user.
    package func preview(
        for provider: ProviderName,
        of application: String,
        _ request: JSONValue,
        by actor: ChangeAuthor
    ) async throws(Failure) -> JSONValue {
        let stored = try await changes.existing(application)
        let request = try Self.read(request)
        let loaded = LoadedApplication(stored, masterKeys: masterKeys, kinds: kinds)
        let fields = try loaded.fields(of: provider)
        let tracer = MappingTracer(
            stored: try await candidate(request.mapping, for: stored, fields) ?? loaded.storedMappings[provider],
            client: request.clientMapping,
            fields: fields,
            properties: stored.properties,
            settings: loaded.application.settings,
            dynamicNames: stored.dynamicNames
        )
        var user = try await namedUser(request.user, of: loaded.application)
        let profile: JSONObject
        let scopes: [String]?
        var subject: Subject?
        switch request.source {
        case .profile(let given, let granted):
            (profile, scopes) = (given, granted)
            subject = given["id"]?.string.flatMap { Subject($0) }
        case .credential(let credential, let appID):
            let stored: VerifiedIdentity
            do throws(Failure) {
                if let refusal = tracer.refusal { throw refusal }
                stored = try await preview(credential, by: provider, of: loaded, appID: appID, tracer.mapping)
            } catch {
                return tracer.answer(nil, refusal: error, created: false)
            }
            (profile, scopes, subject) = (stored.profile, stored.scopes, stored.identity.subject)
            if user == nil { user = try await self.user(of: stored.identity, in: loaded.application) }
        }
        if user != nil || request.isOfPerson {
            try await store.recordReading(.preview, of: user?.user.objectID, in: loaded.application.id, by: actor)
        }
        let trace = tracer.trace(
            AdmittedProfile(profile, by: fields),
            grantedScopes: scopes,
            user: user?.user,
            written: user?.lastWritten(for: subject, at: provider) ?? JSONObject(),
            // `PropertyWrites` has the same rule.
            kept: user.map { loaded.application.kept(of: $0) } ?? []
        )
        var refusal = tracer.refusal ?? trace.refusal
        if refusal == nil, user?.user.status == .disabled { refusal = Store.accountDisabled }
        return tracer.answer(trace, refusal: refusal, created: user == nil && refusal == nil)
    }

    /// Verifies a credential with the provider, and returns the identity with its profile.
    ///
    /// A single-use credential stays valid, so that a login with it is still possible.
    private func preview(
        _ credential: CredentialFields,
        by name: ProviderName,
        of loaded: LoadedApplication,
        appID: String?,
        _ mapping: CompiledMapping
    ) async throws(Failure) -> VerifiedIdentity {
        let provider = try loaded.provider(name, as: (any CredentialVerifying).self)
        let fields = mapping.fields
        let question = VerificationRequest(appID: appID, deadline: .now + Administration.providerTimeout) { fields }
        do throws(Failure) {
            return try await provider.preview(credential, question)
        } catch {
            guard error.reason == .mappingInvalid, let field = error.details["field"]?.string else { throw error }
            throw mapping.failure(forUnknownField: field)
        }
    }

    private static func read(_ request: JSONValue) throws(Failure) -> PreviewRequest {
        do throws(DocumentProblems) { return try PreviewRequest(request) } catch { throw error.failure }
    }

    /// Returns the mapping in the request, which the preview uses in place of the stored one; nil if the request has
    /// none.
    ///
    /// - Throws: `document_invalid` for a mapping that could not be saved.
    private func candidate(
        _ document: JSONValue?,
        for stored: StoredApplication,
        _ fields: ProfileFields
    ) async throws(Failure) -> Mapping? {
        guard let document else { return nil }
        let place = JSONPointer() / "mapping"
        let columns = try await store.liveColumns(ofSchema: stored.schema, of: stored)
        var problems = DocumentProblems()
        problems.add(
            MappingCheck.problems(
                of: document,
                fields: fields,
                properties: stored.properties,
                columns: columns
            ),
            ofMappingAt: place
        )
        guard problems.isEmpty else { throw problems.failure }
        do throws(MappingProblems) { return try Mapping(document) } catch { throw error.failure }
    }

    /// Returns the user that a request names; nil if it names none.
    private func namedUser(_ id: String?, of application: Application) async throws(Failure) -> StoredUser? {
        guard let id else { return nil }
        guard let id = ObjectID(id), let found = try await store.storedUser(id, of: application) else {
            throw .noSuchUser
        }
        return found
    }

    /// Returns the user whom a login by the identity would find; nil if the login would create a user.
    private func user(
        of identity: IdentityKey,
        in application: Application
    ) async throws(Failure) -> StoredUser? {
        var search = UserListing()
        search.subject = identity.subject.text
        // The same subject may belong to other users, at other apps and providers.
        for listed in try await store.users(matching: search, of: application, after: nil, limit: 100) {
            guard let found = try await store.storedUser(listed.user.objectID, of: application) else { continue }
            let isSame = found.identities.contains {
                $0.provider.hasSameBytes(as: identity.provider.text) && $0.app.hasSameBytes(as: identity.app.text)
                    && $0.subject.hasSameBytes(as: identity.subject.text)
            }
            if isSame { return found }
        }
        return nil
    }
}

extension MappingTracer {
    /// The error that a login gets if its mappings cannot be used; nil if they can.
    fileprivate var refusal: Failure? {
        guard let problems else { return nil }
        // A client cannot correct an operator's mapping.
        return problems.first.origin == .client
            ? problems.failure : Failure.unusableConfiguration(cause: problems.first.message)
    }

    /// Returns the preview as JSON.
    ///
    /// Without a profile, `trace` is nil.
    fileprivate func answer(_ trace: MappingTrace?, refusal: Failure?, created: Bool) -> JSONValue {
        let permissions = trace?.missingPermissions ?? []
        var answer: JSONObject = [
            "fields": .string(mapping.fields),
            "missingPermissions": .array(permissions.map(JSONValue.string)),
        ]
        if let refusal {
            let reason: JSONObject = [
                "reason": .string(refusal.reason.rawValue), "message": .string(refusal.message),
            ]
            answer.append("refusal", .object(JSONObject(reason.members + refusal.details.members)))
        }
        answer.append("warnings", .array(mapping.warnings.map(JSONValue.string)))
        answer.append("created", .bool(created))
        answer.append("entries", .array((trace?.entries ?? []).map(\.json)))
        return .object(answer)
    }
}

extension StoredUser {
    /// Returns the property values that the mapping wrote at the last login with the user's identity at the provider.
    ///
    /// If the user has several identities there, it is the one with the given subject (the id of the user at the
    /// provider). If none has this subject, it is the one that was used last.
    fileprivate func lastWritten(for subject: Subject?, at provider: ProviderName) -> JSONObject? {
        let ours = identities.filter { $0.provider.hasSameBytes(as: provider.text) }
        let same = ours.first { identity in subject.map { identity.subject.hasSameBytes(as: $0.text) } ?? false }
        return (same ?? ours.max { $0.lastUsed < $1.lastUsed })?.written
    }
}

extension Application {
    /// Returns the properties of a user that a mapping does not write, since they give access to the account.
    ///
    /// A user with a password keeps the e-mail address and the login name. Any other user keeps the e-mail address if
    /// it is confirmed.
    fileprivate func kept(of stored: StoredUser) -> Set<PropertyName> {
        guard stored.password == nil else { return [.email, settings.identityProperty] }
        return stored.user.emailVerified ? [.email] : []
    }
}
