package import Domain
import Encodings
import FoundationEssentials
import Postgres

/// Who undoes a merge: the holder of a mailed link, or an operator.
package enum MergeReversalProof: Sendable {
    /// The SHA-256 of the link's token.
    case link(tokenHash: [UInt8])
    /// The merged user, and the operator's reason for the audit log.
    case operatorOf(merged: ObjectID, reason: String?)
}

/// Two users whose merge was undone.
package struct UndoneMerge: Sendable {
    package let survivor: ObjectID
    package let merged: ObjectID
    /// Whether the merged user has its password again; nil if it had none.
    ///
    /// False if another user has the login name by now.
    package let hasPassword: Bool?
}

extension Store {
    /// Undoes a merge of two users, in one transaction.
    ///
    /// The merged user exists again, with its row from before the merge, its uid and custom claims, and its password,
    /// which may have been changed since. The user's identities go back, even unlinked ones. Second factors, roles and
    /// invitations go back as far as the survivor still has them. Properties of the survivor are as before the merge
    /// unless they have changed since. All sessions of the survivor end, and the links that undo this merge are used
    /// up.
    ///
    /// The link of a disabled user is invalid. If an operator undoes the merge, both users are disabled then.
    ///
    /// - Parameters:
    ///   - proof: The link, or the operator's choice.
    ///   - cipher: Encrypts values that are bound to their user for the other user.
    ///   - application: The application of the users.
    ///   - actor: The author, for the audit log.
    /// - Returns: The users; nil for an invalid link.
    /// - Throws: `not_found` if no such user was merged, `conflict` if the merge cannot be undone any more;
    ///   `constraint_violation` if a unique value of the merged user is taken by now. Nothing has changed then.
    package func undoMerge(
        by proof: MergeReversalProof,
        with cipher: ColumnCipher,
        in application: Application,
        by actor: @escaping @Sendable (_ merged: ObjectID) -> ChangeAuthor
    ) async throws(Failure) -> UndoneMerge? {
        let tables = tables(of: application)
        return try await current(
            application,
            explain: { await userWriteFailure(of: $0, in: application) },
            {
                try await tables.withTransaction { connection -> UndoneMerge? in
                    guard
                        let work = try await MergeReversalWork(
                            proof: proof,
                            cipher: cipher,
                            application: application,
                            connection
                        )
                    else { return nil }
                    let undone = try await work.carryOut(on: connection)
                    try await tables.record(work.entries, by: actor(work.merged), with: connection)
                    return undone
                }
            }
        ).get()
    }
}

/// Undoes one merge.
private struct MergeReversalWork: Sendable {
    let merged: ObjectID
    let survivor: ObjectID
    private let record: MergeRecord
    private let reason: String?
    private let cipher: ColumnCipher
    private let application: Application
    /// Whether the survivor was disabled after the merge.
    private let isBanned: Bool
    private let mergedAt: Timestamp

    private var schema: String { application.schema }

    /// Locks the survivor and reads the record of the merge; nil for an invalid link.
    init?(
        proof: MergeReversalProof,
        cipher: ColumnCipher,
        application: Application,
        _ connection: PostgresConnection
    ) async throws {
        let schema = application.schema
        switch proof {
        case .operatorOf(let user, let reason): (merged, self.reason) = (user, reason)
        case .link(let hash):
            let link = try await connection.query(
                """
                select e.other_user from \(identifier: schema).email_proofs e
                where \(Store.counts(hash, .mergeReversal))
                """
            )
            guard let user = try link.first(ObjectID.self) else { return nil }
            (merged, reason) = (user, nil)
        }
        // A user is locked before dependent rows. Meanwhile another merge may move the record to another survivor.
        let statement: Statement = """
            select survivor from \(identifier: schema).merged_users where object_id = \(merged.uuid)
            """
        guard let survivor = try await connection.query(statement).first(ObjectID.self) else { throw Failure.notMerged }
        let locked = try await connection.query(
            "select user_status from \(identifier: schema).users where object_id = \(survivor.uuid) for update"
        )
        isBanned = try locked.first(String.self) == UserStatus.disabled.rawValue
        // A ban ends what the user may undo.
        if case .link = proof, isBanned { return nil }
        let found = try await connection.query(
            """
            select survivor, record, record_key_id, undo_until > now(), merged from \(identifier: schema).merged_users
            where object_id = \(merged.uuid) for update
            """
        )
        guard
            let (owner, encrypted, isInTime, moment) = try found.first(by: { row throws(PostgresError) in
                (
                    try row.next(ObjectID.self), try row.next(EncryptedSecret?.self), try row.next(Bool.self),
                    try row.next(Timestamp.self)
                )
            })
        else { throw Failure.notMerged }
        guard owner == survivor else { throw Failure.changedMeanwhile }
        guard let encrypted, isInTime,
            let record = MergeRecord(try cipher.open(encrypted, of: .merges, [merged.description]))
        else { throw Failure.mergeIsFinal }
        mergedAt = moment
        (self.survivor, self.record, self.cipher, self.application) = (survivor, record, cipher, application)
    }

