package import Domain
import Encodings
import FoundationEssentials
import Postgres

/// A merge of two users into one.
package struct UserMerge: Sendable {
    /// The proof that both accounts belong to the same human: a fresh session of each.
    package struct Sessions: Sendable {
        /// The SHA-256 of the token of the session that sent the request; it stays valid, as the survivor's.
        let asking: [UInt8]
        let other: [UInt8]
        /// The maximum age, in seconds, of the authentication and of the second factor of both.
        let seconds: Int

        package init(asking: [UInt8], other: [UInt8], seconds: Int) {
            self.asking = asking
            self.other = other
            self.seconds = seconds
        }
    }

    /// The proof that the reader of a mail gives, who claims the survivor's account.
    package struct Claim: Sendable {
        /// The SHA-256 of the token of the mailed link.
        let tokenHash: [UInt8]
        /// The survivor's second factor, if the account has one; it is used up.
        let factor: FactorProof?
        /// The survivor's login methods that the reader knows.
        let known: KnownMethods

        package init(tokenHash: [UInt8], factor: FactorProof?, known: KnownMethods) {
            self.tokenHash = tokenHash
            self.factor = factor
            self.known = known
        }
    }

    /// Why both accounts count as those of one human.
    package enum Proof: Sendable {
        case sessions(Sessions)
        case claim(Claim)
        /// An operator is responsible, whose reason goes to the audit log.
        case operatorsReason(String)
    }

    package let survivor: ObjectID
    /// The user who becomes a part of the survivor, and whose row is deleted.
    package let merged: ObjectID
    package let rules: MergeRules
    package let proof: Proof
    /// The mails to the survivor and to the merged user; nil if they cannot be notified.
    package let announcements: (survivor: Announcement, merged: Announcement)?

    package init(
        of merged: ObjectID,
        into survivor: ObjectID,
        by rules: MergeRules,
        provedBy proof: Proof,
        announcing announcements: (survivor: Announcement, merged: Announcement)?
    ) {
        self.survivor = survivor
        self.merged = merged
        self.rules = rules
        self.proof = proof
        self.announcements = announcements
    }

    /// How long a merge can be undone: as long as the mailed link that undoes it is valid.
    package static let undoSeconds = EmailTokenPurpose.mergeReversal.seconds
}

/// Two users, and what a merge would make or has made of them.
package struct UserPair: Sendable {
    package let survivor: StoredUser
    package let merged: StoredUser
    package let plan: MergePlan
    /// The survivor's identities that a claim has removed, with their stored tokens.
    package fileprivate(set) var lost: [KeptIdentity] = []
}

extension Store {
    /// Returns two users and what a merge would make of them.
    ///
    /// - Throws: `not_found` unless both exist, `malformed_request` for contradictory rules.
    package func mergePreview(
        of merged: ObjectID,
        into survivor: ObjectID,
        by rules: MergeRules,
        in application: Application
    ) async throws(Failure) -> UserPair {
        guard let first = try await storedUser(survivor, of: application),
            let second = try await storedUser(merged, of: application)
        else { throw .noSuchUser }
        return try UserPair(survivor: first, merged: second, by: rules, in: application)
    }

