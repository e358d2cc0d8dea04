import Domain
import Postgres

/// The database of an application's tables: the main one, or the application's own.
///
/// Every statement about users goes through this type. Statements about the configuration go to the main database. A
/// transaction is in one of the two databases. A change of both databases needs two transactions. The transaction in
/// the users' database is committed first, and the one in the main database last (decision D24). ``ChangeTransaction``
/// describes this. Audit log entries are committed before both: see `record`.
struct Tables: Sendable {
    let databases: Databases
    /// The application, and the environment variable with the URL of its own database; nil for the main database.
    let place: (variable: DatabaseVariable, application: ApplicationID)?
    /// The application's schema in the main database; nil for the configuration, and for users in another database.
    private let schema: String?

    /// Selects the tables of the configuration, which are in the main database.
    init(ofConfigurationIn databases: Databases) {
        self.databases = databases
        (place, schema) = (nil, nil)
    }

    /// Selects the tables of the schema `federation` in the database that has an application's users.
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

    /// Returns the client of the database, if the database is usable now.
    private func client() async throws(PostgresError) -> TracedClient {
        guard let place else { return TracedClient(client: databases.main) }
        do throws(DatabaseProblem) {
            return TracedClient(client: try await databases.client(at: place.variable, holding: place.application))
        } catch {
            throw .withheld(error.description)
        }
    }

    /// Whether Citus may distribute the tables; true until that has been queried.
    private var mayBeSharded: Bool { schema != nil && !databases.sharding.isAbsent }

    /// Returns whether no statement can use both these tables and the configuration's.
    ///
    /// That is so if the tables are in a database of the application's own, or if Citus distributes them.
    func areElsewhere() async throws(PostgresError) -> Bool {
        if place != nil { return true }
        return try await shards() != nil
    }

    /// Returns the shards of the application's tables, if Citus distributes them.
    func shards() async throws(PostgresError) -> Shards? {
        guard let schema, mayBeSharded else { return nil }
        return try await databases.sharding.shards(ofSchema: schema)
    }

    /// Returns how statements about the tables are rewritten for Citus; nil if they are sent unchanged.
    func detour() async throws(PostgresError) -> StatementDetour? {
        guard let schema, mayBeSharded else { return nil }
        return try await databases.sharding.detour(ofSchema: schema)
    }

    /// Runs one statement, with one retry if it failed because the tables have moved to Citus or back.
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

    /// Runs a transaction, with one retry if it failed because the tables have moved to Citus or back.
    ///
    /// A transaction that must not be repeated is not retried.
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

    /// Runs a closure on a connection whose statements are not rewritten for the shards of Citus.
    ///
    /// This is for scripts and commands about tables, which Citus accepts unchanged.
    func withConnection<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        try await client().withConnection(body)
    }

    /// Reacts to an error of a statement: requests a check of a database that was not reached, or clears the cache of
    /// Citus shards if they seem to have changed.
    ///
    /// - Returns: Whether the cache was cleared. If so, PostgreSQL has executed no part of the statement.
    private func doubt(_ error: PostgresError) -> Bool {
        if let schema, mayBeSharded { return databases.sharding.doubt(schema, since: error) }
        guard let place, error.handling == .dropConnection || error.handling == .wait else { return false }
        if let database = try? databases.database(place.variable) { database.checks.continuation.yield() }
        return false
    }

    /// Writes the audit log entries of a transaction that has written everything else.
    ///
    /// After this call the transaction may only take locks.
    ///
    /// The log is in the main database. If the users are in another one, the entries are committed before the
    /// transaction. So no change of users lacks its entry. The entry of a transaction whose commit failed stays
    /// (decision D24).
    func record(
        _ entries: [AuditRecord],
        by actor: ChangeAuthor,
        with connection: PostgresConnection
    ) async throws {
        guard place != nil, !entries.isEmpty else { return try await connection.record(entries, by: actor) }
        try await databases.record(entries, by: actor)
    }
}

extension Databases {
    /// Commits audit log entries in a transaction of their own, without a further lease of the connection pool.
    ///
    /// The caller holds a lease already. If concurrent changes needed two leases each, all of them could wait for their
    /// second.
    func record(_ entries: [AuditRecord], by actor: ChangeAuthor) async throws(PostgresError) {
        _ = try await main.query(actor.writing(entries))
    }
}

extension Store {
    /// The tables of the configuration.
    var configuration: Tables { Tables(ofConfigurationIn: databases) }

    /// Returns the tables of an application's users.
    func tables(of application: Application) -> Tables { tables(of: application.place) }

    func tables(of stored: StoredApplication) -> Tables { tables(of: stored.place) }

    /// Returns the tables of the application with the given database and schema; for nil, those of the configuration.
    func tables(of place: ApplicationPlace?) -> Tables {
        place.map { Tables(of: $0, in: databases) } ?? configuration
    }
}
