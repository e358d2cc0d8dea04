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
    private let place: (variable: DatabaseVariable, application: ApplicationID)?

    /// The tables of the configuration.
    init(ofConfigurationIn databases: Databases) {
        self.databases = databases
        place = nil
    }

    init(of application: ApplicationID, at variable: DatabaseVariable?, in databases: Databases) {
        self.databases = databases
        place = variable.map { ($0, application) }
    }

    /// Whether they are not where the configuration is.
    var areElsewhere: Bool { place != nil }

    /// The database, if it can be used now.
    private func client() async throws(PostgresError) -> TracedClient {
        guard let place else { return TracedClient(client: databases.main) }
        do throws(DatabaseProblem) {
            return TracedClient(client: try await databases.client(at: place.variable, holding: place.application))
        } catch {
            throw .withheld(error.description)
        }
    }

    func query(
        _ statement: Statement,
        near affinity: Affinity? = nil,
        isRare: Bool = false
    ) async throws(PostgresError) -> ResultSet {
        let client = try await client()
        do {
            return try await client.query(statement, near: affinity, isRare: isRare)
        } catch {
            doubt(error)
            throw error
        }
    }

    func withTransaction<Result: Sendable>(
        isRepeated: Bool = true,
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        let client = try await client()
        do {
            return try await client.withTransaction(isRepeated: isRepeated, body)
        } catch let error as PostgresError {
            doubt(error)
            throw error
        }
    }

    func withConnection<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        try await client().withConnection(body)
    }

    /// Has a database looked at that somebody did not reach.
    private func doubt(_ error: PostgresError) {
        guard let place, error.handling == .dropConnection || error.handling == .wait else { return }
        if let database = try? databases.database(place.variable) { database.looks.continuation.yield() }
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
        try await databases.main.withTransaction { try await $0.record(entries, by: actor) }
    }
}

extension Store {
    /// Where the configuration is.
    var configuration: Tables { Tables(ofConfigurationIn: databases) }

    /// Where the users of an application are.
    func tables(of application: Application) -> Tables {
        Tables(of: application.id, at: application.database, in: databases)
    }

    func tables(of stored: StoredApplication) -> Tables {
        Tables(of: stored.id, at: stored.database, in: databases)
    }

    /// Those of operators when there is no application.
    func tables(of place: ApplicationPlace?) -> Tables {
        place.map { Tables(of: $0.id, at: $0.database, in: databases) } ?? configuration
    }
}