    /// Merges two users into one, in one transaction.
    ///
    /// The survivor gets the identities, second factors, roles and accepted invitations of both, and the properties
    /// that the rules choose. It keeps its uid for clients of Firebase and its custom claims; a missing value comes
    /// from the merged user. All sessions of both end, except the session that sent the request; no device stays
    /// trusted. The merged user's row is deleted, and a record is stored by which the merge can be undone.
    ///
    /// Both rows are locked first, in the order of their ids, and before dependent rows, as in a login. So a
    /// simultaneous login, change or erasure of either user precedes the whole merge, or sees its outcome.
    ///
    /// - Parameters:
    ///   - merge: The users, the rules and the proof.
    ///   - cipher: Encrypts values that are bound to their user for the other user.
    ///   - application: The application of the users.
    ///   - actor: The author, for the audit log.
    ///   - check: Is called with both users as they are before the merge; its errors are rethrown.
    /// - Returns: The users before the merge, with its plan.
    /// - Throws: `not_found` unless both users exist; `session_invalid`, `account_disabled`,
    ///   `reauthentication_required`, `second_factor_reauthentication_required` for sessions; `link_invalid`,
    ///   `second_factor_required`, `pending_login_invalid` for a claim; `conflict` while a deletion is requested, a
    ///   mailed link can restore a former address, rows of the operator's own tables refer to the merged user, or a
    ///   confirmed address would be replaced without an operator; `malformed_request` for contradictory rules;
    ///   `constraint_violation` and similar failures. Nothing has changed then.
    package func merge(
        _ merge: UserMerge,
        with cipher: ColumnCipher,
        in application: Application,
        by actor: ChangeAuthor,
        check: @escaping @Sendable (UserPair) throws -> Void = { _ in }
    ) async throws(Failure) -> UserPair {
        let work = MergeWork(merge: merge, cipher: cipher, application: application)
        let tables = tables(of: application)
        return try await current(application, explain: { await mergeFailure(of: $0, in: application) }) {
            try await tables.withTransaction { connection in
                let pair = try await work.carryOut(on: connection, checking: check)
                try await tables.record(work.entries(about: pair), by: actor, with: connection)
                return pair
            }
        }.get()
    }

    /// Returns the user into whom the user with the given id was merged; nil if there is none, or no longer.
    package func survivor(of merged: ObjectID, in application: Application) async throws(Failure) -> ObjectID? {
        try await query(
            """
            select survivor from \(identifier: application.schema).merged_users
            where object_id = \(merged.uuid) and expires > now()
            """,
            of: application
        ).first(ObjectID.self)
    }

    /// Returns the users who were merged into a user, the latest first.
    package func mergedUsers(into survivor: ObjectID, in application: Application) async throws(Failure)
        -> [MergedUser]
    {
        let result = try await query(
            """
            select object_id, merged, case when record is not null then undo_until end
            from \(identifier: application.schema).merged_users where survivor = \(survivor.uuid)
            order by merged desc, object_id limit 100
            """,
            of: application
        )
        return try result.all { row throws(PostgresError) in
            MergedUser(
                objectID: try row.next(),
                merged: try row.next(Timestamp.self).milliseconds,
                undoUntil: try row.next(Timestamp?.self)?.milliseconds
            )
        }
    }

    private func mergeFailure(of error: PostgresError, in application: Application) async -> Failure? {
        if let table = error.obstacle, case .server(let refusal) = error,
            ["23503", "23001"].contains(refusal.sqlState)
        {
            return .mergedUserIsReferred(by: table)
        }
        return await userWriteFailure(of: error, in: application)
    }
}

/// A user who was merged into another one.
package struct MergedUser: Sendable {
    package let objectID: ObjectID
    /// The time of the merge, in milliseconds since 1970 UTC.
    package let merged: Int64
    /// The time until which the merge can be undone, in milliseconds since 1970 UTC; nil if it cannot be any more.
    package let undoUntil: Int64?
}

extension UserPair {
    init(survivor: StoredUser, merged: StoredUser, by rules: MergeRules, in application: Application) throws(Failure) {
        self.survivor = survivor
        self.merged = merged
        plan = try MergePlan(
            of: MergeSide(user: survivor.user, hasPassword: survivor.password != nil),
            and: MergeSide(user: merged.user, hasPassword: merged.password != nil),
            by: rules,
            identity: application.settings.identityProperty
        )
    }
}

/// Carries out one merge.
private struct MergeWork: Sendable {
    let merge: UserMerge
    let cipher: ColumnCipher
    let application: Application

    private var schema: String { application.schema }
    private var survivor: UUID { merge.survivor.uuid }
    private var merged: UUID { merge.merged.uuid }

