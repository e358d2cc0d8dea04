package import Domain
import FoundationEssentials
import NIOConcurrencyHelpers
package import Postgres

/// The databases of a deployment: the main one and the applications' own (decision D24).
///
/// The main database has the configuration. An application's own database is opened at its first use. From then on it
/// is checked every two seconds: it must respond, and say that it is this deployment's and holds the application.
/// Statements are sent to it only if the latest check succeeded. So no request waits for a database that is unavailable
/// or another deployment's.
package final class Databases: Sendable {
    package let main: PostgresClient
    /// The shards of applications in Citus.
    let sharding: Sharding
    private let configure: @Sendable (DatabaseVariable) throws(DatabaseProblem) -> PostgresConfiguration
    private let observer: @Sendable (DatabaseVariable, DatabaseProblem?) -> Void
    private let state = NIOLockedValueBox(State())
    private let opened = AsyncStream.makeStream(of: OwnDatabase.self)

    private struct State: Sendable {
        var own: [DatabaseVariable: OwnDatabase] = [:]
        /// The id of the deployment that the main database belongs to.
        var deployment: UUID?
        var isShutDown = false
    }

    /// The time between two checks of a database.
    static let interval: Duration = .seconds(2)
    /// The timeout of a check, and of a statement's wait for a check.
    static let timeout: Duration = .milliseconds(900)
    /// The timeout of a check for which an operator waits.
    static let timeoutOfOperators: Duration = .seconds(5)

    /// Prepares access to the database of a deployment in which no application has a database of its own.
    package convenience init(main: PostgresClient) {
        self.init(main: main) { (variable: DatabaseVariable) throws(DatabaseProblem) in throw .unset(variable) }
    }

    /// Prepares access to the databases of a deployment.
    ///
    /// - Parameters:
    ///   - main: The client of the main database.
    ///   - observer: Is called when a database becomes unusable, with the problem, and when it becomes usable again.
    ///   - configure: Returns the connection settings for the database whose URL is the value of an environment
    ///     variable.
    package init(
        main: PostgresClient,
        observer: @escaping @Sendable (DatabaseVariable, DatabaseProblem?) -> Void = { _, _ in },
        configure: @escaping @Sendable (DatabaseVariable) throws(DatabaseProblem) -> PostgresConfiguration
    ) {
        self.main = main
        sharding = Sharding(main: main)
        self.configure = configure
        self.observer = observer
    }

    /// Runs all connections, until the task is cancelled or ``shutdown()`` is called.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.main.run() }
            group.addTask {
                await withTaskGroup(of: Void.self) { own in
                    for await database in self.opened.stream {
                        own.addTask { await database.client.run() }
                        own.addTask { await self.watch(database) }
                    }
                }
            }
        }
    }

    /// Closes all connections.
    ///
    /// Statements that have been sent still complete.
    package func shutdown() {
        let own = state.withLockedValue { state in
            state.isShutDown = true
            return Array(state.own.values)
        }
        opened.continuation.finish()
        for database in own {
            database.checks.continuation.finish()
            database.client.shutdown()
        }
        main.shutdown()
    }

    /// The clients of the applications' own databases that have been opened.
    package var own: [PostgresClient] { state.withLockedValue { $0.own.values.map(\.client) } }

    /// Returns the database whose URL is the value of an environment variable.
    ///
    /// The contents of the database are not checked.
    func database(_ variable: DatabaseVariable) throws(DatabaseProblem) -> OwnDatabase {
        if let known = state.withLockedValue({ $0.own[variable] }) { return known }
        let configuration = try configure(variable)
        let (database, isNew) = state.withLockedValue { state in
            if let known = state.own[variable] { return (known, false) }
            let database = OwnDatabase(variable: variable, client: PostgresClient(configuration: configuration))
            state.own[variable] = database
            return (database, !state.isShutDown)
        }
        if isNew { opened.continuation.yield(database) }
        return database
    }

    /// Returns the known problem of an application's own database; nil if there is none, or before the first check.
    ///
    /// This opens the database and starts its checks.
    package func problem(of application: Application) -> DatabaseProblem? {
        guard let variable = application.database else { return nil }
        do throws(DatabaseProblem) {
            return try database(variable).lastCheck.withLockedValue(\.self)?.problem(holding: application.id)
        } catch {
            return error
        }
    }

    /// Returns the client for an application's users, once a check has found them in their database.
    ///
    /// The latest check decides. The call waits for the next check if there was none, or if the latest one has not
    /// found the application.
    func client(at variable: DatabaseVariable, holding application: ApplicationID) async throws(DatabaseProblem)
        -> PostgresClient
    {
        let database = try database(variable)
        let first = database.lastCheck.withLockedValue(\.self)
        if let first {
            guard let problem = first.problem(holding: application) else { return database.client }
            guard case .lacks = problem else { throw problem }
        }
        database.checks.continuation.yield()
        let end = ContinuousClock.now + Self.timeout
        while ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(20))) != nil {
            guard let lastCheck = database.lastCheck.withLockedValue(\.self), lastCheck.number != first?.number else {
                continue
            }
            guard let problem = lastCheck.problem(holding: application) else { return database.client }
            throw problem
        }
        throw first?.problem(holding: application) ?? .away(variable)
    }

    // MARK: Checks

    /// Checks periodically and on demand whether a database is usable, and keeps the outcome.
    private func watch(_ database: OwnDatabase) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    database.checks.continuation.yield()
                    try? await Task.sleep(for: Self.interval)
                }
            }
            for await _ in database.checks.stream {
                guard let seen = await check(database) else { continue }
                let former = database.lastCheck.withLockedValue { lastCheck in
                    defer { lastCheck = OwnDatabase.CheckOutcome(number: (lastCheck?.number ?? 0) + 1, seen: seen) }
                    return lastCheck
                }
                let (before, now) = (former.map(\.problem), seen.problem)
                if before != .some(now) { observer(database.variable, now) }
            }
            group.cancelAll()
        }
    }

    /// Checks a database and returns the result; nil if the check is inconclusive.
    ///
    /// A check is inconclusive while the main database does not respond. The first timeout of a usable database is
    /// inconclusive, too.
    private func check(_ database: OwnDatabase) async -> OwnDatabase.Seen? {
        guard let ours = await deployment() else { return nil }
        let variable = database.variable
        do {
            let seen = try await database.sign(of: ours, within: Self.timeout)
            database.isLate.withLockedValue { $0 = false }
            return seen
        } catch PostgresError.cancelled {
            // A single check may be late without any fault, if many logins are ahead of it.
            let wasLate = database.isLate.withLockedValue { isLate in
                defer { isLate = true }
                return isLate
            }
            let isUsed = database.lastCheck.withLockedValue { $0.map { $0.problem == nil } ?? false }
            return isUsed && !wasLate ? nil : .unusable(.away(variable))
        } catch {
            return .unusable(DatabaseProblem(error, of: variable))
        }
    }

    /// Returns the id of the main database's deployment; nil while that database does not respond.
    func deployment() async -> UUID? {
        if let known = state.withLockedValue(\.deployment) { return known }
        let question: Statement = "select id from federation.deployment"
        guard let found = try? await main.query(question).first(UUID.self) else { return nil }
        state.withLockedValue { $0.deployment = found }
        return found
    }
}

