import Applications
import Mapping
import Providers
import Secrets
import Store
package import Vocabulary

/// What a mapping would make of a profile.
package struct MappingPreviews: Sendable {
    let store: Store
    let kinds: ProviderKinds
    let masterKeys: MasterKeys
    let changes: ApplicationChanges

    /// What there is to map, with somebody made up who has all of it:
    /// `{"fields": [{"path", "permission", "holds", "sample"}], "profile": {…}}`.
    ///
    /// - Throws: `not_found` for a provider that is none of the application's.
    package func fields(of provider: ProviderName, in application: String) async throws(Failure) -> JSONValue {
        let stored = try await changes.existing(application)
        let fields = try LoadedApplication(stored, masterKeys: masterKeys, kinds: kinds).fields(of: provider)
        return .object(["fields": .array(fields.catalogue), "profile": .object(fields.sample)])
    }

    /// What a login would write; writes nothing.
    ///
    /// Takes `{"profile": {…}, "scopes"?: [text]}` or `{"accessToken": text, "appId"?}`, and optionally `mapping` (a
    /// candidate for the stored one), `fieldsMapping` (the client's) and `user` (objectId of an existing user; with an
    /// access token the one whom it stands for unless another is named). Answers `{"graphFields", "missingPermissions",
    /// "refusal"?: {"reason", "message", …}, "warnings": [text], "created": bool,
    ///   "entries": [{"mapping": "stored"|"client", "position", "from", "to", "type", "sync", "outcome", "value"?,
    ///   "current"?,
    ///     "why", "field"?, "permission"?, "leftOut"?, "warning"?}]}`
    /// with the outcomes `written`, `unchanged`, `defaulted`, `cleared`, `skipped`, `missing`, `leftOut` and `refused`.
    /// `refusal` is what the login would be answered; `entries` is empty when it comes before there is a profile.
    /// Entries of a client's mapping that cannot be read are told in the refusal only.
    ///
    /// - Throws: `document_invalid` for the request and for a candidate that could not be saved, `not_found` for an
    ///   unknown user.
    package func preview(
        for provider: ProviderName,
        of application: String,
        _ request: JSONValue,
        by actor: Actor
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
        switch request.person {
        case .profile(let given, let granted):
            (profile, scopes) = (given, granted)
            subject = given["id"]?.string.flatMap { Subject($0) }
        case .credential(let credential, let appID):
            let person: VerifiedPerson
            do throws(Failure) {
                if let refusal = tracer.refusal { throw refusal }
                person = try await preview(credential, by: provider, of: loaded, appID: appID, tracer.mapping)
            } catch {
                return tracer.answer(nil, refusal: error, created: false)
            }
            (profile, scopes, subject) = (person.profile, person.scopes, person.identity.subject)
            if user == nil { user = try await self.user(of: person.identity, in: loaded.application) }
        }
        if user != nil || request.isOfPerson {
            try await store.recordReading(.preview, of: user?.user.objectID, in: loaded.application.id, by: actor)
        }
        let trace = tracer.trace(
            AdmittedProfile(profile, by: fields),
            grantedScopes: scopes,
            user: user?.user,
            written: user?.lastWritten(for: subject, at: provider) ?? JSONObject(),
            // As PropertyWrites has it.
            kept: user.map { loaded.application.kept(of: $0) } ?? []
        )
        var refusal = tracer.refusal ?? trace.refusal
        if refusal == nil, user?.user.status == .disabled { refusal = Store.accountDisabled }
        return tracer.answer(trace, refusal: refusal, created: user == nil && refusal == nil)
    }

    /// The person whom a credential stands for, with nothing used up.
    private func preview(
        _ credential: CredentialFields,
        by name: ProviderName,
        of loaded: LoadedApplication,
        appID: String?,
        _ mapping: CompiledMapping
    ) async throws(Failure) -> VerifiedPerson {
        let provider = try loaded.provider(name, as: (any CredentialVerifying).self)
        let fields = mapping.graphFields
        let question = ProviderQuestion(appID: appID, deadline: .now + Administration.providerPatience) { fields }
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

    /// The candidate for the stored mapping, held to what saving it would hold it to.
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

    /// The user that a request names.
    private func namedUser(_ id: String?, of application: Application) async throws(Failure) -> StoredPerson? {
        guard let id else { return nil }
        guard let id = ObjectID(id), let found = try await store.person(id, of: application) else { throw .noSuchUser }
        return found
    }

    /// The user as whom a verified person would log in; nil when the login would create one.
    private func user(
        of identity: IdentityKey,
        in application: Application
    ) async throws(Failure) -> StoredPerson? {
        var search = PersonSearch()
        search.subject = identity.subject.text
        // The same digits can be other people's at other apps and providers.
        for user in try await store.people(matching: search, of: application, after: nil, limit: 100) {
            guard let found = try await store.person(user.objectID, of: application) else { continue }
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
    /// What a login answers that cannot use the mappings.
    fileprivate var refusal: Failure? {
        guard let problems else { return nil }
        // The client cannot mend what the operator wrote.
        return problems.first.origin == .client
            ? problems.failure : Failure.unusableConfiguration(cause: problems.first.message)
    }

    /// The preview as JSON; without a trace when there was no profile to trace.
    fileprivate func answer(_ trace: MappingTrace?, refusal: Failure?, created: Bool) -> JSONValue {
        let permissions = trace?.missingPermissions ?? []
        var answer: JSONObject = [
            "graphFields": .string(mapping.graphFields),
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

extension StoredPerson {
    /// What the mapping wrote last, by logins as the subject; by the latest ones where the subject is not this user's.
    fileprivate func lastWritten(for subject: Subject?, at provider: ProviderName) -> JSONObject? {
        let ours = identities.filter { $0.provider.hasSameBytes(as: provider.text) }
        let same = ours.first { identity in subject.map { identity.subject.hasSameBytes(as: $0.text) } ?? false }
        return (same ?? ours.max { $0.lastUsed < $1.lastUsed })?.written
    }
}

extension Application {
    /// What no mapping writes of a person: what they log in by, and the address to which their mails go.
    fileprivate func kept(of person: StoredPerson) -> Set<PropertyName> {
        guard person.password == nil else { return [.email, settings.identityProperty] }
        return person.user.emailVerified ? [.email] : []
    }
}