    func carryOut(
        on connection: PostgresConnection,
        checking check: @Sendable (UserPair) throws -> Void
    ) async throws -> UserPair {
        let locked = try await connection.query(
            """
            select from \(identifier: schema).users where object_id in (\(survivor), \(merged))
            order by object_id for update
            """
        )
        guard locked.count == 2 else { throw Failure.noSuchUser }
        let table = try await WholeRow(of: application, on: connection)
        try await requireNoObstacle(table, on: connection)
        // The mails are about both users as they were before.
        try await announce(on: connection)
        var lost: [KeptIdentity] = []
        switch merge.proof {
        case .sessions(let sessions): try await require(sessions, on: connection)
        case .claim(let claim):
            guard let removed = try await connection.takeClaim(claim, of: merge, in: application) else {
                throw Failure.linkInvalid
            }
            lost = removed
        case .operatorsReason: break
        }
        var pair = try UserPair(
            survivor: try await stored(merge.survivor, on: connection),
            merged: try await stored(merge.merged, on: connection),
            by: merge.rules,
            in: application
        )
        pair.lost = lost
        try check(pair)
        try requireKeptAddress(in: pair)
        guard let before = try await connection.row(of: merge.survivor, schema: schema),
            let row = try await table.read(merge.merged, on: connection)
        else { throw Failure.noSuchUser }
        let password = try await movePassword(pair.plan.password, on: connection)
        var record = MergeRecord(row: row, before: before, changed: pair.plan.columns, password: password)
        record.identities = pair.merged.identities.map { [$0.provider, $0.app, $0.subject] }
        record.roles = pair.merged.roles
        record.addedRoles = pair.merged.roles.filter { role in
            !pair.survivor.roles.contains { $0.hasSameBytes(as: role) }
        }
        record.factors = try await connection.moveFactors(
            of: merge.merged,
            to: merge.survivor,
            with: cipher,
            schema: schema
        )
        record.invitations = try await connection.query(
            """
            update \(identifier: schema).invitations set object_id = \(survivor) where object_id = \(merged)
            returning id
            """
        ).all(ObjectID.self)
        record.merged = try await connection.query(
            """
            update \(identifier: schema).merged_users set survivor = \(survivor) where survivor = \(merged)
            returning object_id
            """
        ).all(ObjectID.self)
        // These links go with the merged user's row.
        record.links =
            try await connection.query(
                """
                select jsonb_agg(to_jsonb(e))::text from \(identifier: schema).email_proofs e
                where object_id = \(merged) and purpose = 'reversal'
                """
            ).first(String?.self) ?? nil
        try await moveOthers(on: connection)
        try await moveUID(of: pair, for: &record, on: connection)
        _ = try await connection.query("delete from \(identifier: schema).users where object_id = \(merged)")
        record.after = try await update(by: pair.plan, from: row, table, on: connection)
        try await store(record, on: connection)
        return pair
    }

    /// Requires that a confirmed address of the survivor stays, unless an operator is responsible.
    ///
    /// Otherwise a thief with a session could give the account another address, without the link to the former one that
    /// a change of the address causes.
    private func requireKeptAddress(in pair: UserPair) throws(Failure) {
        if case .operatorsReason = merge.proof { return }
        guard pair.survivor.user.emailVerified, pair.plan.taken.contains(.email) else { return }
        throw Failure(
            .conflict,
            """
            The surviving account has a confirmed address, and would get the other one. Let the other account survive, \
            or keep the property email.
            """
        )
    }

    /// Requires a fresh session of each user.
    private func require(_ sessions: UserMerge.Sessions, on connection: PostgresConnection) async throws {
        var owners: [ObjectID] = []
        for hash in [sessions.asking, sessions.other] {
            guard let user = try await connection.lockUser(ofSession: hash, of: application) else {
                throw Failure.sessionInvalid
            }
            guard user.status != .disabled else { throw Store.accountDisabled }
            // A guest has no credential but the session.
            guard user.status == .guest || user.authenticatedAgo <= sessions.seconds else {
                throw Failure.reauthenticationRequired
            }
            try user.requireFactor(within: sessions.seconds)
            owners.append(user.id)
        }
        guard Set(owners) == [merge.survivor, merge.merged] else { throw Failure.sessionInvalid }
    }

    private func stored(_ user: ObjectID, on connection: PostgresConnection) async throws -> StoredUser {
        let reader = UserReader(application: application)
        let result = try await connection.query(reader.statement(for: user))
        guard let stored = try Answer(result: result).first(by: reader.stored) else { throw Failure.noSuchUser }
        return stored
    }

