import Postgres
import Vocabulary

/// Where an application's tables are: the main database, or the application's own.
///
/// Each statement about users goes through here; what is asked of the configuration goes to the main database. A
/// transaction is about one of both. What belongs together and is in both is written to the users' database first, and
/// committed there last but one: see ``AuditRecord`` and ``ChangeTransaction`` (decision D24).
struct Tables: Sendable {
    let databases: Databases
    /// Nil for the main database.
    let place: (variable: DatabaseVariable, application: ApplicationID)?
    /// The application's schema in the main database; nil for the configuration, and for another database.
    private let schema: String?

    /// The tables of the configuration.
    init(ofConfigurationIn databases: Databases) {
        self.databases = databases
        (place, schema) = (nil, nil)
    }

    /// What is in the schema `federation` of the database of an application's users.
    init(besideUsersOf application: ApplicationID, at variable: DatabaseVariable?, in databases: Databases) {
        self.databases = databases
        place = variable.map { ($0, application) }
        schema = nil
    }

    init(of application: ApplicationPlace, in databases: Databases) {
        self.databases = databases
        place = application.database.map { ($0, application.id) }
        schema = application.database == nil ? application.schema : nil
    }

    /// The database, if it can be used now.
    private func client() async throws(PostgresError) -> TracedClient {
        guard let place else { return TracedClient(client: databases.main) }
        do throws(DatabaseProblem) {
            return TracedClient(client: try await databases.client(at: place.variable, holding: place.application))
        } catch {
            throw .withheld(error.description)
        }
    }

    /// Whether Citus may have them, as long as nobody has looked.
    private var mayBeSharded: Bool { schema != nil && !databases.sharding.isAbsent }

    /// Whether no statement can be about them and about the configuration.
    func areElsewhere() async throws(PostgresError) -> Bool {
        if place != nil { return true }
        return try await shards() != nil
    }

    /// The shards of the application's tables, where Citus has them.
    func shards() async throws(PostgresError) -> Shards? {
        guard let schema, mayBeSharded else { return nil }
        return try await databases.sharding.shards(ofSchema: schema)
    }

    /// The way that their statements take; nil where they are sent as they are.
    func detour() async throws(PostgresError) -> StatementDetour? {
        guard let schema, mayBeSharded else { return nil }
        return try await databases.sharding.detour(ofSchema: schema)
    }

    /// Runs one statement; once more where it has failed since the tables have become others, to Citus or back.
    func query(
        _ statement: Statement,
        near affinity: Affinity? = nil,
        isRare: Bool = false
    ) async throws(PostgresError) -> ResultSet {
        let client = try await client()
        do {
            return try await query(statement, near: affinity, isRare: isRare, by: client)
        } catch {
            guard doubt(error) else { throw error }
        }
        return try await query(statement, near: affinity, isRare: isRare, by: client)
    }

    private func query(
        _ statement: Statement,
        near affinity: Affinity?,
        isRare: Bool,
        by client: TracedClient
    ) async throws(PostgresError) -> ResultSet {
        guard mayBeSharded, let shards = try await shards() else {
            return try await client.query(statement, near: affinity, isRare: isRare)
        }
        let sharding = databases.sharding
        do {
            let sent = try await sharding.rewritten(statement, shards, describing: client.client.columnTypes)
            return try await client.query(sent, near: affinity, isRare: isRare)
        } catch {
            throw sharding.explained(error, shards)
        }
    }

    /// Runs a transaction; once more, unless it must not be repeated, where it has failed since the tables have become
    /// others.
    func withTransaction<Result: Sendable>(
        isRepeated: Bool = true,
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        let client = try await client()
        do {
            return try await withTransaction(isRepeated: isRepeated, by: client, body)
        } catch let error as PostgresError {
            guard doubt(error), isRepeated else { throw error }
        }
        return try await withTransaction(isRepeated: true, by: client, body)
    }

    private func withTransaction<Result: Sendable>(
        isRepeated: Bool,
        by client: TracedClient,
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        let detour = try await detour()
        return try await client.withTransaction(isRepeated: isRepeated) { connection in
            try await body(connection.taking(detour))
        }
    }

    /// For scripts and commands about tables, which take no detour: Citus takes them as SQL.
    func withConnection<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        try await client().withConnection(body)
    }

    /// Has a database looked at that somebody did not reach, and forgets shards that seem to have become others.
    ///
    /// - Returns: Whether it has forgotten them; PostgreSQL has done nothing then.
    private func doubt(_ error: PostgresError) -> Bool {
        if let schema, mayBeSharded { return databases.sharding.doubt(schema, since: error) }
        guard let place, error.handling == .dropConnection || error.handling == .wait else { return false }
        if let database = try? databases.database(place.variable) { database.looks.continuation.yield() }
        return false
    }

    /// Writes entries of the audit log about what a transaction has done, as its last statement but for locks.
    ///
    /// The log is in the main database. Where the users are elsewhere the entries are committed there before the
    /// transaction is: nothing happens to users without its entry, and the entry of a transaction whose commit failed
    /// stays (decision D24).
    func record(
        _ entries: [AuditRecord],
        by actor: Actor,
        with connection: PostgresConnection
    ) async throws {
        guard place != nil, !entries.isEmpty else { return try await connection.record(entries, by: actor) }
        try await databases.record(entries, by: actor)
    }
}

extension Databases {
    /// Commits entries of the audit log by themselves, on none of the connections that are lent: whoever calls has one
    /// already, and of two for each of some changes at once nobody would get the second.
    func record(_ entries: [AuditRecord], by actor: Actor) async throws(PostgresError) {
        _ = try await main.query(actor.writing(entries))
    }
}

extension Store {
    /// Where the configuration is.
    var configuration: Tables { Tables(ofConfigurationIn: databases) }

    /// Where the users of an application are.
    func tables(of application: Application) -> Tables { tables(of: application.place) }

    func tables(of stored: StoredApplication) -> Tables { tables(of: stored.place) }

    /// Those of operators when there is no application.
    func tables(of place: ApplicationPlace?) -> Tables {
        place.map { Tables(of: $0, in: databases) } ?? configuration
    }
}