/// Runs an operation with a timeout.
private func ended<Value: Sendable>(
    after limit: Duration,
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: limit)
            throw PostgresError.cancelled
        }
        defer { group.cancelAll() }
        guard let first = try await group.next() else { throw PostgresError.cancelled }
        return first
    }
}

/// A database, other than the main one, that holds the users of applications.
final class OwnDatabase: Sendable {
    let variable: DatabaseVariable
    let client: PostgresClient
    /// The result of the latest check; nil before the first one.
    let lastCheck = NIOLockedValueBox<CheckOutcome?>(nil)
    /// Whether the latest check timed out.
    let isLate = NIOLockedValueBox(false)
    /// The stream of requests for a check of the database.
    ///
    /// A request that arrives during a check causes one more check.
    let checks = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(variable: DatabaseVariable, client: PostgresClient) {
        self.variable = variable
        self.client = client
    }

    enum Seen: Sendable {
        /// The database is this deployment's, and holds the users of these applications.
        case holds(Set<ApplicationID>, variable: DatabaseVariable)
        case unusable(DatabaseProblem)

        var problem: DatabaseProblem? {
            if case .unusable(let problem) = self { problem } else { nil }
        }
    }

    struct CheckOutcome: Sendable {
        let number: Int
        let seen: Seen

        var problem: DatabaseProblem? { seen.problem }

        func problem(holding application: ApplicationID) -> DatabaseProblem? {
            switch seen {
            case .unusable(let problem): problem
            case .holds(let applications, let variable):
                applications.contains(application) ? nil : .lacks(variable, application)
            }
        }
    }

    /// Asks the database for its deployment and its applications.
    ///
    /// - Throws: `DatabaseProblem` if the database is empty, outdated, the main one or another deployment's;
    ///   `PostgresError`, which is `cancelled` after the timeout.
    func sign(of deployment: UUID, within limit: Duration) async throws -> Seen {
        try await ended(after: limit) { try await self.sign(of: deployment) }
    }

    private func sign(of deployment: UUID) async throws -> Seen {
        let result: ResultSet
        do {
            result = try await client.query(Self.question)
        } catch {
            guard ["42P01", "3F000"].contains(error.sqlState) else { throw error }
            throw try await isEmpty() ? DatabaseProblem.empty(variable) : DatabaseProblem.foreign(variable)
        }
        guard let (id, isMain, version, applications) = try result.first(UUID.self, Bool.self, Int.self, [String].self),
            id == deployment
        else { throw DatabaseProblem.foreign(variable) }
        guard !isMain else { throw DatabaseProblem.main(variable) }
        guard version >= Store.expectedSchemaVersion else { throw DatabaseProblem.outdated(variable) }
        return .holds(Set(applications.compactMap { ApplicationID($0) }), variable: variable)
    }

    private static let question: Statement = """
        select d.id, d.main, (select coalesce(max(version), 0)::bigint from federation.schema_versions),
            (select coalesce(array_agg(id), '{}') from federation.applications)
        from federation.deployment d
        """

    private func isEmpty() async throws -> Bool {
        try await client.query("select to_regnamespace('federation') is null").first(Bool.self) ?? false
    }

    /// Returns whether a schema has been copied to this database.
    func hasUsers(inSchema schema: String) async throws -> Bool {
        let question: Statement = "select to_regclass(format('%I.users', \(schema)::text)) is not null"
        return try await client.query(question).first(Bool.self) ?? false
    }
}
