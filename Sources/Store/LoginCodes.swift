import Postgres
package import Vocabulary

/// The codes with which logins through the server end: kept until the client brings one, or until its time is over.
extension Store {
    /// Keeps a login code.
    ///
    /// - Parameters:
    ///   - hash: SHA-256 of its text, which must be random.
    ///   - payload: Whom the provider vouched for, sealed.
    ///   - identity: The same person: when our access to them ends, so does the code.
    ///   - seconds: How long it can be used.
    ///   - application: Whose it is.
    /// - Throws: `store_unavailable` and its like.
    package func keepLoginCode(
        hash: [UInt8],
        payload: SealedSecret,
        identity: IdentityKey,
        seconds: Int64,
        of application: Application
    ) async throws(Failure) {
        _ = try await query(
            """
            insert into \(identifier: application.schema).single_use (kind, hash, owner, payload, payload_key_id, expires)
            values ('loginCode', \(hash),
                federation.identity_hash(\(identity.provider.text), \(identity.app.text), \(identity.subject.text)),
                \(payload.bytes), \(payload.keyID), now() + make_interval(secs => \(seconds)))
            """,
            of: application
        )
    }

    /// Uses a login code up: of any number of simultaneous calls one gets it.
    ///
    /// The moment of an end may have been told in whole seconds.
    ///
    /// - Returns: Its payload; nil when it was never there, has been used, its time is over, or our access has ended
    ///   since.
    package func takeLoginCode(hash: [UInt8], of application: Application) async throws(Failure) -> SealedSecret? {
        let result = try await query(
            """
            delete from \(identifier: application.schema).single_use c
            where c.kind = 'loginCode' and c.hash = \(hash) and c.expires > now() and (
                select true from \(identifier: application.schema).single_use e
                where e.kind = 'ended' and e.hash = c.owner and e.created > c.created - interval '1 second'
            ) is null
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
