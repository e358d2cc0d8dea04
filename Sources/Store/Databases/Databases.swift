import FoundationEssentials
import NIOConcurrencyHelpers
package import Postgres
package import Vocabulary

/// The databases of a deployment: the main one, which has the configuration, and those that applications have of their
/// own (decision D24).
///
/// A database of an application's own is opened when it is first asked for, and looked at every two seconds from then
/// on: whether it answers, and whether it says of itself that it is this deployment's and holds the application. Unless
/// it has just said so nothing is asked of it, so what is away or another's costs whoever asks no time.
package final class Databases: Sendable {
    package let main: PostgresClient
    /// Where Citus has the tables of applications.
    let sharding: Sharding
    private let configure: @Sendable (DatabaseVariable) throws(DatabaseProblem) -> PostgresConfiguration
    private let observer: @Sendable (DatabaseVariable, DatabaseProblem?) -> Void
    private let state = NIOLockedValueBox(State())
    private let opened = AsyncStream.makeStream(of: OwnDatabase.self)

    private struct State: Sendable {
        var own: [DatabaseVariable: OwnDatabase] = [:]
        /// Which deployment the main database is of.
        var deployment: UUID?
        var isShutDown = false
    }

    /// How often a database is looked at.
    static let interval: Duration = .seconds(2)
    /// How long a look may take, and how long somebody waits for the first one.
    static let patience: Duration = .milliseconds(900)
    /// How long a look may take for which a person waits.
    static let patienceOfOperators: Duration = .seconds(5)

    /// Of a deployment none of whose applications has a database of its own.
    package convenience init(main: PostgresClient) {
        self.init(main: main) { (variable: DatabaseVariable) throws(DatabaseProblem) in throw .unset(variable) }
    }

    /// Collects what there is.
    ///
    /// - Parameters:
    ///   - main: The main database.
    ///   - observer: Hears when a database cannot be used, and why, and when it can be used again.
    ///   - configure: How the database of a variable is reached.
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

    /// The life of all connections, until the task is cancelled or ``shutdown()`` is called.
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

    /// Ends the life of all connections; what has been sent is still answered.
    package func shutdown() {
        let own = state.withLockedValue { state in
            state.isShutDown = true
            return Array(state.own.values)
        }
        opened.continuation.finish()
        for database in own {
            database.looks.continuation.finish()
            database.client.shutdown()
        }
        main.shutdown()
    }

    /// The clients of the databases that applications have of their own, as far as they have been opened.
    package var own: [PostgresClient] { state.withLockedValue { $0.own.values.map(\.client) } }

    /// The database of a variable, whatever is in it.
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

    /// What is known of an application's database, which is opened and looked at from now on; nil while it has not been
    /// looked at.
    package func problem(of application: Application) -> DatabaseProblem? {
        guard let variable = application.database else { return nil }
        do throws(DatabaseProblem) {
            return try database(variable).sight.withLockedValue(\.self)?.problem(holding: application.id)
        } catch {
            return error
        }
    }

    /// The client for an application's users, once its database has said that it holds them.
    ///
    /// What it said a moment ago counts. Who asks before anything is known of it, or after an application that has just
    /// come, waits for the next look.
    func client(at variable: DatabaseVariable, holding application: ApplicationID) async throws(DatabaseProblem)
        -> PostgresClient
    {
        let database = try database(variable)
        let first = database.sight.withLockedValue(\.self)
        if let first {
            guard let problem = first.problem(holding: application) else { return database.client }
            guard case .lacks = problem else { throw problem }
        }
        database.looks.continuation.yield()
        let end = ContinuousClock.now + Self.patience
        while ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(20))) != nil {
            guard let sight = database.sight.withLockedValue(\.self), sight.number != first?.number else { continue }
            guard let problem = sight.problem(holding: application) else { return database.client }
            throw problem
        }
        throw first?.problem(holding: application) ?? .away(variable)
    }

    // MARK: Looks

    /// Looks now and then, and whenever somebody has a reason to.
    private func watch(_ database: OwnDatabase) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    database.looks.continuation.yield()
                    try? await Task.sleep(for: Self.interval)
                }
            }
            for await _ in database.looks.stream {
                guard let seen = await look(at: database) else { continue }
                let former = database.sight.withLockedValue { sight in
                    defer { sight = OwnDatabase.Sight(number: (sight?.number ?? 0) + 1, seen: seen) }
                    return sight
                }
                let (before, now) = (former.map(\.problem), seen.problem)
                if before != .some(now) { observer(database.variable, now) }
            }
            group.cancelAll()
        }
    }

    /// What a database says of itself; nil where that cannot be judged, since the main one does not answer.
    private func look(at database: OwnDatabase) async -> OwnDatabase.Seen? {
        guard let ours = await deployment() else { return nil }
        let variable = database.variable
        do {
            let seen = try await database.sign(of: ours, within: Self.patience)
            database.isLate.withLockedValue { $0 = false }
            return seen
        } catch PostgresError.cancelled {
            // Behind many logins a look may come late once without anything being wrong.
            let wasLate = database.isLate.withLockedValue { isLate in
                defer { isLate = true }
                return isLate
            }
            let isUsed = database.sight.withLockedValue { $0.map { $0.problem == nil } ?? false }
            return isUsed && !wasLate ? nil : .unusable(.away(variable))
        } catch {
            return .unusable(DatabaseProblem(error, of: variable))
        }
    }

    /// Which deployment the main database is of; nil while it does not answer.
    func deployment() async -> UUID? {
        if let known = state.withLockedValue(\.deployment) { return known }
        let row = try? await main.query("select id from federation.deployment").first
        guard let found = try? row?.decode(0, as: UUID.self) else { return nil }
        state.withLockedValue { $0.deployment = found }
        return found
    }
}

