import Domain
package import Postgres

// Store — every query that the service sends to PostgreSQL, one file each.
//
// It owns the SQL, the layout of schema.sql, and the translation of PostgreSQL's errors into failures: which property a
// constraint is about, and which errors are worth a retry.
//
// It must not know of HTTP, of providers' responses or of mappings: values arrive converted, in the order of a
// statement's targets. Secrets pass through it as ciphertext, session tokens and API keys as hashes.

/// Reads and writes the service's tables in PostgreSQL.
package struct Store: Sendable {
    package let databases: Databases

    /// The main database, which has the configuration.
    var postgres: TracedClient { TracedClient(client: databases.main) }

    package init(databases: Databases) {
        self.databases = databases
    }

    /// Creates the store of a deployment in which no application has a database of its own.
    package init(postgres: PostgresClient) {
        self.init(databases: Databases(main: postgres))
    }

    /// Runs one statement and translates errors into failures.
    ///
    /// - Parameters:
    ///   - statement: The statement.
    ///   - application: The application whose schema the statement uses. Failures name its properties.
    ///   - tables: The tables of the statement. Default: those of the application; without an application, those of the
    ///     configuration.
    ///   - isRare: Whether the statement is too rare to be kept prepared.
    /// - Returns: The rows.
    /// - Throws: `constraint_violation`, `store_unavailable` and similar failures.
    func query(
        _ statement: Statement,
        of application: Application? = nil,
        in tables: Tables? = nil,
        isRare: Bool = false
    ) async throws(Failure) -> Answer {
        do {
            let tables = tables ?? application.map(self.tables(of:)) ?? configuration
            return Answer(result: try await tables.query(statement, near: application?.affinity, isRare: isRare))
        } catch {
            throw await failure(of: error, in: application)
        }
    }

    /// Runs a transaction and translates its errors into failures.
    ///
    /// Failures that the body throws are rethrown.
    ///
    /// - Parameters:
    ///   - application: The application whose users the statements write, if any. Failures name its properties.
    ///   - tables: The tables of the statements. Default: those of the application; without an application, those of
    ///     the configuration.
    ///   - body: The statements.
    /// - Returns: The result of the body.
    /// - Throws: The failures of the body; `constraint_violation`, `store_unavailable` and similar failures. Nothing is
    ///   written then.
    func transaction<Result: Sendable>(
        of application: Application? = nil,
        in tables: Tables? = nil,
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws(Failure) -> Result {
        let tables = tables ?? application.map(self.tables(of:)) ?? configuration
        return try await translating(of: application) { try await tables.withTransaction(body) }
    }

    /// Runs a closure and translates its errors into failures.
    ///
    /// Failures that the closure throws are rethrown.
    func translating<Value>(
        of application: Application? = nil,
        _ body: () async throws -> Value
    ) async throws(Failure) -> Value {
        do { return try await body() } catch let failure as Failure {
            throw failure
        } catch let error as PostgresError {
            throw await failure(of: error, in: application)
        } catch {
            throw Failure.databaseFault(cause: "\(error)")
        }
    }

}
