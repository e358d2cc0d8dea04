package import Identity
import Postgres

/// The codes with which logins through the server end: kept until the client brings one, or until its time is over.
extension Store {
    /// Keeps a login code.
    ///
    /// - Parameters:
    ///   - hash: SHA-256 of its text, which must be random.
    ///   - payload: Whom Facebook vouched for, sealed.
    ///   - seconds: How long it can be used.
    ///   - application: Whose it is.
    /// - Throws: `store_unavailable` and its like.
    package func keepLoginCode(
        hash: [UInt8],
        payload: SealedSecret,
        seconds: Int64,
        of application: Application
    ) async throws(Failure) {
        _ = try await query(
            """
            insert into \(identifier: application.schema).single_use (kind, hash, payload, payload_key_id, expires)
            values ('loginCode', \(hash), \(payload.bytes), \(payload.keyID), now() + make_interval(secs => \(seconds)))
            """,
            of: application
        )
    }

    /// Uses a login code up: of any number of simultaneous calls one gets it.
    ///
    /// - Returns: Its payload; nil when it was never there, has been used, or its time is over.
    package func takeLoginCode(hash: [UInt8], of application: Application) async throws(Failure) -> SealedSecret? {
        let result = try await query(
            """
            delete from \(identifier: application.schema).single_use
            where kind = 'loginCode' and hash = \(hash) and expires > now()
            returning payload, payload_key_id
            """,
            of: application
        )
        return try read { () throws(PostgresError) in
            guard let row = result.first else { return nil }
            return SealedSecret(bytes: try row.decode(0, as: [UInt8].self), keyID: try row.decode(1, as: String.self))
        }
    }
}
