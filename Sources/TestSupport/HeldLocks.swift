extension TestDatabase {
    /// Runs a closure while another database session keeps a transaction open.
    ///
    /// The transaction executes the given statements first. So it holds locks or has uncommitted writes. It is
    /// committed after the closure, or rolled back if the closure throws.
    ///
    /// - Parameters:
    ///   - statements: The statements that lock or write.
    ///   - isolation: The caller's isolation. The closure runs in it, too.
    ///   - body: Receives a function that commits the transaction before the end of the closure.
    /// - Returns: The result of the body.
    /// - Throws: The body's error.
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
        // A second commit has no effect.
        try await unlock()
        return result
    }

    /// Runs a closure while another database session keeps a transaction open.
    ///
    /// The transaction executes the given statements first. So it holds locks or has uncommitted writes. It is
    /// committed after the closure, or rolled back if the closure throws.
    package func whileLocked<Result>(
        _ statements: String,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async throws -> Result {
        try await whileLocked(statements) { _ in try await body() }
    }
}
