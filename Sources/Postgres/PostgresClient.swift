/// A client of PostgreSQL, the interface of the driver to the rest of the program.
///
/// Single statements share a few connections; a transaction has a connection to itself. ``PostgresConfiguration``
/// bounds every wait. A statement whose outcome is unknown is reported as such and never sent again.
package final class PostgresClient: Sendable {
    let pool: ConnectionPool

    /// Creates a client that connects as soon as ``run()`` is called.
    ///
    /// Statements that are submitted before that call wait in the queue.
    package init(configuration: PostgresConfiguration) {
        pool = .start(configuration)
    }

    /// Runs the client: opens connections and keeps them open.
    ///
    /// When the task is cancelled or ``shutdown()`` is called, waits for the statements that were sent, closes the
    /// connections and returns.
    package func run() async {
        await withTaskCancellationHandler {
            await suspend { pool.post(.run($0)) }
        } onCancel: {
            pool.post(.shutDown)
        }
    }

    /// Shuts the client down.
    ///
    /// The client still waits for the responses to statements that were sent, for at most one second longer than the
    /// time limit of a statement. Statements in the queue and all later ones fail with ``PostgresError/shutDown``.
    package func shutdown() {
        pool.post(.shutDown)
    }

    /// Runs one statement as a transaction of its own, and returns its rows.
    ///
    /// The connection also serves statements of other callers. So the text must be a single statement, and must not
    /// change the session.
    ///
    /// - Parameters:
    ///   - statement: The statement to run.
    ///   - affinity: The group that the statement belongs to. The statements of a group share a connection, unless
    ///     another connection would be faster.
    ///   - isRare: Whether the statement is too rare to be kept prepared.
    /// - Returns: The rows of the statement.
    /// - Throws: The reason of the failure, which tells whether the statement may have had an effect.
    nonisolated(nonsending) package func query(
        _ statement: Statement,
        near affinity: Affinity? = nil,
        isRare: Bool = false
    ) async throws(PostgresError) -> ResultSet {
        let request = Request(.statement(statement), near: affinity)
        request.isUnnamed = isRare
        return try await pool.perform(request)
    }

    /// Returns the SQL types of a statement's columns; empty for a statement that returns no rows.
    ///
    /// The server parses the statement and does not run it.
    package func columnTypes(of statement: Statement) async throws(PostgresError) -> [String] {
        try await pool.perform(Request(.description(statement)))
            .typeNames { question throws(PostgresError) in try await self.query(question) }
    }

    /// Runs `body` inside a transaction, and commits when `body` returns.
    ///
    /// When `body` throws, the transaction is rolled back.
    ///
    /// The whole transaction is retried at most twice, after a short pause, when it conflicted with another one (40001,
    /// 40P01) or a prepared statement was out of date (26000, 0A000). Nothing was written in these cases. Since `body`
    /// may run several times, it should have no effect outside of the database. `body` must not catch
    /// ``PostgresError``, since the error decides about the retry. No statement of `body` may take longer than
    /// ``PostgresConfiguration/statementTimeout``.
    ///
    /// - Parameters:
    ///   - isRepeated: Whether to retry. False if `body` has effects outside of the database; the caller then decides.
    ///   - body: The statements.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`, or ``PostgresError``; nothing is written then.
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

    /// Runs `body` with a leased connection, outside of any transaction.
    ///
    /// Afterwards all changes of `body` to the session are undone; advisory locks are released, too.
    ///
    /// The client itself does not limit how long a statement of `body` takes. The session has the time limits of the
    /// server, which `body` may remove (`SET statement_timeout = 0`).
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

    package func status() async -> PostgresStatus {
        await pool.status
    }

    private static func mayRunAgain(_ error: any Error) -> Bool {
        guard let error = error as? PostgresError else { return false }
        return error.handling == .retryTransaction || error.sqlState == "26000" || error.sqlState == "0A000"
    }

    /// Waits before a retry, so that the same transactions do not conflict again.
    ///
    /// The wait is random: at most 20 ms before the first retry, and at most 40 ms before the second.
    private static func pause(_ repetition: Int) async throws(PostgresError) {
        do {
            try await Task.sleep(for: .milliseconds(20 * repetition) * Double.random(in: 0.1...1))
        } catch {
            throw .cancelled
        }
    }
}
