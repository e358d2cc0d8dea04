extension TestDatabase {
    /// Runs the closure while another session has run statements that lock, or write, in a transaction that goes on.
    ///
    /// It is committed afterwards; where the closure throws it is rolled back.
    ///
    /// - Parameters:
    ///   - statements: What locks.
    ///   - isolation: The caller's, where the closure runs too.
    ///   - body: Gets a function that ends the transaction early.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws.
    package func whileLocked<Result>(
        _ statements: String,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (_ unlock: @escaping @Sendable () async throws -> Void) async throws -> Result
    ) async throws -> Result {
        let session = try await SQLSession.open(url)
        let limit = Duration.seconds(120)
        _ = try await session.run("begin; \(statements)", within: limit)
        let unlock: @Sendable () async throws -> Void = { _ = try await session.run("commit", within: limit) }
        let result = try await body(unlock)
        // Once more is of no consequence.
        try await unlock()
        return result
    }

    /// The same for a closure that needs it locked until its end.
    package func whileLocked<Result>(
        _ statements: String,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async throws -> Result {
        try await whileLocked(statements) { _ in try await body() }
    }
}
