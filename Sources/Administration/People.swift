import Accounts
import Applications
package import Domain
package import Encodings
import Factors
package import Logins
import Messaging
import Providers
import Secrets
import Store

/// The users of applications, for operators.
package struct UserAdministration: Sendable {
    let store: Store
    let kinds: ProviderKinds
    let masterKeys: MasterKeys
    let banKey: BanKey
    let hints: FactorHints
    let notices: Notices
    let links: MailedLinks
    let creation: UserCreation
    let clock: WallClock
    let random: RandomSource
    let changes: ApplicationChanges

    /// Returns a page of users in the form that clients see, with `emailVerified`.
    ///
    /// The audit log records the criteria of the search without their values, and the number of users found; if it is
    /// one, also that user.
    package func list(
        of application: String,
        matching wanted: UserSearch,
        _ page: PageRequest,
        by actor: Actor
    ) async throws(Failure) -> Page {
        let owner = try await owner(application)
        let search = try wanted.parsed(properties: owner.properties)
        var after: ObjectID?
        if let cursor = page.cursor {
            guard let id = ObjectID(cursor) else { throw .badCursor }
            after = id
        }
        let users = try await store.people(matching: search, of: owner, after: after, limit: page.limit + 1)
        let count = min(users.count, page.limit)
        try await store.recordReading(
            .search,
            of: count == 1 ? users.first?.objectID : nil,
            ["by": .array(wanted.filters.map(JSONValue.string)), "found": .integer(Int64(count))],
            in: owner.id,
            by: actor
        )
        return page.page(of: users, cursor: \.objectID.description, \.operatorJSON)
    }

    /// Returns a user with identities, sessions and factors.
    ///
    /// The shape is `{"user": {…}, "identities": [{"provider", "appId", "subject", "created", "lastUsed",
    /// "grantedScopes", "declinedScopes", "dataAccessExpires", "revoked", "revokedBy", "tokenKept", "tokenExpires",
    /// "checked"}], "password": {"login", "changed"} or `null`, "roles": [name], "sessions": [{"id", "created",
    /// "lastSeen", "expires", "source", "userAgent"}], "factors": [{"id", "kind", "label", "hint"?, "codesLeft"?,
    /// "created", "lastUsed"}]}`, with the newest 1,000 sessions.
    package func read(_ id: String, of application: String, by actor: Actor) async throws(Failure) -> Resource {
        let owner = try await owner(application)
        let person = try await person(id, of: owner)
        try await store.recordReading(.read, of: person.user.objectID, in: owner.id, by: actor)
        return await resource(person, of: owner)
    }

    /// Disables or enables a user by the merge patch `{"user": {"userStatus": "DISABLED" | "ENABLED"}}`.
    ///
    /// Disabling revokes all sessions. An enabled user may still have to confirm the address.
    package func change(
        _ id: String,
        of application: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) -> Resource {
        let status = try UserPatch(patch).status
        let changed = try await change(id, of: application, if: precondition, by: actor) { person, owner in
            owner.change(of: person, to: status)
        }
        guard let person = changed.person else { throw .noSuchUser }
        let owner = try await owner(application)
        // A change without effect still shows the user's data.
        if !changed.isRecorded {
            try await store.recordReading(.read, of: person.user.objectID, in: owner.id, by: actor)
        }
        return await resource(person, of: owner)
    }

    /// Revokes one session, or all of them.
    package func endSessions(
        of id: String,
        session: String?,
        of application: String,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) {
        _ = try await change(id, of: application, if: precondition, by: actor) { person, _ in
            guard let session else { return .endSessions }
            guard person.sessions.contains(where: { $0.id.hasSameBytes(as: session) }) else {
                throw Failure(.notFound, "This user has no such session, or it has ended.")
            }
            return .endSession(id: session)
        }
    }

    /// Removes a second factor of a user, or all of them, permanently; a mail notifies the user.
    ///
    /// Where the application requires a second factor, the user's next login enrols another. Recovery codes are removed
    /// with the last factor that they replace, and no device remains trusted.
    ///
    /// - Parameters:
    ///   - factor: The factor; nil for all.
    ///   - id: The user.
    ///   - application: The application of the user.
    ///   - precondition: The expected state of the user.
    ///   - actor: The operator.
    /// - Throws: `not_found` when the user has no such factor.
    package func removeFactors(
        _ factor: String?,
        of id: String,
        of application: String,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) {
        let loaded = LoadedApplication(try await changes.existing(application), masterKeys: masterKeys, kinds: kinds)
        let before = try await person(id, of: loaded.application)
        let wanted = factor.map { ObjectID($0) }
        let removed = before.factors.filter { wanted == nil || $0.id == wanted }
        guard factor == nil || !removed.isEmpty else { throw .noSuchFactor }
        var told: [Notice] = []
        // No mail tells of recovery codes that were removed together with the factors that they replace.
        for kind in FactorKind.allCases where removed.contains(where: { $0.kind == kind }) {
            guard kind.standsAlone || removed.count == 1 else { continue }
            let mail = Mail.factorRemoved(kind: kind, link: nil, days: 0, name: before.user.name)
            told += try await notices.notices(of: mail, to: before.user, in: loaded)
        }
        let notices = told
        _ = try await change(id, of: application, if: precondition, by: actor) { person, _ in
            guard person.user.email == before.user.email, person.factors.map(\.id) == before.factors.map(\.id) else {
                throw Failure(.conflict, "The user has been changed meanwhile. Look at it and try again.")
            }
            return .removeFactors(only: wanted ?? nil, telling: notices)
        }
    }

    /// Unlinks an identity from a user, and revokes the consent at the provider if a token is kept.
    ///
    /// - Returns: The results of the revocation, which the audit log records, too.
    /// - Throws: `conflict` for the last login method: nobody could log in to the account any more.
    package func unlink(
        provider: String,
        app: String,
        subject: String,
        from id: String,
        of application: String,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) -> [PermissionRevocation] {
        let changed = try await change(id, of: application, if: precondition, by: actor) { person, _ in
            let isLinked = person.identities.contains {
                $0.provider.hasSameBytes(as: provider) && $0.app.hasSameBytes(as: app)
                    && $0.subject.hasSameBytes(as: subject)
            }
            guard isLinked else { throw Failure(.notFound, "This user has no such identity.") }
            guard person.loginMethods > 1 else {
                throw Failure(
                    .conflict,
                    "This is the only login method that the user has: nobody could log in to the account any more. "
                        + "Disable or erase the user instead."
                )
            }
            return .unlink(provider: provider, app: app, subject: subject)
        }
        return await revokePermissions(lostBy: changed, formerlyOf: id, of: application, by: actor)
    }

    /// Fetches the profiles of a user's identities again by their kept access tokens, and applies the stored mapping.
    ///
    /// A provider's error that means revocation marks the identity as revoked.
    ///
    /// - Returns: The user afterwards.
    /// - Throws: `conflict` when no access token is kept or the user is disabled; the error of a login when the
    ///   provider refuses all tokens.
    package func refresh(
        _ id: String,
        of application: String,
        by actor: Actor
    ) async throws(Failure) -> Resource {
        let loaded = LoadedApplication(try await changes.existing(application), masterKeys: masterKeys, kinds: kinds)
        let owner = loaded.application
        let person = try await person(id, of: owner)
        guard person.user.status != .disabled else {
            throw Failure(.conflict, "This user is disabled, so its profile is not read. Enable the user first.")
        }
        let identities = try await store.keptIdentities(of: person.user.objectID, in: owner)
            .filter { $0.token.kind == .access }
        guard !identities.isEmpty else {
            throw Failure(
                .conflict,
                "No access token is kept of this user. The provider's option keepTokens keeps those of later logins."
            )
        }
        try await store.recordRefresh(of: person.user.objectID, in: owner.id, by: actor)
        let check = TokenCheck(store: store, masterKeys: masterKeys, clock: clock)
        var refusal: Failure?
        var isRefreshed = false
        for identity in identities {
            do throws(Failure) {
                let reading = try await check.read(
                    identity,
                    of: loaded,
                    deadline: .now + Administration.providerPatience
                )
                _ = try await check.write(reading, of: identity, in: loaded).get()
                isRefreshed = true
            } catch {
                refusal = refusal ?? error
            }
        }
        if let refusal, !isRefreshed { throw refusal }
        return await resource(try await self.person(id, of: owner), of: owner)
    }

    /// Returns all stored data of a user, for the user.
    ///
    /// These are the user, its identities with the values that the mapping wrote, the login name of its password, its
    /// roles, its sessions, its second factors, the invitation that it accepted, and the newest 1,000 entries of the
    /// audit log that name it.
    package func export(
        _ id: String,
        of application: String,
        by actor: Actor
    ) async throws(Failure) -> JSONValue {
        let owner = try await owner(application)
        let person = try await person(id, of: owner)
        try await store.recordReading(.export, of: person.user.objectID, in: owner.id, by: actor)
        let target = person.user.objectID.description
        let filter = AuditFilter(application: owner.id.text, target: target)
        let factors = factors(of: person, in: owner)
        let audit = try await store.audit(matching: filter, before: nil, limit: 1000)
        let invitations = try await store.invitations(takenBy: person.user.objectID, in: owner)
        return await located(person, of: owner).export(factors, invitations: invitations, audit: audit)
    }

    /// Deletes a user with identities and sessions, and revokes consents at providers where a token is kept.
    ///
    /// The identities of a disabled user stay banned; see `BanAdministration.lift`. The confirmation must repeat the
    /// objectId.
    ///
    /// - Returns: The results of the revocation, which the audit log records, too.
    /// - Throws: `conflict` while rows of the operator's own tables refer to the user.
    package func erase(
        _ id: String,
        of application: String,
        confirmation: String?,
        if precondition: Precondition,
        by actor: Actor
    ) async throws(Failure) -> [PermissionRevocation] {
        guard let confirmed = confirmation.flatMap({ ObjectID($0) }), confirmed == ObjectID(id) else {
            throw .unconfirmed("Erasing a user removes its identities and sessions", repeating: id)
        }
        let owner = try await owner(application)
        let hash = try await banKey.hasher(of: owner.id)
        let changed = try await change(id, of: application, if: precondition, by: actor) { _, _ in
            .erase(banningBy: hash)
        }
        return await revokePermissions(lostBy: changed, formerlyOf: id, of: application, by: actor)
    }

    // MARK: Common parts

    func owner(_ id: String) async throws(Failure) -> Application {
        try Application(try await changes.existing(id))
    }

    func person(_ id: String, of owner: Application) async throws(Failure) -> StoredPerson {
        guard let id = ObjectID(id), let person = try await store.person(id, of: owner) else { throw .noSuchUser }
        return person
    }

    private func factors(of person: StoredPerson, in owner: Application) -> [Factor] {
        person.factors.map { hints.shown($0, of: person.user.objectID, in: owner.id) }
    }

    func resource(_ person: StoredPerson, of owner: Application) async -> Resource {
        await located(person, of: owner).resource(factors(of: person, in: owner))
    }

    /// Returns the user with the source and the user agent of each session.
    private func located(_ person: StoredPerson, of owner: Application) async -> StoredPerson {
        var person = person
        person.sessions = await store.locating(person.sessions, of: person.user.objectID, in: owner.id)
        return person
    }

    func change(
        _ id: String,
        of application: String,
        if precondition: Precondition,
        by actor: Actor,
        plan: @escaping @Sendable (StoredPerson, Application) throws -> PersonChange?
    ) async throws(Failure) -> ChangedPerson {
        let owner = try await owner(application)
        guard let id = ObjectID(id) else { throw .noSuchUser }
        return try await changing {
            try await store.change(id, of: owner, by: actor) { person in
                try precondition.check(person.tag)
                return try plan(person, owner)
            }
        }
    }

    /// Revokes the consents of deleted tokens.
    ///
    /// The application is read only where there is a consent to revoke.
    private func revokePermissions(
        lostBy change: ChangedPerson,
        formerlyOf id: String,
        of application: String,
        by actor: Actor
    ) async -> [PermissionRevocation] {
        guard !change.tokens.isEmpty, let user = ObjectID(id), let stored = try? await changes.existing(application)
        else {
            return []
        }
        return await PermissionRevoker(store: store, masterKeys: masterKeys).revokePermissions(
            by: change.tokens,
            formerlyOf: user,
            in: LoadedApplication(stored, masterKeys: masterKeys, kinds: kinds),
            actor: actor
        )
    }
}
