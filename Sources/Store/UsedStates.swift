package import Identity
import Postgres

/// The states of login dialogs that have come back. Those that have not are nowhere but in the dialog's address.
extension Store {
    /// Uses a state up: of any number of simultaneous calls one succeeds.
    ///
    /// - Parameters:
    ///   - hash: SHA-256 of what it is by.
    ///   - seconds: How long it would be good otherwise.
    ///   - application: Whose it is.
    /// - Returns: Whether this call is the first.
    /// - Throws: `store_unavailable` and its like.
    package func useState(
        hash: [UInt8],
        seconds: Int64,
        of application: Application
    ) async throws(Failure) -> Bool {
        let result = try await query(
            """
            insert into \(identifier: application.schema).single_use (kind, hash, used, expires)
            values ('state', \(hash), now(), now() + make_interval(secs => \(seconds)))
            on conflict (kind, hash) do nothing
            returning true
            """,
            of: application
        )
        return result.first != nil
    }
}
