import FoundationEssentials
import Postgres
package import Vocabulary

/// What the person of a session has shown.
package struct SessionProofs: Sendable {
    /// By what the session was opened; nil for sessions of long ago.
    package let method: String?
    /// The second factor that was shown last.
    package let factor: FactorKind?
    /// Unix seconds at which the person was authenticated last; 0 for never.
    package let authenticated: Int64
}

extension Store {
    /// What the person of a session has shown; nil when there is no such session.
    package func sessionProofs(
        tokenHash: [UInt8],
        in application: Application
    ) async throws(Failure) -> SessionProofs? {
        let result = try await query(
            """
            select provider, factor_kind, floor(extract(epoch from proved))::bigint
            from \(identifier: application.schema).sessions where token_hash = \(tokenHash)
            """,
            of: application
        )
        return try read { () throws(PostgresError) in
            guard let row = result.first else { return nil }
            return SessionProofs(
                method: try row.decode(0, as: String?.self),
                factor: try row.decode(1, as: String?.self).flatMap(FactorKind.init),
                authenticated: try row.decode(2, as: Int64.self)
            )
        }
    }

    /// Whether the person of a session was authenticated within the last seconds.
    package func isAuthenticated(
        tokenHash: [UInt8],
        within seconds: Int,
        in application: Application
    ) async throws(Failure) -> Bool {
        let result = try await query(
            """
            select proved > now() - make_interval(secs => \(seconds)) from \(identifier: application.schema).sessions
            where token_hash = \(tokenHash)
            """,
            of: application
        )
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: Bool.self) ?? false }
    }

    /// Notes that the person of a session has just been authenticated.
    package func noteAuthentication(tokenHash: [UInt8], in application: Application) async throws(Failure) {
        _ = try await query(
            "update \(identifier: application.schema).sessions set proved = now() where token_hash = \(tokenHash)",
            of: application
        )
    }
}
