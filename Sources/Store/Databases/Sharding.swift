import NIOConcurrencyHelpers
import Postgres
import Vocabulary

/// Where Citus has the tables of applications, if the main database is a coordinator of it.
///
/// Whether it is one is asked once. Which shards an application has is asked when its tables are first used, and again
/// after an error that comes of their having become others, when the statement is repeated; a move to another node does
/// not change them.
final class Sharding: Sendable {
    private let main: PostgresClient
    private let state = NIOLockedValueBox(State())

    private struct State: Sendable {
        /// Whether the main database is a coordinator; nil while nobody has asked.
        var isThere: Bool?
        var schemas: [String: Known] = [:]
    }

    /// What is known of an application's tables.
    private struct Known: Sendable {
        let shards: Shards
        /// By the text and the types of the values; nil for a statement that Citus runs as it is.
        var texts: [Key: Shards.Text?] = [:]
    }

    private struct Key: Sendable, Hashable {
        let sql: String
        let types: [String]
    }

    /// Texts that are kept of one application: searches have as many as there are conditions.
    private static let mostTexts = 200

    init(main: PostgresClient) {
        self.main = main
    }

    /// Whether the main database is known to be an ordinary one.
    var isAbsent: Bool { state.withLockedValue { $0.isThere == false } }

    /// Whether the main database is a coordinator of Citus.
    func isThere() async throws(PostgresError) -> Bool {
        if let known = state.withLockedValue(\.isThere) { return known }
        let row = try await main.query("select to_regclass('pg_catalog.pg_dist_shard') is not null").first
        guard let row else { return false }
        let found = try row.decode(0, as: Bool.self)
        state.withLockedValue { $0.isThere = found }
        return found
    }

    /// The shards of an application's tables; nil where the tables are ordinary ones.
    func shards(ofSchema schema: String) async throws(PostgresError) -> Shards? {
        guard try await isThere() else { return nil }
        if let known = state.withLockedValue({ $0.schemas[schema]?.shards }) { return known }
        let result = try await main.query(
            """
            select c.relname::text, s.shardid from pg_dist_shard s
            join pg_class c on c.oid = s.logicalrelid join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = \(schema)
            """
        )
        var numbers: [String: Int64] = [:]
        for row in result.rows { numbers[try row.decode(0, as: String.self)] = try row.decode(1, as: Int64.self) }
        // Not remembered, since Citus may be given the tables at any moment.
        guard !numbers.isEmpty else { return nil }
        let shards = Shards(schema: schema, numbers: numbers)
        state.withLockedValue { $0.schemas[schema] = Known(shards: shards) }
        return shards
    }

    /// The way that statements about an application's users take; nil where they are sent as they are.
    func detour(ofSchema schema: String) async throws(PostgresError) -> StatementDetour? {
        guard let shards = try await shards(ofSchema: schema) else { return nil }
        return StatementDetour { statement, connection throws(PostgresError) in
            try await self.rewritten(statement, shards, describing: connection.columnTypes)
        } explain: { error in
            self.explained(error, shards)
        }
    }

    /// The statement that is sent in the place of one about an application's users.
    ///
    /// - Parameters:
    ///   - statement: The statement as it is for an ordinary server.
    ///   - shards: Those of the application.
    ///   - columnTypes: Asks which columns it has.
    /// - Returns: What is sent.
    /// - Throws: What the server has against it.
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
            if known.texts.count >= Self.mostTexts { known.texts.removeAll() }
            known.texts[key] = .some(text)
            state.schemas[shards.schema] = known
        }
        return text?.statement(with: statement.binds) ?? statement
    }

    /// What an error means, with the names of tables as statements have them.
    func explained(_ error: PostgresError, _ shards: Shards) -> PostgresError {
        doubt(shards.schema, since: error)
        return shards.explained(error)
    }

    /// Forgets what is known of an application's tables where an error says that it may be wrong.
    ///
    /// - Returns: Whether it does. PostgreSQL has done nothing of the statement then.
    @discardableResult
    func doubt(_ schema: String, since error: PostgresError) -> Bool {
        guard let code = error.sqlState, ["0A000", "42P01", "42703", "42804"].contains(code) else { return false }
        state.withLockedValue { $0.schemas[schema] = nil }
        return true
    }
}