    /// Requires that neither account is about to be deleted or may still be restored to another address, and that no
    /// row of the operator's own tables would be deleted with the merged user.
    private func requireNoObstacle(_ table: WholeRow, on connection: PostgresConnection) async throws {
        try await connection.requireNoDeletion(of: [merge.survivor, merge.merged], in: application)
        // A link at the present address is kept, for the undoing of the merge.
        let links = try await connection.query(
            """
            select from \(identifier: schema).email_proofs e join \(identifier: schema).users u using (object_id)
            where object_id in (\(survivor), \(merged)) and e.purpose = 'reversal' and e.expires > now()
                and lower(e.email) is distinct from lower(u.email)
            limit 1
            """
        )
        guard links.count == 0 else { throw Failure.canBeTakenBack }
        try await requireNoReference(to: table, on: connection)
    }

    /// Requires that no row of the operator's own tables refers to the merged user, by whatever columns.
    private func requireNoReference(to table: WholeRow, on connection: PostgresConnection) async throws {
        guard let row = try await table.read(merge.merged, on: connection) else { throw Failure.noSuchUser }
        let references = try await connection.query(
            """
            select format('%I.%I', n.nspname, t.relname),
                string_agg(format('c.%I = u.%I', a.attname, f.attname), ' and ' order by k.position),
                string_agg(format('%I %s', f.attname, format_type(f.atttypid, f.atttypmod)), ', ' order by k.position)
            from pg_constraint c
            join pg_class t on t.oid = c.conrelid
            join pg_namespace n on n.oid = t.relnamespace
            cross join unnest(c.conkey, c.confkey) with ordinality k (own, referred, position)
            join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.own
            join pg_attribute f on f.attrelid = c.confrelid and f.attnum = k.referred
            where c.contype = 'f' and c.confrelid = federation.users_table(\(schema)) and not (
                n.nspname = \(schema) and t.relname = any (\(Self.ownTables))
            )
            group by c.oid, n.nspname, t.relname order by 1, 2
            """
        ).all(String.self, String.self, String.self)
        for (table, condition, types) in references {
            // The user's values are in the statement, not the users table: on Citus, these tables are elsewhere.
            let found = try await connection.query(
                """
                select from \(unsafeRaw: table) c, jsonb_to_record(\(JSONText(row))::jsonb) u (\(unsafeRaw: types))
                where \(unsafeRaw: condition) limit 1
                """
            )
            guard found.count == 0 else { throw Failure.mergedUserIsReferred(by: table) }
        }
    }

    /// The tables of the service itself that refer to users.
    private static let ownTables = [
        "identities", "sessions", "passwords", "email_proofs", "invitations", "removed_identities", "factors",
        "trusted_devices", "mails", "user_roles", "merged_users", "firebase_users",
    ]

    /// Queues the mails to both addresses, for which both users must be as they were when the mails were written.
    private func announce(on connection: PostgresConnection) async throws {
        guard let announcements = merge.announcements else { return }
        let survivor = merge.survivor
        for (announcement, user) in [(announcements.survivor, survivor), (announcements.merged, merge.merged)] {
            try await connection.require(announcement, of: user, in: application)
            for notice in announcement.notices {
                guard try await connection.enqueue(notice, to: survivor, of: application),
                    let hash = notice.reversalHash, let email = announcement.email
                else { continue }
                let token = EmailToken(user: survivor, other: merge.merged, email: email)
                _ = try await connection.query(
                    Store.adding(token, for: .mergeReversal, tokenHash: hash, of: application)
                )
            }
        }
    }

