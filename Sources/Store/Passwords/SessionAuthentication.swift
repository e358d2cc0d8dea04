import FoundationEssentials
import Postgres
package import Vocabulary

extension Store {
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
