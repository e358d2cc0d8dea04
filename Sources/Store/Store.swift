package import Postgres
import Vocabulary

// Store — every question that the service asks of PostgreSQL, one file each.
//
// It owns the SQL, the layout of schema.sql, and the translation of what PostgreSQL refuses into our failures: which
// property a constraint is about, what is worth repeating.
//
// It must not know of HTTP, of providers' replies or of mappings: values arrive converted, in the order of a
// statement's targets. Secrets pass through it as ciphertext, sessions and API keys as hashes.

/// The service's tables.
package struct Store: Sendable {
    package let databases: Databases

    /// The main database, with the configuration.
    var postgres: TracedClient { TracedClient(client: databases.main) }

    package init(databases: Databases) {
        self.databases = databases
    }

    /// The tables of a deployment none of whose applications has a database of its own.
    package init(postgres: PostgresClient) {
        self.init(databases: Databases(main: postgres))
    }

    /// Runs one statement and translates what goes wrong.
    ///
    /// The application is the one whose schema the statement works on, for naming the property that a constraint is
    /// about. Other tables than the application's, or the configuration's without one, have to be named.
    func query(
        _ statement: Statement,
        of application: Application? = nil,
        in tables: Tables? = nil,
        isRare: Bool = false
    ) async throws(Failure) -> ResultSet {
        do {
            let tables = tables ?? application.map(self.tables(of:)) ?? configuration
            return try await tables.query(statement, near: application?.affinity, isRare: isRare)
        } catch {
            throw await failure(of: error, in: application)
        }
    }

    /// Runs a transaction and translates what goes wrong; a failure that the closure throws passes through.
    ///
    /// - Parameters:
    ///   - application: Whose users the statements write, if they do: failures name its properties.
    ///   - tables: Where they are, when that is not said by the application: the configuration's unless told otherwise.
    ///   - body: The statements.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws as a failure; `constraint_violation`, `store_unavailable` and their like. Nothing
    ///   is written then.
    func transaction<Result: Sendable>(
        of application: Application? = nil,
        in tables: Tables? = nil,
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws(Failure) -> Result {
        do {
            let tables = tables ?? application.map(self.tables(of:)) ?? configuration
            return try await tables.withTransaction(body)
        } catch let error as PostgresError {
            throw await failure(of: error, in: application)
        } catch let error as Failure {
            throw error
        } catch {
            throw Failure.databaseFault(cause: "\(error)")
        }
    }

    /// Reads rows and translates a column that is not what the statement promises.
    func read<Value>(_ body: () throws(PostgresError) -> Value) throws(Failure) -> Value {
        do {
            return try body()
        } catch {
            guard case .decoding(let decoding) = error else {
                throw Failure(.internal, "The service could not read its own data.", cause: "\(error)")
            }
            throw .undecodable(decoding)
        }
    }
}