    func carryOut(on connection: PostgresConnection) async throws -> UndoneMerge {
        let table = try await WholeRow(of: application, on: connection)
        // The survivor gives unique values back before the other row takes them.
        try await restoreSurvivor(table, on: connection)
        let current = try await takePassword(on: connection)
        try await table.insert(record.row, on: connection)
        if isBanned {
            _ = try await connection.query(
                "update \(identifier: schema).users set user_status = 'DISABLED' where object_id = \(merged.uuid)"
            )
        }
        let hasPassword = try await restorePassword(current, on: connection)
        try await restoreUID(on: connection)
        try await restoreRemovedIdentities(on: connection)
        for identity in record.identities {
            _ = try await connection.query(
                """
                update \(identifier: schema).identities set object_id = \(merged.uuid)
                where object_id = \(survivor.uuid) and provider = \(identity[0]) and provider_app = \(identity[1])
                    and subject = \(identity[2])
                """
            )
        }
        _ = try await connection.moveFactors(
            of: survivor,
            to: merged,
            only: record.factors,
            removedBy: mergedAt,
            with: cipher,
            schema: schema
        )
        _ = try await connection.query(
            """
            insert into \(identifier: schema).user_roles (object_id, role)
            select \(merged.uuid)::uuid, role from \(identifier: schema).user_roles
            where object_id = \(survivor.uuid) and role = any (\(record.roles))
            on conflict do nothing
            """
        )
        _ = try await connection.query(
            """
            delete from \(identifier: schema).user_roles
            where object_id = \(survivor.uuid) and role = any (\(record.addedRoles))
            """
        )
        for (name, key, ids) in [
            ("invitations", "object_id", record.invitations), ("merged_users", "survivor", record.merged),
        ] {
            let column = name == "invitations" ? "id" : "object_id"
            _ = try await connection.query(
                """
                update \(identifier: schema).\(unsafeRaw: name) set \(unsafeRaw: key) = \(merged.uuid)
                where \(unsafeRaw: key) = \(survivor.uuid)
                    and \(unsafeRaw: column) = any (\(ids.map(\.description))::uuid[])
                """
            )
        }
        _ = try await connection.query(
            """
            update \(identifier: schema).email_proofs set object_id = \(merged.uuid)
            where object_id = \(survivor.uuid) and purpose = 'mergeReversal'
                and other_user = any (\(record.merged.map(\.description))::uuid[])
            """
        )
        if let links = record.links {
            _ = try await connection.query(
                """
                insert into \(identifier: schema).email_proofs
                    (token_hash, object_id, purpose, email, login, created, expires)
                select token_hash, object_id, purpose, email, login, created, expires
                from jsonb_to_recordset(\(JSONText(links))::jsonb) l (token_hash bytea, object_id uuid, purpose text,
                    email text, login text, created timestamptz, expires timestamptz)
                """
            )
        }
        try await connection.endSessions(of: survivor, schema: schema)
        _ = try await connection.query(
            """
            delete from \(identifier: schema).email_proofs
            where object_id = \(survivor.uuid)
                and (purpose not in ('reversal', 'mergeReversal') or other_user = \(merged.uuid))
            """
        )
        _ = try await connection.query(
            "delete from \(identifier: schema).merged_users where object_id = \(merged.uuid)"
        )
        return UndoneMerge(survivor: survivor, merged: merged, hasPassword: hasPassword)
    }

