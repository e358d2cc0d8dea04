/// PostgreSQL, as the rest of the program sees it.
///
/// Single statements share a few connections; a transaction has one to itself. Every wait is bounded by a number of
/// ``PostgresConfiguration``. A statement whose outcome is unknown is reported as such and never sent again.
package final class PostgresClient: Sendable {
    let pool: ConnectionPool

    /// A client that connects as soon as ``run()`` is called.
    ///
    /// Statements before that wait like all others.
    package init(configuration: PostgresConfiguration) {
        pool = .start(configuration)
    }

    /// The client's life: opens connections and keeps them open until the task is cancelled or ``shutdown()`` is
    /// called; then waits for what has been sent and closes them.
    package func run() async {
        await withTaskCancellationHandler {
            await suspend { pool.post(.run($0)) }
        } onCancel: {
            pool.post(.shutDown)
        }
    }

    /// Ends the client's life.
    ///
    /// Statements that were sent are still answered, for a little longer than the statement limit; those that wait and
    /// all later ones fail with ``PostgresError/shutDown``.
    package func shutdown() {
        pool.post(.shutDown)
    }

    /// Runs one statement, a transaction of its own, and returns its rows.
    ///
    /// It shares its connection with others, so it must be one statement and must not change the session.
    ///
    /// - Parameters:
    ///   - statement: What to run.
    ///   - affinity: With which others it shall share a connection, as long as that is no slower.
    ///   - isRare: Whether it is not worth being kept prepared.
    /// - Returns: Its rows.
    /// - Throws: Why there are none, and whether anything can have happened.
    nonisolated(nonsending) package func query(
        _ statement: Statement,
        near affinity: Affinity? = nil,
        isRare: Bool = false
    ) async throws(PostgresError) -> ResultSet {
        let request = Request(.statement(statement), near: affinity)
        request.isUnnamed = isRare
        return try await pool.perform(request)
    }

    /// The types of the columns that a statement returns, as SQL writes them; none for one that returns nothing.
    ///
    /// The statement is read by the server, and not run.
    package func columnTypes(of statement: Statement) async throws(PostgresError) -> [String] {
        try await pool.perform(Request(.description(statement)))
            .typeNames { question throws(PostgresError) in try await self.query(question) }
    }

    /// Runs `body` inside a transaction, which is committed when it returns and rolled back when it throws.
    ///
    /// When the database says that the transaction collided with another one (40001, 40P01) or that a prepared
    /// statement is out of date (26000, 0A000), nothing of it was kept: then all of it runs again, at most twice, after
    /// a short pause. So `body` should have no effect but on the database, and must let ``PostgresError`` through.
    /// No statement of it may take longer than ``PostgresConfiguration/statementTimeout``.
    ///
    /// - Parameters:
    ///   - isRepeated: False where `body` has effects elsewhere: whoever calls decides whether it runs again.
    ///   - body: The statements.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, and ``PostgresError``; nothing is written then.
    package func withTransaction<Result: Sendable>(
        isRepeated: Bool = true,
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        var repetitions = 0
        while true {
            let connection = PostgresConnection(pool, try await pool.acquire(.transaction), .transaction)
            do {
                try await connection.begin()
                let result = try await body(connection)
                try await connection.commit()
                connection.giveBack()
                return result
            } catch {
                await connection.giveBackAndWait()
                guard isRepeated, repetitions < 2, Self.mayRunAgain(error) else { throw error }
                repetitions += 1
                try await Self.pause(repetitions)
            }
        }
    }

    /// Lends a connection to `body`, outside of any transaction.
    ///
    /// Whatever `body` changes in the session is undone afterwards, advisory locks included.
    ///
    /// Nothing but the server's own limits bounds a statement here; `body` may lift those
    /// (`SET statement_timeout = 0`).
    package func withConnection<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        let connection = PostgresConnection(pool, try await pool.acquire(.session), .session)
        do {
            let result = try await body(connection)
            await connection.giveBackAndWait()
            return result
        } catch {
            await connection.giveBackAndWait()
            throw error
        }
    }

    /// What the client is doing now.
    package func status() async -> PostgresStatus {
        await pool.status
    }

    private static func mayRunAgain(_ error: any Error) -> Bool {
        guard let error = error as? PostgresError else { return false }
        return error.handling == .retryTransaction || error.sqlState == "26000" || error.sqlState == "0A000"
    }

    /// Up to 20 ms, then up to 40: those who collided shall not meet again.
    private static func pause(_ repetition: Int) async throws(PostgresError) {
        do {
            try await Task.sleep(for: .milliseconds(20 * repetition) * Double.random(in: 0.1...1))
        } catch {
            throw .cancelled
        }
    }
}
