import FoundationEssentials
package import Identity
import Postgres

extension Store {
    /// Sets the password of the user whose link it is, in one statement, and leaves nobody else a way in.
    ///
    /// All sessions end, and all links. Whoever reads the mail of the address owns the account: where nobody had shown that before,
    /// identities that were linked meanwhile are removed (security.md V-32, V-33). The user is locked first, as a login does: a login that
    /// is under way is over before and its session ends, or it finds another hash.
    ///
    /// - Parameters:
    ///   - tokenHash: SHA-256 of the link's token.
    ///   - password: The new one, of the user whom the link names.
    ///   - attemptKey: For what wrong passwords of the login were counted; that is forgotten.
    ///   - application: Whose user it is.
    /// - Returns: Whether the link counted.
    /// - Throws: `login_taken_by_other`, `store_unavailable` and its like; nothing is written then.
    package func resetPassword(
        byLink tokenHash: [UInt8],
        to password: StoredPassword,
        forgetting attemptKey: [UInt8],
        in application: Application
    ) async throws(Failure) -> Bool {
        let schema = quoted(application.schema)
        let statement: Statement = """
            with \(Self.taking(tokenHash, .passwordReset, of: application)), written as (
                insert into \(unsafeRaw: schema).passwords (object_id, login, hash, hash_key_id)
                select object_id, \(password.login), \(password.hash.bytes), \(password.hash.keyID) from used
                where object_id = \(password.objectID.uuid)
                on conflict (object_id) do update set
                    login = excluded.login, hash = excluded.hash, hash_key_id = excluded.hash_key_id, changed = now()
            ), links as (
                delete from \(unsafeRaw: schema).email_proofs e using used
                where e.object_id = used.object_id and e.token_hash <> \(tokenHash)
            ), intruders as (
                delete from \(unsafeRaw: schema).identities i using used
                where i.object_id = used.object_id and not used.email_verified
            ), attempts as (
                delete from \(unsafeRaw: schema).attempts a using used where a.key = \(attemptKey)
            )
            select federation.end_sessions(\(application.schema), object_id) is null from used
            """
        do {
            return try await postgres.query(statement).first != nil
        } catch {
            if error.sqlState == "23505" { throw Self.loginTakenByOther }
            throw await failure(of: error, in: application)
        }
    }

    /// Notes that the user whose link it is has shown to own the address, and lets a user in who waited for that.
    ///
    /// - Returns: Whether the link counted.
    package func confirmEmail(byLink tokenHash: [UInt8], in application: Application) async throws(Failure) -> Bool {
        let result = try await query(
            """
            with \(Self.taking(tokenHash, .confirmation, of: application)), links as (
                delete from \(identifier: application.schema).email_proofs e using used
                where e.object_id = used.object_id and e.purpose = 'confirmation' and e.token_hash <> \(tokenHash)
            )
            select from used
            """,
            of: application
        )
        return result.count == 1
    }
}