    /// Moves the merged user's password to the survivor if the plan says so, and returns it for the record.
    private func movePassword(
        _ plan: MergePlan.Password,
        on connection: PostgresConnection
    ) async throws -> MergeRecord.Password? {
        let found = try await connection.query(
            """
            delete from \(identifier: schema).passwords where object_id = \(merged)
            returning login, hash, hash_key_id, changed
            """
        )
        guard
            let (login, hash, changed) = try found.first(by: { row throws(PostgresError) in
                (try row.next(String.self), try row.next(EncryptedSecret.self), try row.next(Timestamp.self))
            })
        else { return nil }
        let secret = try cipher.open(hash, of: .passwordHashes, [merge.merged.description])
        if plan == .taken {
            let moved = cipher.encrypt(secret, for: .passwordHashes, [merge.survivor.description])
            _ = try await connection.query(
                """
                insert into \(identifier: schema).passwords (object_id, login, hash, hash_key_id, changed)
                values (\(survivor), \(login), \(moved.bytes), \(moved.keyID), \(bind: .timestamp(changed)))
                """
            )
        }
        return MergeRecord.Password(login: login, hash: secret, changed: changed.milliseconds)
    }

    /// Moves the identities and roles to the survivor, and ends sessions, trust in devices and mailed links.
    private func moveOthers(on connection: PostgresConnection) async throws(PostgresError) {
        _ = try await connection.query(
            "update \(identifier: schema).identities set object_id = \(survivor) where object_id = \(merged)"
        )
        _ = try await connection.query(
            """
            insert into \(identifier: schema).user_roles (object_id, role, given)
            select \(survivor)::uuid, role, given from \(identifier: schema).user_roles where object_id = \(merged)
            on conflict do nothing
            """
        )
        _ = try await connection.query(
            "update \(identifier: schema).mails set object_id = \(survivor) where object_id = \(merged)"
        )
        // Bans by either user are lifted with the survivor's.
        _ = try await connection.query(
            """
            update \(identifier: schema).single_use set owner = uuid_send(\(survivor))
            where kind = 'banned' and owner = uuid_send(\(merged))
            """
        )
        let kept: [UInt8] = if case .sessions(let sessions) = merge.proof { sessions.asking } else { [] }
        try await connection.endSessions(of: merge.survivor, sparing: kept, schema: schema)
        _ = try await connection.query(
            """
            update \(identifier: schema).sessions set object_id = \(survivor)
            where object_id = \(merged) and token_hash = \(kept)
            """
        )
        try await connection.endLinks(of: merge.survivor, schema: schema)
        // An undoing of an earlier merge restores them.
        _ = try await connection.query(
            "update \(identifier: schema).removed_identities set object_id = \(survivor) where object_id = \(merged)"
        )
        // The links that undo earlier merges into the merged user.
        _ = try await connection.query(
            """
            update \(identifier: schema).email_proofs set object_id = \(survivor)
            where object_id = \(merged) and purpose = 'mergeReversal'
            """
        )
    }

    /// Moves the merged user's uid and custom claims to the survivor, as far as the survivor has none.
    ///
    /// Operators still see the survivor's object id. So an app's data under the object id can be found when clients
    /// know the survivor by the uid.
    private func moveUID(
        of pair: UserPair,
        for record: inout MergeRecord,
        on connection: PostgresConnection
    ) async throws(PostgresError) {
        let (survivor, merged) = (pair.survivor, pair.merged)
        (record.uid, record.claims) = (merged.uid, merged.claims)
        record.takes = (
            merged.uid != nil && survivor.uid == nil, merged.claims != nil && survivor.claims == nil
        )
        _ = try await connection.query(
            "delete from \(identifier: schema).firebase_users where object_id = \(merged.user.objectID.uuid)"
        )
        guard record.takes.uid || record.takes.claims else { return }
        _ = try await connection.query(
            """
            insert into \(identifier: schema).firebase_users (object_id, uid, claims)
            values (\(survivor.user.objectID.uuid), \(survivor.uid ?? merged.uid), \(survivor.claims ?? merged.claims))
            on conflict (object_id) do update set uid = excluded.uid, claims = excluded.claims
            """
        )
    }

