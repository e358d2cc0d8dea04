package import Domain
import Postgres

/// The result of an attempt to use a kept refresh token alone.
package enum RefreshTokenUse: Sendable {
    /// The caller may use the token, until it ends the lease.
    case begun(RefreshTokenLease)
    /// Another request uses the token.
    case busy
    /// The token is no longer the stored one.
    case superseded
}

/// The right to use a kept refresh token alone.
package struct RefreshTokenLease: Sendable {
    fileprivate let identity: IdentityKey
    /// The time at which the lease ends at the latest; no other lease of the identity has the same.
    fileprivate let end: Timestamp
}

extension Store {
    /// Begins the use of a kept refresh token, so that no other request and no other instance uses it meanwhile.
    ///
    /// A provider that rotates refresh tokens takes a second use of one for theft, and ends all tokens of the user
    /// (RFC 9700 §4.14.2). No transaction stays open while the provider is queried. The use of a killed instance ends
    /// by itself.
    ///
    /// - Parameters:
    ///   - identity: The identity with the token.
    ///   - seconds: The time after which the use ends at the latest.
    ///   - application: The application of the identity.
    /// - Returns: Whether the use has begun.
    /// - Throws: `store_unavailable` and similar failures.
    package func beginUse(
        of identity: KeptIdentity,
        seconds: Double,
        in application: Application
    ) async throws(Failure) -> RefreshTokenUse {
        let schema: Statement = "\(identifier: application.schema)"
        let isKept = KeptIdentity.condition { $0 }.bound(to: identity)
        let result = try await query(
            """
            with begun as (
                update \(schema).identities i set refreshing = now() + make_interval(secs => \(seconds))
                where \(isKept) and (i.refreshing is null or i.refreshing <= now())
                returning refreshing
            )
            select (select refreshing from begun), exists (select from \(schema).identities i where \(isKept))
            """,
            of: application
        )
        let (end, isStored) = try result.first(Timestamp?.self, Bool.self) ?? (nil, false)
        if let end { return .begun(RefreshTokenLease(identity: identity.key, end: end)) }
        return isStored ? .busy : .superseded
    }

    /// Ends the use of a kept refresh token, whatever token the identity has now.
    package func end(_ lease: RefreshTokenLease, in application: Application) async throws(Failure) {
        _ = try await query(
            """
            update \(identifier: application.schema).identities set refreshing = null
            where \(lease.identity.condition) and refreshing = \(bind: .timestamp(lease.end))
            """,
            of: application
        )
    }
}
