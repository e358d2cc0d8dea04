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

/// Lists, reads, creates, changes and deletes the users of applications, for operators.
package struct UserAdministration: Sendable {
    let store: Store
    let kinds: ProviderKinds
    let masterKeys: MasterKeys
    let banKey: BanKey
    let hints: FactorHints
    let notices: Notices
    let merges: AccountMerges
    let links: MailedLinks
    let creation: UserCreation
    let clock: WallClock
    let random: RandomSource
    let changes: ApplicationChanges

    /// Returns a page of users.
    ///
    /// Each user has the members that clients see, `emailVerified`, and `firebaseUid` if there is a uid. The audit log
    /// records the criteria of the search without their values, and the number of users found. If the search finds one
    /// user, the audit log also records that user.
    package func list(
        of application: String,
        matching wanted: UserSearch,
        _ page: PageRequest,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Page {
        let owner = try await owner(application)
        let search = try wanted.parsed(properties: owner.properties)
        var after: ObjectID?
        if let cursor = page.cursor {
            guard let id = ObjectID(cursor) else { throw .badCursor }
            after = id
        }
        let users = try await users(matching: search, uid: wanted.firebaseUID, of: owner, after, page.limit + 1)
        let count = min(users.count, page.limit)
        try await store.recordReading(
            .search,
            of: count == 1 ? users.first?.user.objectID : nil,
            ["by": .array(wanted.filters.map(JSONValue.string)), "found": .integer(Int64(count))],
            in: owner.id,
            by: actor
        )
        return page.page(of: users, cursor: \.user.objectID.description, \.operatorJSON)
    }

    private func users(
        matching search: UserListing,
        uid: String?,
        of owner: Application,
        _ after: ObjectID?,
        _ limit: Int
    ) async throws(Failure) -> [ListedUser] {
        var search = search
        if let uid {
            let found = try await store.user(ofUID: uid, in: owner)
            guard let found, search.objectID ?? found == found else { return [] }
            search.objectID = found
        }
        return try await store.users(matching: search, of: owner, after: after, limit: limit)
    }

    /// Finds groups of users who share values, and may be the same human.
    ///
    /// A group is `{"shared": {name: text}, "count", "users": [{"objectId", "userStatus", "emailVerified", "created",
    /// "lastLogin", "loginMethods": [name]}]}` with at most 20 users, the oldest first. The audit log records the
    /// compared properties and the number of groups.
    ///
    /// - Parameters:
    ///   - application: The application of the users.
    ///   - names: The compared properties, separated by commas.
    ///   - page: The part of the list.
    ///   - actor: The operator.
    /// - Returns: A page of groups.
    /// - Throws: `malformed_request` for a name that is no declared property, or too many names.
    package func duplicates(
        of application: String,
        by names: String,
        _ page: PageRequest,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Page {
        let owner = try await owner(application)
        var properties: [Property] = []
        for name in names.split(separator: ",", omittingEmptySubsequences: false) {
            guard let property = owner.properties.first(where: { $0.name.text.hasSameBytes(as: String(name)) }) else {
                throw Failure(
                    .malformedRequest,
                    "The application has no property with this name. Compare properties such as name,birthday."
                )
            }
            if !properties.contains(where: { $0.name == property.name }) { properties.append(property) }
        }
        guard properties.count <= Self.maxCompared else {
            throw Failure(.malformedRequest, "Compare at most \(Self.maxCompared) properties.")
        }
        var after: ObjectID?
        if let cursor = page.cursor {
            guard let id = ObjectID(cursor) else { throw .badCursor }
            after = id
        }
        let groups = try await store.duplicates(by: properties, of: owner, after: after, limit: page.limit + 1)
        let compared = properties.map(\.name.text)
        try await store.recordReading(
            .search,
            of: nil,
            [
                "duplicatesBy": .array(compared.map(JSONValue.string)),
                "found": .integer(Int64(min(groups.count, page.limit))),
            ],
            in: owner.id,
            by: actor
        )
        return page.page(of: groups, cursor: \.position.description) { $0.json(of: compared) }
    }

    /// The maximum number of properties that a search for duplicates compares.
    private static let maxCompared = 4

    /// Returns a user with identities, sessions and factors.
    ///
    /// The shape is `{"user": {…}, "identities": [{"provider", "appId", "subject", "created", "lastUsed",
    /// "grantedScopes", "declinedScopes", "dataAccessExpires", "revoked", "revokedBy", "tokenKept", "tokenExpires",
    /// "checked"}], "password": {"login", "changed"} or `null`, "roles": [name], "firebaseUid": text
    /// or `null`, "firebaseClaims": {…} or `null`, "sessions": [{"id", "created", "lastSeen", "expires", "source",
    /// "userAgent"}], "factors": [{"id", "kind", "label", "hint"?, "codesLeft"?, "created", "lastUsed"}]}`, with the
    /// newest 1,000 sessions.
    package func read(_ id: String, of application: String, by actor: ChangeAuthor) async throws(Failure) -> Resource {
        let owner = try await owner(application)
        let stored = try await storedUser(id, of: owner)
        try await store.recordReading(.read, of: stored.user.objectID, in: owner.id, by: actor)
        return await resource(stored, of: owner)
    }

    /// Disables or enables a user by the merge patch `{"user": {"userStatus": "DISABLED" | "ENABLED"}}`.
    ///
    /// Disabling revokes all sessions. If the application requires confirmed e-mail addresses, an enabled user who has
    /// never logged in may still have to confirm the address.
    package func change(
        _ id: String,
        of application: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let status = try UserPatch(patch).status
        let changed = try await change(id, of: application, if: precondition, by: actor) { stored, owner in
            owner.change(of: stored, to: status)
        }
        guard let stored = changed.stored else { throw .noSuchUser }
        let owner = try await owner(application)
        // A change without effect still shows the user's data to the operator.
        if !changed.isRecorded {
            try await store.recordReading(.read, of: stored.user.objectID, in: owner.id, by: actor)
        }
        return await resource(stored, of: owner)
    }

    /// Revokes one session of a user, or all sessions of the user.
    package func endSessions(
        of id: String,
        session: String?,
        of application: String,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        _ = try await change(id, of: application, if: precondition, by: actor) { stored, _ in
            guard let session else { return .endSessions }
            guard stored.sessions.contains(where: { $0.id.hasSameBytes(as: session) }) else {
                throw Failure(.notFound, "This session does not exist or has ended.")
            }
            return .endSession(id: session)
        }
    }

    /// Removes one second factor of a user, or all of them.
    ///
    /// A mail notifies the user.
    ///
    /// If the application requires a second factor, the user must enrol another one at the next login. Once no other
    /// second factor is left, the user's recovery codes are removed, too. The devices that the user trusts need a
    /// second factor again.
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
        by actor: ChangeAuthor
    ) async throws(Failure) {
        let loaded = LoadedApplication(try await changes.existing(application), masterKeys: masterKeys, kinds: kinds)
        let before = try await storedUser(id, of: loaded.application)
        let wanted = factor.map { ObjectID($0) }
        let removed = before.factors.filter { wanted == nil || $0.id == wanted }
        guard factor == nil || !removed.isEmpty else { throw .noSuchFactor }
        var told: [Notice] = []
        // If recovery codes are removed together with the factors that they replace, no mail mentions the codes.
        for kind in FactorKind.allCases where removed.contains(where: { $0.kind == kind }) {
            guard kind.standsAlone || removed.count == 1 else { continue }
            let mail = Mail.factorRemoved(kind: kind, link: nil, days: 0, name: before.user.name)
            told += try await notices.notices(of: mail, to: before.user, in: loaded)
        }
        let notices = told
        _ = try await change(id, of: application, if: precondition, by: actor) { stored, _ in
            guard stored.user.email == before.user.email, stored.factors.map(\.id) == before.factors.map(\.id) else {
                throw Failure(.conflict, "The user was changed meanwhile. Read it again, and repeat the change.")
            }
            return .removeFactors(only: wanted ?? nil, telling: notices)
        }
    }

    /// Unlinks an identity from a user.
    ///
    /// If the service keeps a provider's access token for the identity, it also asks the provider to revoke the user's
    /// consent.
    ///
    /// - Returns: The result of each revocation. The audit log records them, too.
    /// - Throws: `conflict` for the last login method, since nobody could log in to the account any more.
    package func unlink(
        provider: String,
        app: String,
        subject: String,
        from id: String,
        of application: String,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> [PermissionRevocation] {
        let changed = try await change(id, of: application, if: precondition, by: actor) { stored, _ in
            let isLinked = stored.identities.contains {
                $0.provider.hasSameBytes(as: provider) && $0.app.hasSameBytes(as: app)
                    && $0.subject.hasSameBytes(as: subject)
            }
            guard isLinked else { throw Failure(.notFound, "This user does not have this identity.") }
            guard stored.loginMethods > 1 else {
                throw Failure(.conflict, "This is the user's only login method. Disable or erase the user instead.")
            }
            return .unlink(provider: provider, app: app, subject: subject)
        }
        return await revokePermissions(lostBy: changed, formerlyOf: id, of: application, by: actor)
    }

    /// Fetches a user's profiles from the providers with the kept access tokens, and applies the stored mapping.
    ///
    /// If a provider's error means that the consent was revoked, the identity is marked as revoked.
    ///
    /// - Returns: The user afterwards.
    /// - Throws: `conflict` when no access token is kept or the user is disabled; the error of a login when the
    ///   provider refuses all tokens.
    package func refresh(
        _ id: String,
        of application: String,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let loaded = LoadedApplication(try await changes.existing(application), masterKeys: masterKeys, kinds: kinds)
        let owner = loaded.application
        let stored = try await storedUser(id, of: owner)
        guard stored.user.status != .disabled else {
            throw Failure(.conflict, "This user is disabled. Enable the user first.")
        }
        func kept() async throws(Failure) -> [KeptIdentity] {
            try await store.keptIdentities(of: stored.user.objectID, in: owner).filter { $0.token.kind != .id }
        }
        let identities = try await kept()
        guard !identities.isEmpty else { throw Self.noKeptToken }
        try await store.recordRefresh(of: stored.user.objectID, in: owner.id, by: actor)
        let check = TokenCheck(store: store, masterKeys: masterKeys, clock: clock)
        var refusal: Failure?
        var isRefreshed = false
        for identity in identities {
            do throws(Failure) {
                let reading = try await check.read(of: loaded, deadline: .now + Administration.providerTimeout) {
                    () throws(Failure) in
                    guard let current = try await kept().first(where: { $0.key == identity.key }) else {
                        throw Self.noKeptToken
                    }
                    return current
                }
                _ = try await check.write(reading, in: loaded).get()
                isRefreshed = true
            } catch {
                refusal = refusal ?? error
            }
        }
        if let refusal, !isRefreshed { throw refusal }
        return await resource(try await storedUser(id, of: owner), of: owner)
    }

    private static let noKeptToken = Failure(
        .conflict,
        """
        No access token is stored for this user. Turn on the provider's option keepTokens to store those of later \
        logins.
        """
    )

    /// Returns all stored data of a user, in order to give them to the user.
    ///
    /// The data are: the user; the identities, with the values that the mapping wrote; the login name of the password;
    /// roles; sessions; second factors; the accepted invitation; and the newest 1,000 entries of the audit log about
    /// the user.
    package func export(
        _ id: String,
        of application: String,
        by actor: ChangeAuthor
    ) async throws(Failure) -> JSONValue {
        let owner = try await owner(application)
        let stored = try await storedUser(id, of: owner)
        try await store.recordReading(.export, of: stored.user.objectID, in: owner.id, by: actor)
        let target = stored.user.objectID.description
        let filter = AuditFilter(application: owner.id.text, target: target)
        let factors = factors(of: stored, in: owner)
        let audit = try await store.audit(matching: filter, before: nil, limit: 1000)
        let invitations = try await store.invitations(takenBy: stored.user.objectID, in: owner)
        return await located(stored, of: owner).export(factors, invitations: invitations, audit: audit)
    }

    /// Deletes a user with identities and sessions.
    ///
    /// If the service keeps providers' access tokens of the user, it also asks these providers to revoke the user's
    /// consents.
    ///
    /// The identities of a disabled user stay banned until their bans expire or `BanAdministration.lift` lifts them.
    /// `confirmation` must repeat the user's objectId.
    ///
    /// - Returns: The results of the revocations. The audit log records them, too.
    /// - Throws: `conflict` while rows of the operator's own tables refer to the user.
    package func erase(
        _ id: String,
        of application: String,
        confirmation: String?,
        if precondition: Precondition,
        by actor: ChangeAuthor
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

    func storedUser(_ id: String, of owner: Application) async throws(Failure) -> StoredUser {
        try await store.existingUser(ObjectID(id), of: owner)
    }

    private func factors(of stored: StoredUser, in owner: Application) -> [Factor] {
        stored.factors.map { hints.shown($0, of: stored.user.objectID, in: owner.id) }
    }

    func resource(_ stored: StoredUser, of owner: Application) async -> Resource {
        await located(stored, of: owner).resource(factors(of: stored, in: owner))
    }

    /// Returns the user with the source and the user agent of each session.
    private func located(_ stored: StoredUser, of owner: Application) async -> StoredUser {
        var stored = stored
        stored.sessions = await store.locating(stored.sessions, of: stored.user.objectID, in: owner.id)
        return stored
    }

    func change(
        _ id: String,
        of application: String,
        if precondition: Precondition,
        by actor: ChangeAuthor,
        plan: @escaping @Sendable (StoredUser, Application) throws -> UserChange?
    ) async throws(Failure) -> ChangedUser {
        let owner = try await owner(application)
        guard let id = ObjectID(id) else { throw .noSuchUser }
        return try await changing {
            try await store.change(id, of: owner, by: actor) { stored in
                try precondition.check(stored.tag)
                return try plan(stored, owner)
            }
        }
    }

    /// Asks providers to revoke the consents of a user whose identities were just unlinked or deleted.
    ///
    /// The requests use the access tokens that the database had kept for these identities. If there is no such token,
    /// nothing is read and nothing is sent.
    private func revokePermissions(
        lostBy change: ChangedUser,
        formerlyOf id: String,
        of application: String,
        by actor: ChangeAuthor
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

extension UserDuplicates {
    fileprivate func json(of names: [String]) -> JSONValue {
        let members = members.map { member -> JSONValue in
            .object([
                "objectId": .string(member.objectID.description), "userStatus": .string(member.status),
                "emailVerified": .bool(member.emailVerified), "created": .integer(member.created),
                "lastLogin": member.lastLogin.map(JSONValue.integer) ?? .null,
                "loginMethods": .array(member.loginMethods.map(JSONValue.string)),
            ])
        }
        let shared = zip(names, shared).map { JSONObject.Member($0, .string($1)) }
        return .object([
            "shared": .object(JSONObject(shared)), "count": .integer(count), "users": .array(members),
        ])
    }
}
