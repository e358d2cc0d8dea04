package import Identity
import Postgres

/// What can be used once and is kept until it is, or until its time is over.
package enum SingleUseKind: String, Sendable {
    /// The `state` of a login dialog; its payload is what was asked.
    case state
    /// The code with which a login through the server ends; its payload is whom Facebook vouched for.
    case loginCode

    /// How many of one application can be waiting to be used; nil for what Facebook has vouched for.
    ///
    /// Of what anybody may ask for, nobody can fill the table.
    fileprivate var most: Int64? {
        switch self {
        case .state: 20_000
        case .loginCode: nil
        }
    }
}

extension Store {
    /// Keeps something that can be used once.
    ///
    /// - Parameters:
    ///   - kind: What it is.
    ///   - hash: SHA-256 of its text, which must be random.
    ///   - payload: What it stands for, sealed.
    ///   - seconds: How long it can be used.
    ///   - application: Whose it is.
    /// - Throws: `rate_limited` while too many of the kind wait to be used, `store_unavailable` and its like.
    package func keepSingleUse(
        _ kind: SingleUseKind,
        hash: [UInt8],
        payload: SealedSecret?,
        seconds: Int64,
        of application: Application
    ) async throws(Failure) {
        let bytes = payload.map { Bind.bytes($0.bytes) } ?? .null(.bytes)
        let keyID = payload.map { Bind.text($0.keyID) } ?? .null(.text)
        let most = kind.most.map(Bind.int64) ?? .null(.int64)
        let result = try await query(
            """
            insert into \(identifier: application.schema).single_use (kind, hash, payload, payload_key_id, expires)
            select \(kind.rawValue), \(hash), \(bind: bytes), \(bind: keyID), now() + make_interval(secs => \(seconds))
            where \(bind: most) is null or \(bind: most) > (
                select count(*) from \(identifier: application.schema).single_use
                where kind = \(kind.rawValue) and expires > now()
            )
            returning true
            """,
            of: application
        )
        guard result.first == nil else { return }
        throw Failure(
            .rateLimited,
            "Too many logins of this application have been begun and not ended. Try again in a minute.",
            retryAfter: 60
        )
    }

    /// Uses something up: of any number of simultaneous calls one gets it.
    ///
    /// - Returns: Its payload; nil when it was never there, has been used, or its time is over.
    package func takeSingleUse(
        _ kind: SingleUseKind,
        hash: [UInt8],
        of application: Application
    ) async throws(Failure) -> SealedSecret? {
        let result = try await query(
            """
            delete from \(identifier: application.schema).single_use
            where kind = \(kind.rawValue) and hash = \(hash) and expires > now()
            returning payload, payload_key_id
            """,
            of: application
        )
        return try read { () throws(PostgresError) in
            guard let row = result.first, let bytes = try row.decode(0, as: [UInt8]?.self),
                let keyID = try row.decode(1, as: String?.self)
            else { return nil }
            return SealedSecret(bytes: bytes, keyID: keyID)
        }
    }
}
