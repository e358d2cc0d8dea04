import TestSupport
import Testing

extension TestDatabase {
    /// Runs the closure while another session holds a table that nobody else can even read meanwhile.
    func holding<Result: Sendable>(
        _ table: String,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await psql("begin; lock table \(table); select pg_sleep(600) /* the holder */") }
            let outcome: Swift.Result<Result, any Error>
            do {
                try await eventually("the table is held") {
                    try await psql(
                        """
                        select exists (
                            select from pg_locks
                            where relation = '\(table)'::regclass and mode = 'AccessExclusiveLock' and granted
                        )
                        """
                    ) == [["t"]]
                }
                outcome = .success(try await body())
            } catch {
                outcome = .failure(error)
            }
            try await psql(
                """
                select pg_terminate_backend(pid) from pg_stat_activity
                where query like '%/* the holder */' and datname = current_database() and pid <> pg_backend_pid()
                """
            )
            try await group.waitForAll()
            return try outcome.get()
        }
    }
}
