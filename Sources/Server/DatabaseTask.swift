import Applications
import ArgumentParser
import Postgres
import Store
import Vocabulary

/// Runs one task on the database and ends.
enum DatabaseTask {
    /// Opens connections for as long as the closure runs, and turns what it throws into an exit code.
    ///
    /// - Parameters:
    ///   - configuration: Where the database is.
    ///   - limit: How long a statement may take, where that is longer than operators' questions may.
    ///   - requiringDatabase: Whether a database that cannot be reached ends the task before it begins.
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
        // A person waits for the command, not a crowd for a login: give a starting server the time to come up.
        configuration.leaseTimeout = .seconds(10)
        // Nothing comes of waiting where the password is wrong or nobody listens.
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
            // `ArgumentParser` would end with 1, which says that two things differ.
            default: throw Exit.saying("federation: \(error)", Exit.software)
            }
        }
    }

    /// Makes sure that the database answers.
    ///
    /// - Throws: An exit code after saying why the database cannot be reached, with the variable's name.
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
    /// `UserSearches` lets no more searches through than there are connections. Each is planned for its values.
    mutating func limitToSearches(_ searches: Limits.Searches) {
        pipelinedConnections = 1
        exclusiveConnections = searches.atOnce
        preparedBytes = 0
        statementTimeout = searches.time
        resultBytes = UserQuery.mostBytes
    }
}
