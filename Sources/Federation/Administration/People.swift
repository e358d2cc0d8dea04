package import Identity
import Store

extension Administration {
    /// User objects as clients see them, with `emailVerified` beside.
    package func users(
        of application: String,
        matching search: UserSearch,
        _ page: PageRequest
    ) async throws(Failure) -> Page {
        let owner = try await owner(application)
        let search = try search.parsed(properties: owner.properties)
        var after: ObjectID?
        if let cursor = page.cursor {
            guard let id = ObjectID(cursor) else { throw .badCursor }
            after = id
        }
        let users = try await store.people(matching: search, of: owner, after: after, limit: page.limit + 1)
        return page.page(of: users, cursor: \.objectID.description, \.operatorJSON)
    }

    /// `{"user": {…}, "identities": [{"provider", "appId", "subject", "created", "lastUsed", "grantedScopes", "dataAccessExpires"}],
    /// "sessions": [{"id", "created", "lastSeen", "expires"}]}`, of the sessions the newest 1,000.
    package func user(_ id: String, of application: String) async throws(Failure) -> Resource {
        try await person(id, of: try await owner(application)).resource
    }

    /// Disables or enables by the merge patch `{"user": {"userStatus": "DISABLED" | "ENABLED"}}`; disabling ends all sessions.
    package func changeUser(
        _ id: String,
        of application: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) -> Resource {
        let status = try UserPatch(patch).status
        let person = try await change(id, of: application, if: precondition, by: actor) { _ in .setStatus(status) }
        guard let person else { throw .noSuchUser }
        return person.resource
    }

    /// Ends one session, or all of them.
    package func endSessions(
        of id: String,
        session: String?,
        of application: String,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) {
        _ = try await change(id, of: application, if: precondition, by: actor) { person in
            guard let session else { return .endSessions }
            guard person.sessions.contains(where: { $0.id.hasSameBytes(as: session) }) else {
                throw Failure(.notFound, "This user has no such session, or it has ended.")
            }
            return .endSession(id: session)
        }
    }

    /// Takes an identity away from a user.
    ///
    /// - Throws: `conflict` for the last one: nobody could log in to the account any more.
    package func unlink(
        provider: String,
        app: String,
        subject: String,
        from id: String,
        of application: String,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) {
        _ = try await change(id, of: application, if: precondition, by: actor) { person in
            let isLinked = person.identities.contains {
                $0.provider.hasSameBytes(as: provider) && $0.app.hasSameBytes(as: app)
                    && $0.subject.hasSameBytes(as: subject)
            }
            guard isLinked else { throw Failure(.notFound, "This user has no such identity.") }
            guard person.identities.count > 1 else {
                throw Failure(
                    .conflict,
                    "This is the user's last identity: nobody could log in to the account any more. "
                        + "Disable or erase the user instead."
                )
            }
            return .unlink(provider: provider, app: app, subject: subject)
        }
    }

    /// Everything that is stored of a person, for the person: the user, its identities with what the mapping wrote, its sessions,
    /// and the newest 1,000 entries of the audit log that name it.
    package func exportUser(_ id: String, of application: String) async throws(Failure) -> JSONValue {
        let owner = try await owner(application)
        let person = try await person(id, of: owner)
        let target = person.user.objectID.description
        let filter = AuditFilter(application: owner.id.text, target: target)
        return person.export(audit: try await store.audit(matching: filter, before: nil, limit: 1000))
    }

    /// Removes a user with identities and sessions.
    ///
    /// The confirmation must be the objectId once more.
    ///
    /// - Throws: `conflict` while rows of the operator's own tables refer to the user.
    package func eraseUser(
        _ id: String,
        of application: String,
        confirmation: String?,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) {
        guard let confirmed = confirmation.flatMap({ ObjectID($0) }), confirmed == ObjectID(id) else {
            throw .unconfirmed("Erasing a user removes its identities and sessions", repeating: id)
        }
        _ = try await change(id, of: application, if: precondition, by: actor) { _ in .erase }
    }

    // MARK: What all of them need

    private func owner(_ id: String) async throws(Failure) -> Application {
        try Application(try await existing(id))
    }

    private func person(_ id: String, of owner: Application) async throws(Failure) -> StoredPerson {
        guard let id = ObjectID(id), let person = try await store.person(id, of: owner) else { throw .noSuchUser }
        return person
    }

    private func change(
        _ id: String,
        of application: String,
        if precondition: Precondition,
        by actor: Actor,
        plan: @escaping @Sendable (StoredPerson) throws -> PersonChange
    ) async throws(Failure) -> StoredPerson? {
        let owner = try await owner(application)
        guard let id = ObjectID(id) else { throw .noSuchUser }
        return try await changing {
            try await store.change(id, of: owner, by: actor) { person in
                try precondition.check(person.tag)
                return try plan(person)
            }
        }
    }
}
