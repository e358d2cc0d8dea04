import FoundationEssentials
import Postgres
package import Vocabulary

/// By what an identity is known that nothing may name any more: a keyed hash of it, whose key the database does not
/// have.
package typealias IdentityHasher = @Sendable (IdentityKey) -> [UInt8]

/// An identity that logs nobody in although nothing names it any more: it was a disabled user's when it was erased.
package struct StoredBan: Sendable {
    package let hash: [UInt8]
    /// The user who is gone, or has lost the identity.
    package let user: ObjectID
    /// Milliseconds since 1970 UTC, as all times.
    package let created: Int64
    package let expires: Int64
}

extension Store {
    /// The bans of an application that have not come to their end, in the order of their hashes.
    package func bans(
        of application: Application,
        after hash: [UInt8]?,
        limit: Int
    ) async throws(Failure) -> [StoredBan] {
        let result = try await query(
            """
            select hash, encode(owner, 'hex')::uuid, created, expires from \(identifier: application.schema).single_use
            where kind = 'banned' and expires > now() and hash > \(hash ?? [])
            order by hash limit \(limit)
            """,
            of: application
        )
        return try read { () throws(PostgresError) in
            var bans: [StoredBan] = []
            for row in result.rows {
                bans.append(
                    StoredBan(
                        hash: try row.decode(0, as: [UInt8].self),
                        user: ObjectID(try row.decode(1, as: UUID.self)),
                        created: try row.decode(2, as: Timestamp.self).milliseconds,
                        expires: try row.decode(3, as: Timestamp.self).milliseconds
                    )
                )
            }
            return bans
        }
    }

    /// Lets the identities of a user who is gone log in again.
    ///
    /// - Returns: How many there were.
    package func liftBans(
        of user: ObjectID,
        in application: Application,
        by actor: Actor
    ) async throws(Failure) -> Int {
        let tables = tables(of: application)
        return try await transaction(in: tables) { connection in
            let lifted = try await connection.liftBans(of: user, schema: application.schema)
            guard lifted > 0 else { return 0 }
            let entry = AuditRecord(
                application: application.id,
                action: "user.ban.lift",
                target: user.description,
                from: .object(["identities": .integer(Int64(lifted))]),
                to: nil
            )
            try await tables.record([entry], by: actor, with: connection)
            return lifted
        }
    }
}

extension PostgresConnection {
    /// Keeps identities of a user that are about to go from coming back as somebody new, if the user is disabled.
    ///
    /// Whoever calls has locked the user.
    ///
    /// - Returns: Whether they are banned.
    func ban(
        _ identities: [IdentityKey],
        of user: ObjectID,
        in application: Application,
        by hash: IdentityHasher
    ) async throws(PostgresError) -> Bool {
        var isBanned = false
        for identity in identities where application.settings.banDays > 0 {
            let banned = try await query(
                """
                insert into \(identifier: application.schema).single_use as s (kind, hash, owner, expires)
                select 'banned', \(hash(identity)), uuid_send(u.object_id),
                    now() + \(application.settings.banDays) * interval '24 hours'
                from \(identifier: application.schema).users u
                where u.object_id = \(user.uuid) and u.user_status = 'DISABLED'
                on conflict (kind, hash) do update
                set owner = excluded.owner, created = excluded.created, expires = excluded.expires
                """
            )
            isBanned = isBanned || banned.affectedRows == 1
        }
        return isBanned
    }

    /// Ends the bans that a user has left behind.
    ///
    /// - Returns: How many there were.
    func liftBans(of user: ObjectID, schema: String) async throws(PostgresError) -> Int {
        let lifted = try await query(
            """
            delete from \(identifier: schema).single_use
            where kind = 'banned' and owner = uuid_send(\(user.uuid)) and expires > now()
            """
        )
        return lifted.affectedRows ?? 0
    }

    /// Whether an identity is banned, by its hash.
    func isBanned(_ hash: [UInt8], schema: String) async throws(PostgresError) -> Bool {
        let found = try await query(
            """
            select from \(identifier: schema).single_use
            where kind = 'banned' and hash = \(hash) and expires > now()
            """
        )
        return found.count == 1
    }
}