/// Ends what takes too long.
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

/// A database that applications have of their own.
final class OwnDatabase: Sendable {
    let variable: DatabaseVariable
    let client: PostgresClient
    /// What was seen last; nil before the first look.
    let sight = NIOLockedValueBox<Sight?>(nil)
    /// Whether the last look took too long.
    let isLate = NIOLockedValueBox(false)
    /// Somebody has a reason to look.
    let looks = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(variable: DatabaseVariable, client: PostgresClient) {
        self.variable = variable
        self.client = client
    }

    enum Seen: Sendable {
        /// It is the deployment's, and holds the users of these.
        case holds(Set<ApplicationID>, variable: DatabaseVariable)
        case unusable(DatabaseProblem)

        var problem: DatabaseProblem? {
            if case .unusable(let problem) = self { problem } else { nil }
        }
    }

    struct Sight: Sendable {
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

    /// What it says of itself.
    ///
    /// - Throws: `DatabaseProblem` when it is none of the deployment's; `PostgresError`, `cancelled` when it has said
    ///   nothing in that time.
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
        guard let row = result.first else { throw DatabaseProblem.foreign(variable) }
        guard try row.decode(0, as: UUID.self) == deployment else { throw DatabaseProblem.foreign(variable) }
        guard try !row.decode(1, as: Bool.self) else { throw DatabaseProblem.main(variable) }
        guard try row.decode(2, as: Int.self) >= Store.expectedSchemaVersion else {
            throw DatabaseProblem.outdated(variable)
        }
        return .holds(
            Set(try row.decode(3, as: [String].self).compactMap { ApplicationID($0) }),
            variable: variable
        )
    }

    private static let question: Statement = """
        select d.id, d.main, (select coalesce(max(version), 0)::bigint from federation.schema_versions),
            (select coalesce(array_agg(id), '{}') from federation.applications)
        from federation.deployment d
        """

    private func isEmpty() async throws -> Bool {
        let found = try await client.query("select to_regnamespace('federation') is null").first
        return try found?.decode(0, as: Bool.self) ?? false
    }

    /// Whether a schema has been copied there.
    func hasUsers(inSchema schema: String) async throws -> Bool {
        let found = try await client.query("select to_regclass(format('%I.users', \(schema)::text)) is not null").first
        return try found?.decode(0, as: Bool.self) ?? false
    }
}
