import Vocabulary
import Postgres

extension Store {
    /// How long a change waits for one lock.
    ///
    /// Logins queue behind whoever waits for an exclusive lock on their table, and give up after a second.
    private static let lockPatience = "300ms"
    /// How often a change is tried before it gives up: for eight seconds in all.
    private static let tries = 20

    /// Runs a transaction that waits only shortly for each lock, all of it anew until it has got them all.
    ///
    /// Texts of dates, moments and numbers are read and written in one form, whatever the role or the database has set.
    ///
    /// - Throws: `conflict` when the locks were not to be had; what the closure throws, and `PostgresError`.
    func withShortLocks<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        // A deferred constraint of the operator's own would leave the users table with pending events, and so
        // unchangeable.
        let settings = """
            set local lock_timeout = '\(Self.lockPatience)'; set local client_min_messages = warning;
            set local timezone = 'UTC'; set local datestyle = 'ISO, MDY'; set local extra_float_digits = 1;
            set constraints all immediate
            """
        for attempt in 1...Self.tries {
            do {
                return try await postgres.withTransaction { connection in
                    try await connection.execute(script: settings)
                    return try await body(connection)
                }
            } catch let error as PostgresError where error.sqlState == "55P03" {
                guard attempt < Self.tries else { break }
                // Meanwhile the logins that queued go on. Two changes that met shall not meet again.
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...150)))
            }
        }
        throw Failure(
            .conflict,
            """
            The application or its users table is in use: another change, a long transaction, a backup or a vacuum holds it. \
            Nothing has changed. Try again when that has ended.
            """
        )
    }
}
