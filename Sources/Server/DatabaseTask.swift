import Applications
import ArgumentParser
import Description
import Domain
import Postgres
import Store

/// Connects to the database, runs one task and disconnects.
enum DatabaseTask {
    /// Runs a task with open database connections, and turns errors into an exit code.
    ///
    /// - Parameters:
    ///   - configuration: The connection to the database.
    ///   - limit: The timeout of SQL statements and of waits for locks. If the configured timeout is longer, it applies
    ///     instead.
    ///   - requiringDatabase: Whether the task ends at once if the database cannot be reached.
    ///   - body: The task.
    /// - Throws: An exit code.
    static func run(
        _ configuration: PostgresConfiguration,
        statementsWithin limit: Duration = .zero,
        requiringDatabase: Bool = true,
        _ body: @Sendable @escaping (Store) async throws -> Void
    ) async throws {
        var configuration = configuration
        configuration.limitToAdministration()
        // Only one operator waits for the command, and no login does. So the command can wait longer for a database
        // server that is starting.
        configuration.leaseTimeout = .seconds(10)
        // A wait does not help against a wrong password or a refused connection.
        configuration.givesUpAtRefusals = true
        configuration.statementTimeout = max(configuration.statementTimeout, limit)
        configuration.lockTimeout = max(configuration.lockTimeout, limit)
        let databases = Databases(configuration)
        async let life: Void = databases.run()
        let outcome: Result<Void, any Error>
        do {
            if requiringDatabase { try await reach(databases) }
            outcome = .success(try await body(Store(databases: databases)))
        } catch { outcome = .failure(error) }
        databases.shutdown()
        await life
        do { try outcome.get() } catch {
            switch error {
            case let code as ExitCode: throw code
            case let failure as Failure: throw Exit.saying(failure)
            case let problems as DocumentProblems: throw Exit.saying("\(problems)", Exit.dataError)
            // `ArgumentParser` would end with 1. Here, that code means that two things differ.
            default: throw Exit.saying("federation: \(error)", Exit.software)
            }
        }
    }

    /// Checks that the database can be reached.
    ///
    /// - Throws: An exit code after printing the reason, with the name of the configuration variable.
    private static func reach(_ databases: Databases) async throws {
        do throws(PostgresError) {
            _ = try await databases.main.query("select 1")
        } catch {
            guard case .unavailable(let failure?) = error else { throw Store.unreachable(error) }
            throw Exit.saying(
                "federation: FEDERATION_DATABASE_URL: \(failure.text)",
                failure.isMisconfigured ? Exit.configuration : Exit.unavailable
            )
        }
    }
}

extension PostgresConfiguration {
    /// Gives the pool few connections and a long timeout, since operators' queries are rare and may read many rows.
    ///
    /// Background work has the same limits, since it handles one application after the other. No prepared statement is
    /// kept. So PostgreSQL plans each query anew, and the plan fits the present contents of the tables.
    mutating func limitToAdministration() {
        pipelinedConnections = 1
        exclusiveConnections = 4
        preparedBytes = 0
        statementTimeout = max(statementTimeout, .seconds(20))
    }

    /// Gives the pool for searches of users one connection for each search that may run at the same time.
    ///
    /// One further connection is for the statements with which the service records slow searches.
    ///
    /// `UserSearches` admits no more searches than there are connections. No prepared statement is kept, so PostgreSQL
    /// plans each search anew, for the values that it looks for.
    mutating func limitToSearches(_ searches: Limits.Searches) {
        pipelinedConnections = 1
        exclusiveConnections = searches.atOnce
        preparedBytes = 0
        statementTimeout = searches.time
        resultBytes = UserQuery.maxBytes
    }
}
