import FoundationEssentials
package import Identity
import Postgres

extension Store {
    /// Sets the password of the user whose link it is, in one transaction, and leaves nobody else a way in.
    ///
    /// All sessions end, and all links. Whoever reads the mail of the address owns the account, and who chose the former password may have
    /// been somebody else: identities go, too, unless the reader says that they are their own (security.md V-32, V-33). The first
    /// statement locks the user, as a login and a linking do; those behind it see what these have left.
    ///
    /// - Parameters:
    ///   - tokenHash: SHA-256 of the link's token.
    ///   - password: The new one, of the user whom the link names.
    ///   - keepsIdentities: Whether the reader has said that the identities are their own.
    ///   - attemptKey: For what wrong passwords of the login were counted; that is forgotten.
    ///   - application: Whose user it is.
    /// - Returns: What was kept with the identities that went: good for giving up our permissions, once. Nil when the link did not count.
    /// - Throws: `login_taken_by_other`, `store_unavailable` and its like; nothing is written then.
    package func resetPassword(
        byLink tokenHash: [UInt8],
        to password: StoredPassword,
        keepingIdentities keepsIdentities: Bool,
        forgetting attemptKey: [UInt8],
        in application: Application
    ) async throws(Failure) -> [KeptIdentity]? {
        let (schema, user) = (application.schema, password.objectID)
        return try await transaction(of: application) { connection -> [KeptIdentity]? in
            let used = try await connection.query(
                """
                with \(Self.taking(tokenHash, .passwordReset, of: application))
                select from used where object_id = \(user.uuid)
                """
            )
            guard used.count == 1 else { return nil }
            _ = try await connection.query(password.replacement(in: application))
            for table in ["email_proofs", "sessions"] {
                _ = try await connection.query(
                    "delete from \(identifier: schema).\(identifier: table) where object_id = \(user.uuid)"
                )
            }
            _ = try await connection.query("delete from \(identifier: schema).attempts where key = \(attemptKey)")
            guard !keepsIdentities else { return [] }
            let kept = try await connection.keptIdentities(of: user, schema: schema)
            _ = try await connection.query(
                "delete from \(identifier: schema).identities where object_id = \(user.uuid)"
            )
            return kept
        }
    }

    /// Notes that the user whose link it is has shown to own the address, and lets a user in who waited for that.
    ///
    /// - Returns: The user; nil when the link did not count.
    package func confirmEmail(
        byLink tokenHash: [UInt8],
        in application: Application
    ) async throws(Failure) -> ObjectID? {
        let result = try await query(
            """
            with \(Self.taking(tokenHash, .confirmation, of: application)), links as (
                delete from \(identifier: application.schema).email_proofs e using used
                where e.object_id = used.object_id and e.purpose = 'confirmation' and e.token_hash <> \(tokenHash)
            )
            select object_id from used
            """,
            of: application
        )
        return try read { () throws(PostgresError) in
            try result.first.map { row throws(PostgresError) in ObjectID(try row.decode(0, as: UUID.self)) }
        }
    }
}
