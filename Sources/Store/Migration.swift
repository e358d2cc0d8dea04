import EmbeddedFiles
import FoundationEssentials
import Postgres
package import Vocabulary

extension Store {
    /// The version of schema.sql that this binary was built with.
    package static let expectedSchemaVersion = 14

    /// What in schema.sql divides statements that must not be sent together.
    private static let divider = "\n-- by itself\n"

    /// Applies schema.sql, which brings its own transactions and advisory lock; applying it again changes nothing.
    ///
    /// One that ends in the middle has brought up what all applications share, and some applications; the next one does
    /// the rest.
    package func migrate() async throws(Failure) {
        do { try await Self.applySchema(by: databases.main) } catch { throw await migrationFailure(of: error) }
    }

    /// What an error of schema.sql means to who migrates.
    func migrationFailure(of error: any Error) async -> Failure {
        guard let error = error as? PostgresError else {
            return Failure(.internal, "The schema could not be applied.", cause: "\(error)")
        }
        guard case .server(let refusal) = error else { return await failure(of: error, in: nil) }
        switch refusal.sqlState {
        // What schema.sql raises itself is written for who migrates, and repeats no value.
        case "P0001", "55006":
            return Failure(.storeUnavailable, "The schema was not brought up to its end: \(refusal.message).")
        case let state where state.isOfLocks:
            return Failure(
                .storeUnavailable,
                """
                The schema was not brought up to its end: its locks collided with those of other sessions in each of \
                \(Self.mostMigrations) attempts. See who holds locks for long by pg_locks, and migrate again then, \
                which does the rest.
                """,
                cause: "\(error)"
            )
        default: return await failure(of: error, in: nil)
        }
    }

    /// How often schema.sql is begun where its locks collide with those of others.
    private static let mostMigrations = 5

    /// Sends schema.sql part by part, and from its beginning again after a collision of locks: a part has transactions
    /// of its own and does nothing twice.
    ///
    /// - Parameters:
    ///   - client: To the database that gets it.
    ///   - deployment: Whose own database that is to be; nil for the main one. The file's first transaction reads it,
    ///     and it is set for that alone: a pooler may have another session for the next.
    /// - Throws: `PostgresError`; `internal` for a file without a first transaction.
    static func applySchema(by client: PostgresClient, of deployment: UUID? = nil) async throws {
        var script = String(decoding: EmbeddedFiles.schema, as: UTF8.self)
        if let deployment {
            guard let begin = script.firstRange(of: "\nbegin;\n") else {
                throw Failure(.internal, "schema.sql has no first transaction.")
            }
            script.insert(
                contentsOf: "set local federation.deployment = '\(deployment.uuidString)';\n",
                at: begin.upperBound
            )
        }
        let parts = script.split(separator: divider).map { String($0) }
        var attempt = 1
        while true {
            do {
                return try await client.withConnection { connection in
                    for part in parts { try await connection.execute(script: part) }
                }
            } catch let error as PostgresError where error.sqlState?.isOfLocks == true && attempt < mostMigrations {
                attempt += 1
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...500)))
            }
        }
    }

    /// The newest version of schema.sql that the database has seen; 0 when it has seen none.
    package func schemaVersion() async throws(Failure) -> Int {
        let exists = try await query("select to_regclass('federation.schema_versions') is not null")
        guard try read({ () throws(PostgresError) in try exists.first?.decode(0, as: Bool.self) }) == true else {
            return 0
        }
        let version = try await query("select coalesce(max(version), 0)::bigint from federation.schema_versions")
        return try read { () throws(PostgresError) in try version.first?.decode(0, as: Int.self) } ?? 0
    }
}

extension SQLState {
    /// Whether a statement was given up because of locks of others: a deadlock, or a wait that took too long.
    var isOfLocks: Bool { self == "40P01" || self == "55P03" }
}
