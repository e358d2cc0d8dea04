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
    /// The merged user exists again, with its row, password and roles from before the merge. Identities, second factors
    /// and invitations that the user had go back as far as the survivor still has them; what was removed since stays
    /// removed. Properties of the survivor are as before the merge unless they have changed since. All sessions of the
    /// survivor end, and the links that undo this merge are used up.
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
        _ = try await connection.query(
            "select from \(identifier: schema).users where object_id = \(survivor.uuid) for update"
        )
        let found = try await connection.query(
            """
            select survivor, record, record_key_id, undo_until > now() from \(identifier: schema).merged_users
            where object_id = \(merged.uuid) for update
            """
        )
        guard
            let (owner, encrypted, isInTime) = try found.first(by: { row throws(PostgresError) in
                (try row.next(ObjectID.self), try row.next(EncryptedSecret?.self), try row.next(Bool.self))
            })
        else { throw Failure.notMerged }
        guard owner == survivor else { throw Failure.changedMeanwhile }
        guard let encrypted, isInTime,
            let record = MergeRecord(try cipher.open(encrypted, of: .merges, [merged.description]))
        else { throw Failure.mergeIsFinal }
        (self.survivor, self.record, self.cipher, self.application) = (survivor, record, cipher, application)
    }

    func carryOut(on connection: PostgresConnection) async throws -> UndoneMerge {
        let table = try await WholeRow(of: application, on: connection)
        // The survivor gives unique values back before the other row takes them.
        try await restoreSurvivor(table, on: connection)
        try await takePassword(on: connection)
        try await table.insert(record.row, on: connection)
        let hasPassword = try await restorePassword(on: connection)
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
            with: cipher,
            schema: schema
        )
        _ = try await connection.query(
            """
            insert into \(identifier: schema).user_roles (object_id, role)
            select \(merged.uuid)::uuid, role from unnest(\(record.roles)) role on conflict do nothing
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
    private func restoreSurvivor(_ table: WholeRow, on connection: PostgresConnection) async throws(PostgresError) {
        let columns = record.changed.compactMap { name in table.columns.first { $0.name.hasSameBytes(as: name) } }
        guard !columns.isEmpty else { return }
        var assignments: Statement = ""
        for column in columns {
            let name = column.name
            assignments.append(
                """
                \(identifier: name) = case when u.\(identifier: name) is not distinct from a.\(identifier: name)
                    then b.\(identifier: name) else u.\(identifier: name) end,
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
    private func takePassword(on connection: PostgresConnection) async throws(PostgresError) {
        guard let password = record.password else { return }
        _ = try await connection.query(
            """
            delete from \(identifier: schema).passwords
            where object_id = \(survivor.uuid) and login = \(password.login)
            """
        )
    }

    /// Restores the merged user's password.
    ///
    /// - Returns: Whether it was restored; nil if there was none.
    private func restorePassword(on connection: PostgresConnection) async throws -> Bool? {
        guard let password = record.password else { return nil }
        let hash = cipher.encrypt(password.hash, for: .passwordHashes, [merged.description])
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
