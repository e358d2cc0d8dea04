/// Two functions: one rewrites each statement before it is sent, the other translates errors of the rewritten
/// statement.
package struct StatementDetour: Sendable {
    /// Returns the statement to send in place of the given one.
    ///
    /// The function may ask the given connection for the types of a statement's columns.
    package let rewrite: @Sendable (Statement, PostgresConnection) async throws(PostgresError) -> Statement
    /// Turns an error of the rewritten statement into the corresponding error of the original statement.
    package let explain: @Sendable (PostgresError) -> PostgresError

    package init(
        rewrite: @escaping @Sendable (Statement, PostgresConnection) async throws(PostgresError) -> Statement,
        explain: @escaping @Sendable (PostgresError) -> PostgresError
    ) {
        self.rewrite = rewrite
        self.explain = explain
    }
}

/// A connection that is leased to one closure, and that only this closure uses while it runs.
package final class PostgresConnection: Sendable {
    private let pool: ConnectionPool
    private let lease: Lease
    private let purpose: Lease.Purpose
    private let detour: StatementDetour?

    init(_ pool: ConnectionPool, _ lease: Lease, _ purpose: Lease.Purpose, _ detour: StatementDetour? = nil) {
        self.pool = pool
        self.lease = lease
        self.purpose = purpose
        self.detour = detour
    }

    /// Returns an object for the same connection that lets `detour` rewrite each statement before it is sent.
    ///
    /// If `detour` is nil, statements are sent unchanged. Scripts and copied rows are always sent unchanged.
    package func taking(_ detour: StatementDetour?) -> PostgresConnection {
        PostgresConnection(pool, lease, purpose, detour)
    }

    /// Runs one statement and returns its rows.
    nonisolated(nonsending) package func query(_ statement: Statement) async throws(PostgresError) -> ResultSet {
        guard let detour else { return try await send(statement) }
        do {
            return try await send(try await detour.rewrite(statement, taking(nil)))
        } catch {
            throw detour.explain(error)
        }
    }

    nonisolated(nonsending) private func send(_ statement: Statement) async throws(PostgresError) -> ResultSet {
        try await pool.perform(
            Request(.statement(statement), lease: lease, isInTransaction: purpose == .transaction)
        )
    }

    /// Returns the SQL types of a statement's columns; see ``PostgresClient/columnTypes(of:)``.
    package func columnTypes(of statement: Statement) async throws(PostgresError) -> [String] {
        try await pool.perform(
            Request(.description(statement), lease: lease, isInTransaction: purpose == .transaction)
        ).typeNames { question throws(PostgresError) in try await self.send(question) }
    }

    /// Runs a text of one or more statements with PostgreSQL's simple query protocol, so no values can be bound.
    ///
    /// All statements are one transaction, unless the text or a surrounding transaction says otherwise.
    nonisolated(nonsending) package func execute(script: String) async throws(PostgresError) {
        _ = try await pool.perform(
            Request(.script(script), lease: lease, isInTransaction: purpose == .transaction)
        )
    }

    /// Copies rows into columns of a table.
    ///
    /// If the method throws, no row is copied.
    ///
    /// - Parameters:
    ///   - rows: The rows, each with a value for each column.
    ///   - table: The table's name, without a schema.
    ///   - columns: The columns' names.
    /// - Throws: The reason of the failure; an error of the server names the row that it is about.
    nonisolated(nonsending) package func copy(
        _ rows: CopyRows,
        into table: String,
        columns: [String]
    ) async throws(PostgresError) {
        let names = columns.map(Statement.quoted(identifier:)).joined(separator: ", ")
        let text = "COPY \(Statement.quoted(identifier: table)) (\(names)) FROM STDIN (FORMAT binary)"
        _ = try await pool.perform(
            Request(.copy(text, rows), lease: lease, isInTransaction: purpose == .transaction)
        )
    }

    func begin() async throws(PostgresError) {
        guard pool.configuration.effectiveSessionSettings == .eachTransaction else {
            _ = try await query("BEGIN")
            return
        }
        let limits = pool.configuration.sessionLimits.map { "; SET LOCAL \($0.name) = \($0.milliseconds)" }
        try await execute(script: "BEGIN" + limits.joined())
    }

    /// Commits the transaction.
    ///
    /// Once the commit is sent, the method waits for the outcome even if the task is cancelled.
    func commit() async throws(PostgresError) {
        if Task.isCancelled { throw .cancelled }
        let result = try await pool.perform(Request(.statement("COMMIT"), lease: lease), cancellable: false)
        // When a statement of the transaction has failed, the server answers COMMIT with a rollback, and no error.
        guard result.commandTag == "COMMIT" else { throw .server(.failedTransaction) }
    }

    /// Returns the connection to the pool without waiting.
    ///
    /// Called after a commit, when the session needs no cleaning.
    func giveBack() {
        pool.post(.returned(lease, purpose, nil))
    }

    /// Returns the connection to the pool, and waits until the pool has cleaned its session or closed the connection.
    func giveBackAndWait() async {
        await suspend { pool.post(.returned(lease, purpose, $0)) }
    }
}

extension ServerError {
    /// The error that a commit throws if an earlier statement of its transaction has failed.
    ///
    /// Its code 25P02 means `in_failed_sql_transaction`.
    fileprivate static let failedTransaction = ServerError(
        sqlState: "25P02",
        schema: nil,
        table: nil,
        column: nil,
        constraint: nil,
        dataType: nil,
        row: nil,
        message: "the transaction had failed and was rolled back"
    )
}