    /// Writes to the survivor what the plan takes from the merged user's row.
    ///
    /// The merged row is deleted already, so a unique value can move.
    ///
    /// - Returns: The survivor's row afterwards, as JSON text.
    private func update(
        by plan: MergePlan,
        from row: String,
        _ table: WholeRow,
        on connection: PostgresConnection
    ) async throws -> String {
        var assignments: Statement = ""
        for name in plan.taken {
            guard let column = table.column(name.text) else { continue }
            assignments.append("\(identifier: name.text) = v.\(identifier: column.column),")
        }
        let values = plan.columns.compactMap(table.column)
        let dynamic = JSONText(JSONValue.object(plan.dynamic).text)
        let updated = try await connection.query(
            """
            update \(identifier: schema).users u
            set \(assignments) email_verified = \(plan.emailVerified), user_status = \(plan.status.rawValue),
                dynamic = \(dynamic)::jsonb, social_account = coalesce(u.social_account, v.social_account),
                locale = coalesce(u.locale, v.locale), last_login = greatest(u.last_login, v.last_login),
                updated = now()
            from jsonb_to_record(\(JSONText(row))::jsonb) v (\(unsafeRaw: table.types(of: values)))
            where u.object_id = \(survivor)
            returning to_jsonb(u)::text
            """
        )
        guard let after = try updated.first(String.self) else { throw Failure.noSuchUser }
        guard JSONValue.object(plan.dynamic).storedBytes <= JSONObject.maxStoredDynamicBytes else {
            throw Failure.dynamicTooLarge(over: JSONObject.maxStoredDynamicBytes)
        }
        return after
    }

    private func store(_ record: MergeRecord, on connection: PostgresConnection) async throws(PostgresError) {
        let encrypted = cipher.encrypt(record.text, for: .merges, [merge.merged.description])
        _ = try await connection.query(
            """
            insert into \(identifier: schema).merged_users
                (object_id, survivor, undo_until, expires, record, record_key_id, identities)
            values (\(merged), \(survivor), now() + make_interval(secs => \(UserMerge.undoSeconds)),
                now() + \(application.settings.mergedUserDays) * interval '24 hours', \(encrypted.bytes),
                \(encrypted.keyID), array(
                    select federation.identity_hash(i ->> 0, i ->> 1, i ->> 2)
                    from jsonb_array_elements(\(JSONText(record.identityList))::jsonb) i
                ))
            """
        )
    }

    /// The audit log's entries: one about each user, so that a search for either finds the merge.
    func entries(about pair: UserPair) -> [AuditRecord] {
        var to: JSONObject = [
            "merged": .string(merge.merged.description),
            "taken": .array((pair.plan.taken.map(\.text) + pair.plan.takenDynamic).map(JSONValue.string)),
            "password": .string(pair.plan.password.rawValue),
        ]
        // After the time for undoing, only this entry has the merged user's uid if the survivor kept its own.
        if let uid = pair.merged.uid {
            to.append("uid", .string(uid))
            to.append("uidTaken", .bool(pair.survivor.uid == nil))
        }
        var into: JSONObject = ["survivor": .string(merge.survivor.description)]
        if case .operatorsReason(let reason) = merge.proof {
            to.append("reason", .string(reason))
            into.append("reason", .string(reason))
        }
        return [
            AuditRecord("user.merge", of: merge.survivor.description, in: application.id, to: .object(to)),
            AuditRecord("user.merge", of: merge.merged.description, in: application.id, to: .object(into)),
        ]
    }
}

extension MergePlan {
    /// The columns of the survivor that a merge may change, by their names in the view `users`.
    fileprivate var columns: [String] {
        taken.map(\.text).filter { $0 != "email" } + [
            "email", "email_verified", "user_status", "dynamic", "social_account", "locale", "last_login",
        ]
    }
}

extension PostgresConnection {
    /// Requires that neither the deletion of a user nor that of one of the users' identities is requested.
    ///
    /// - Throws: `conflict`.
    func requireNoDeletion(of users: [ObjectID], in application: Application) async throws {
        let ids = users.map(\.description)
        let requests = try await query(
            """
            select from federation.deletion_requests
            where application_id = \(application.id.text) and object_id = any (\(ids)::uuid[]) and done is null
            limit 1
            """
        )
        guard requests.count == 0 else { throw Failure.isBeingDeleted }
        let identities = try await query(
            """
            select provider, provider_app, subject from \(identifier: application.schema).identities
            where object_id = any (\(ids)::uuid[])
            """
        ).all(String.self, String.self, String.self)
        for (provider, app, subject) in identities {
            let erasures = try await query(
                """
                select from federation.deletion_requests
                where application_id = \(application.id.text) and provider = \(provider) and provider_app = \(app)
                    and subject = \(subject) and done is null
                limit 1
                """
            )
            guard erasures.count == 0 else { throw Failure.isBeingDeleted }
        }
    }