    /// Restores the survivor's columns that the merge changed, as far as they still have the values that it wrote.
    ///
    /// The address and its confirmation are restored together, or neither.
    private func restoreSurvivor(_ table: WholeRow, on connection: PostgresConnection) async throws(PostgresError) {
        let columns = record.changed.compactMap { name in table.column(name).map { (name: name, type: $0.type) } }
        guard !columns.isEmpty else { return }
        func isUnchanged(_ name: String) -> Statement {
            "u.\(identifier: name) is not distinct from a.\(identifier: name)"
        }
        var assignments: Statement = ""
        for (name, _) in columns {
            let isAddress = name == "email" || name == "email_verified"
            let condition: Statement =
                isAddress ? "\(isUnchanged("email")) and \(isUnchanged("email_verified"))" : isUnchanged(name)
            assignments.append(
                """
                \(identifier: name) = case when \(condition) then b.\(identifier: name) else u.\(identifier: name) end,
                """
            )
        }
        let types = columns.map { "\(quoted($0.name)) \($0.type)" }.joined(separator: ", ")
        _ = try await connection.query(
            """
            update \(identifier: schema).users u set \(assignments) updated = now()
            from jsonb_to_record(\(JSONText(record.before))::jsonb) b (\(unsafeRaw: types)),
                jsonb_to_record(\(JSONText(record.after))::jsonb) a (\(unsafeRaw: types))
            where u.object_id = \(survivor.uuid)
            """
        )
    }

    /// Takes the merged user's login name away from the survivor, if the survivor has it.
    ///
    /// - Returns: The hash that the survivor has now, which may be newer than the merge; nil if it has another login.
    private func takePassword(on connection: PostgresConnection) async throws -> Secret? {
        guard let password = record.password else { return nil }
        let taken = try await connection.query(
            """
            delete from \(identifier: schema).passwords
            where object_id = \(survivor.uuid) and login = \(password.login) returning hash, hash_key_id
            """
        )
        guard let hash = try taken.first(EncryptedSecret.self) else { return nil }
        return try cipher.open(hash, of: .passwordHashes, [survivor.description])
    }

    /// Restores the merged user's password, as it was changed since.
    ///
    /// - Returns: Whether it was restored; nil if there was none.
    private func restorePassword(_ current: Secret?, on connection: PostgresConnection) async throws -> Bool? {
        guard let password = record.password else { return nil }
        let hash = cipher.encrypt(current ?? password.hash, for: .passwordHashes, [merged.description])
        let changed = Timestamp(milliseconds: password.changed)
        let restored = try await connection.query(
            """
            insert into \(identifier: schema).passwords (object_id, login, hash, hash_key_id, changed)
            values (\(merged.uuid), \(password.login), \(hash.bytes), \(hash.keyID), \(bind: .timestamp(changed)))
            on conflict (login) do nothing
            """
        )
        return restored.affectedRows == 1
    }

    /// Gives the merged user's uid and custom claims back.
    ///
    /// The survivor loses the values that the merge gave it, unless they have changed since.
    private func restoreUID(on connection: PostgresConnection) async throws(PostgresError) {
        guard record.uid != nil || record.claims != nil else { return }
        _ = try await connection.query(
            """
            update \(identifier: schema).firebase_users
            set uid = case when not \(record.takes.uid) or uid is distinct from \(record.uid) then uid end,
                claims = case
                    when not \(record.takes.claims) or claims is distinct from \(record.claims) then claims
                end
            where object_id = \(survivor.uuid)
            """
        )
        _ = try await connection.query(
            """
            insert into \(identifier: schema).firebase_users (object_id, uid, claims)
            select \(merged.uuid)::uuid, case when not exists (
                select from \(identifier: schema).firebase_users where uid = \(record.uid)
            ) then \(record.uid) end, \(record.claims)
            """
        )
    }

    /// Restores identities that were unlinked from the survivor since the merge, unless another user has them.
    private func restoreRemovedIdentities(on connection: PostgresConnection) async throws(PostgresError) {
        for identity in record.identities {
            _ = try await connection.query(
                """
                with removed as (
                    delete from \(identifier: schema).removed_identities
                    where object_id = \(survivor.uuid) and provider = \(identity[0]) and provider_app = \(identity[1])
                        and subject = \(identity[2])
                    returning provider, provider_app, subject, created
                )
                insert into \(identifier: schema).identities (provider, provider_app, subject, object_id, created)
                select provider, provider_app, subject, \(merged.uuid)::uuid, created from removed
                on conflict do nothing
                """
            )
        }
    }

    /// The audit log's entries: one about each user.
    var entries: [AuditRecord] {
        let more: JSONObject = reason.map { ["reason": .string($0)] } ?? [:]
        return [(survivor, "merged", merged), (merged, "survivor", survivor)].map { user, name, other in
            let from = JSONObject([.init(name, .string(other.description))] + more.members)
            return AuditRecord("user.unmerge", of: user.description, in: application.id, from: .object(from))
        }
    }
}

extension Failure {
    fileprivate static let notMerged = Failure(.notFound, "No user with this id was merged into another one.")

    fileprivate static let mergeIsFinal = Failure(
        .conflict,
        "This merge cannot be undone any more: a merge can be undone for seven days."
    )
}
