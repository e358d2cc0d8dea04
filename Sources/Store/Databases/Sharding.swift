import NIOConcurrencyHelpers
import Postgres

/// The Citus shards of applications' tables, if the main database is a coordinator of Citus.
///
/// Whether it is a coordinator is queried once. The shards of an application are queried at the first use of its
/// tables, and again after an error that shows that the shards have changed. The failed statement is retried then. A
/// move to another node does not change the shards.
final class Sharding: Sendable {
    private let main: PostgresClient
    private let state = NIOLockedValueBox(State())

    private struct State: Sendable {
        /// Whether the main database is a coordinator; nil before the first query.
        var isThere: Bool?
        var schemas: [String: Known] = [:]
    }

    /// The cached data of an application's tables.
    private struct Known: Sendable {
        let shards: Shards
        /// Rewritten statements by text and value types; nil for a statement that Citus runs unchanged.
        var texts: [Key: Shards.Text?] = [:]
    }

    private struct Key: Sendable, Hashable {
        let sql: String
        let types: [String]
    }

    /// The maximum number of cached statements of an application.
    ///
    /// Searches have one statement for each combination of conditions.
    private static let maxTexts = 200

    init(main: PostgresClient) {
        self.main = main
    }

    /// Whether the main database is known not to be a coordinator.
    var isAbsent: Bool { state.withLockedValue { $0.isThere == false } }

    /// Returns whether the main database is a coordinator of Citus.
    func isThere() async throws(PostgresError) -> Bool {
        if let known = state.withLockedValue(\.isThere) { return known }
        let question: Statement = "select to_regclass('pg_catalog.pg_dist_shard') is not null"
        guard let found = try await main.query(question).first(Bool.self) else { return false }
        state.withLockedValue { $0.isThere = found }
        return found
    }

    /// Returns the shards of an application's tables; nil if Citus does not distribute them.
    func shards(ofSchema schema: String) async throws(PostgresError) -> Shards? {
        guard try await isThere() else { return nil }
        if let known = state.withLockedValue({ $0.schemas[schema]?.shards }) { return known }
        let result = try await main.query(
            """
            select c.relname::text, min(s.shardid) from pg_dist_shard s
            join pg_class c on c.oid = s.logicalrelid join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = \(schema)
            group by c.relname having count(*) = 1
            """
        )
        // Tables with several shards are left out, since no shard has all of the rows. Citus runs their statements
        // unchanged.
        let numbers = Dictionary(uniqueKeysWithValues: try result.all(String.self, Int64.self))
        // Not cached, since Citus may be given the tables at any time.
        guard !numbers.isEmpty else { return nil }
        let shards = Shards(schema: schema, numbers: numbers)
        state.withLockedValue { $0.schemas[schema] = Known(shards: shards) }
        return shards
    }

    /// Returns how statements about an application's users are rewritten for Citus; nil if they are sent unchanged.
    func detour(ofSchema schema: String) async throws(PostgresError) -> StatementDetour? {
        guard let shards = try await shards(ofSchema: schema) else { return nil }
        return StatementDetour { statement, connection throws(PostgresError) in
            try await self.rewritten(statement, shards, describing: connection.columnTypes)
        } explain: { error in
            self.explained(error, shards)
        }
    }

    /// Returns the statement that is sent in place of one about an application's users.
    ///
    /// - Parameters:
    ///   - statement: The statement for an ordinary server.
    ///   - shards: The application's shards.
    ///   - columnTypes: Queries the result columns of the statement.
    /// - Returns: The statement to send.
    /// - Throws: The server's error about the statement.
    func rewritten(
        _ statement: Statement,
        _ shards: Shards,
        describing columnTypes: (Statement) async throws(PostgresError) -> [String]
    ) async throws(PostgresError) -> Statement {
        let key = Key(sql: statement.sql, types: statement.binds.map { "\($0)" })
        if let known = state.withLockedValue({ $0.schemas[shards.schema]?.texts[key] }) {
            return known?.statement(with: statement.binds) ?? statement
        }
        var text: Shards.Text?
        if let command = shards.command(of: statement) {
            text = Shards.Text(
                command,
                values: statement.binds.count,
                columns: try await columnTypes(statement),
                reads: Shards.onlyReads(statement),
                schema: shards.schema
            )
        }
        state.withLockedValue { [text] state in
            guard var known = state.schemas.removeValue(forKey: shards.schema) else { return }
            if known.texts.count >= Self.maxTexts { known.texts.removeAll() }
            known.texts[key] = .some(text)
            state.schemas[shards.schema] = known
        }
        return text?.statement(with: statement.binds) ?? statement
    }

    /// Replaces the names of shards in an error by those of the tables.
    ///
    /// Clears the cache if the error suggests that it is outdated.
    func explained(_ error: PostgresError, _ shards: Shards) -> PostgresError {
        doubt(shards.schema, since: error)
        return shards.explained(error)
    }

    /// Clears the cache of an application's tables if an error suggests that it is outdated.
    ///
    /// - Returns: Whether the cache was cleared. If so, PostgreSQL has executed no part of the statement.
    @discardableResult
    func doubt(_ schema: String, since error: PostgresError) -> Bool {
        guard let code = error.sqlState, ["0A000", "42P01", "42703", "42804"].contains(code) else { return false }
        state.withLockedValue { $0.schemas[schema] = nil }
        return true
    }
}