    /// Moves second factors from a user to another one, and encrypts their secrets for the new user.
    ///
    /// A user has one set of recovery codes. If both users have one, the moved set no longer counts.
    ///
    /// - Parameters:
    ///   - user: The present user of the factors.
    ///   - other: The new user.
    ///   - ids: The factors; nil for all.
    ///   - moment: The time of the merge that is being undone: a set of recovery codes that it removed counts again. Nil
    ///     for a merge.
    ///   - cipher: Encrypts the secrets.
    ///   - schema: The application's schema.
    /// - Returns: The ids of the moved factors.
    /// - Throws: `provider_misconfigured` if a secret cannot be decrypted; the database's error.
    func moveFactors(
        of user: ObjectID,
        to other: ObjectID,
        only ids: [ObjectID]? = nil,
        removedBy moment: Timestamp? = nil,
        with cipher: ColumnCipher,
        schema: String
    ) async throws -> [ObjectID] {
        let found = try await query(
            """
            select id, secret, secret_key_id from \(identifier: schema).factors
            where object_id = \(user.uuid) and (
                removed is null
                or kind = 'recoveryCode' and removed <= \(bind: Bind(moment))::timestamptz + interval '1 minute'
            )
            order by id for update
            """
        ).all { row throws(PostgresError) in (try row.next(ObjectID.self), try row.next(EncryptedSecret?.self)) }
        let moved = found.filter { id, _ in ids?.contains(id) ?? true }
        for (id, secret) in moved {
            var anew: EncryptedSecret?
            if let secret {
                let opened = try cipher.open(secret, of: .factors, [user.description, id.description])
                anew = cipher.encrypt(opened, for: .factors, [other.description, id.description])
            }
            _ = try await query(
                """
                update \(identifier: schema).factors f
                set object_id = \(other.uuid), secret = \(anew?.bytes), secret_key_id = \(anew?.keyID),
                    removed = case when f.kind = 'recoveryCode' and exists (
                        select from \(identifier: schema).factors o
                        where o.object_id = \(other.uuid) and o.kind = f.kind and o.removed is null
                    ) then clock_timestamp() end
                where id = \(id.uuid)
                """
            )
        }
        return moved.map(\.0)
    }

    /// Returns the users who were merged into any of the given users.
    func mergedUsers(into survivors: [ObjectID], schema: String) async throws(PostgresError) -> [ObjectID] {
        try await query(
            """
            select object_id from \(identifier: schema).merged_users
            where survivor = any (\(survivors.map(\.description))::uuid[])
            """
        ).all(ObjectID.self)
    }

    /// Returns a user's row as JSON text, with the names of the view `users`.
    func row(of user: ObjectID, schema: String) async throws(PostgresError) -> String? {
        try await query(
            "select to_jsonb(u)::text from \(identifier: schema).users u where object_id = \(user.uuid)"
        ).first(String.self)
    }
}

extension Failure {
    fileprivate static let isBeingDeleted = Failure(
        .conflict,
        "The deletion of an account, or of one of its login methods, has been requested. Nothing can be joined to it."
    )

    fileprivate static let canBeTakenBack = Failure(
        .conflict,
        """
        The address of one of the two accounts changed within the last seven days, and the former address can still \
        restore it. Merge the accounts when that time is over.
        """
    )

    fileprivate static func mergedUserIsReferred(by table: String) -> Failure {
        Failure(
            .conflict,
            """
            Rows of the table \(table) refer to the user who would be merged. Let them refer to the surviving user, \
            and merge again.
            """,
            details: ["table": .string(table)]
        )
    }
}
