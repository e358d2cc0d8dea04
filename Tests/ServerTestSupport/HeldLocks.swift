import FoundationEssentials
import TestSupport

extension TestDatabase {
    /// Runs the closure while another session holds what statements have locked.
    ///
    /// They are rolled back afterwards.
    ///
    /// - Parameters:
    ///   - statements: What locks.
    ///   - isolation: The caller's, where the closure runs too.
    ///   - body: Gets a function that ends the transaction early.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws.
    func whileLocked<Result>(
        _ statements: String,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (_ unlock: @escaping @Sendable () async throws -> Void) async throws -> Result
    ) async throws -> Result {
        let holder = "holder \(UUID())"
        async let holding: [[String?]]? = try? psql(
            "begin; \(statements); select pg_sleep(600) /* \(holder) */",
            within: .seconds(600)
        )
        let found = """
            from pg_stat_activity
            where query like '%/* \(holder) */' and wait_event = 'PgSleep' and datname = current_database()
            """
        let unlock: @Sendable () async throws -> Void = {
            try await psql("select pg_terminate_backend(pid, 30000) \(found)")
        }
        do {
            try await eventually("it is locked") { try await psql("select 1 \(found)").count == 1 }
            let result = try await body(unlock)
            try await unlock()
            _ = await holding
            return result
        } catch {
            try? await unlock()
            _ = await holding
            throw error
        }
    }

    /// The same for a closure that needs it locked until its end.
    func whileLocked<Result>(
        _ statements: String,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async throws -> Result {
        try await whileLocked(statements) { _ in try await body() }
    }
}
