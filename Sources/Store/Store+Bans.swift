package import Domain
import Encodings
import FoundationEssentials
import Postgres

/// A function that returns the keyed hash of an identity.
///
/// A ban contains this hash instead of the identity, which a ban must not reveal.
///
/// The database stores the key in encrypted form only.
package typealias IdentityHasher = @Sendable (IdentityKey) -> [UInt8]

/// The ban of an identity that was removed from a disabled user, or erased with that user.
///
/// A banned identity creates no user and is linked to none.
package struct StoredBan: Sendable {
    package let hash: [UInt8]
    /// The erased user, or the user who lost the identity.
    package let user: ObjectID
    /// The time of the ban, in milliseconds since 1970 UTC.
    package let created: Int64
    package let expires: Int64
}

extension StoredBan {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        self.init(
            hash: try row.next(),
            user: try row.next(),
            created: try row.next(Timestamp.self).milliseconds,
            expires: try row.next(Timestamp.self).milliseconds
        )
    }
}

extension Store {
    /// Returns the unexpired bans of an application, in the order of their hashes.
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
        return try result.all(by: StoredBan.init)
    }

    /// Lifts the bans of an erased user's identities.
    ///
    /// - Returns: The number of lifted bans.
    package func liftBans(
        of user: ObjectID,
        in application: Application,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Int {
        let tables = tables(of: application)
        return try await transaction(in: tables) { connection in
            let lifted = try await connection.liftBans(of: user, schema: application.schema)
            guard lifted > 0 else { return 0 }
            let entry = AuditRecord(
                "user.ban.lift",
                of: user.description,
                in: application.id,
                from: .object(["identities": .integer(Int64(lifted))])
            )
            try await tables.record([entry], by: actor, with: connection)
            return lifted
        }
    }
}

extension PostgresConnection {
    /// Bans identities that are about to be removed from a disabled user, so that they cannot create a new user.
    ///
    /// The caller must have locked the user's row. The identities of a user who is not disabled are not banned.
    ///
    /// - Returns: Whether any identity was banned. False if the user is not disabled, or if the application's setting
    ///   `banDays` is 0.
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

    /// Deletes the bans of a user's identities.
    ///
    /// - Returns: The number of deleted bans.
    func liftBans(of user: ObjectID, schema: String) async throws(PostgresError) -> Int {
        let lifted = try await query(
            """
            delete from \(identifier: schema).single_use
            where kind = 'banned' and owner = uuid_send(\(user.uuid)) and expires > now()
            """
        )
        return lifted.affectedRows ?? 0
    }

    /// Returns whether the identity with the given hash is banned.
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

/// Stores the key with which banned identities are hashed.
///
/// The installation has one key, which never changes.
extension Store {
    /// Returns the encrypted key for the hashes of banned identities; nil before its first use.
    package func banKey() async throws(Failure) -> EncryptedSecret? {
        try await query("select secret, secret_key_id from federation.ban_key").first(EncryptedSecret.self)
    }

    /// Stores the encrypted key for the hashes of banned identities, unless there is one.
    ///
    /// Of instances that create a key at the same time, one succeeds.
    package func addBanKey(_ secret: EncryptedSecret) async throws(Failure) {
        _ = try await query(
            """
            insert into federation.ban_key (secret, secret_key_id) values (\(secret.bytes), \(secret.keyID))
            on conflict do nothing
            """
        )
    }
}
