import Applications
import ArgumentParser
import Postgres
import Store
import Vocabulary

/// Runs one task on the database and ends.
enum DatabaseTask {
    /// Opens connections for as long as the closure runs, and turns what it throws into an exit code.
    static func run(
        _ configuration: PostgresConfiguration,
        statementsWithin limit: Duration = .zero,
        _ body: @Sendable @escaping (Store) async throws -> Void
    ) async throws {
        var configuration = configuration
        configuration.limitToAdministration()
        // A person waits for the command, not a crowd for a login: give a starting server the time to come up.
        configuration.leaseTimeout = .seconds(10)
        configuration.statementTimeout = max(configuration.statementTimeout, limit)
        configuration.lockTimeout = max(configuration.lockTimeout, limit)
        let databases = Databases(configuration)
        async let life: Void = databases.run()
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(Store(databases: databases))) } catch { outcome = .failure(error) }
        databases.shutdown()
        await life
        do { try outcome.get() } catch {
            switch error {
            case let code as ExitCode: throw code
            case let failure as Failure: throw Exit.saying(failure)
            case let problems as DocumentProblems: throw Exit.saying("\(problems)", Exit.dataError)
            // `ArgumentParser` would end with 1, which says that two things differ.
            default: throw Exit.saying("federation: \(error)", Exit.software)
            }
        }
    }
}

extension PostgresConfiguration {
    /// Few connections, and time for questions that read many rows: what operators ask is rare and may be large.
    ///
    /// So is what is done in the background, for one application after the other. A plan that is made for each use fits
    /// the tables as they are, and none is kept for the next time.
    mutating func limitToAdministration() {
        pipelinedConnections = 1
        exclusiveConnections = 4
        preparedBytes = 0
        statementTimeout = max(statementTimeout, .seconds(20))
    }

    /// A connection for each search that may be under way, and one for notes of those that took long.
    ///
    /// A further search waits for a connection, as long as for any, and is then refused. Each is planned for its
    /// values.
    mutating func limitToSearches(_ searches: Limits.Searches) {
        pipelinedConnections = 1
        exclusiveConnections = searches.atOnce
        preparedBytes = 0
        statementTimeout = searches.time
        resultBytes = UserQuery.mostBytes
    }
}
