package import Domain
import EmbeddedFiles
import FoundationEssentials
import Postgres

extension Store {
    /// The version of the schema.sql in this binary.
    package static let expectedSchemaVersion = 17

    /// The line of schema.sql that separates statements that must not be sent together.
    private static let divider = "\n-- by itself\n"

    /// Applies schema.sql, which contains its own transactions and advisory lock.
    ///
    /// A second call changes nothing.
    ///
    /// If a migration is interrupted, the shared tables and some applications may already be upgraded. The next
    /// migration upgrades the rest.
    package func migrate() async throws(Failure) {
        do { try await Self.applySchema(by: databases.main) } catch { throw await migrationFailure(of: error) }
    }

    /// Returns the failure that reports an error of schema.sql to the operator who migrates.
    func migrationFailure(of error: any Error) async -> Failure {
        guard let error = error as? PostgresError else {
            return Failure(.internal, "The schema could not be applied.", cause: "\(error)")
        }
        guard case .server(let refusal) = error else { return await failure(of: error, in: nil) }
        switch refusal.sqlState {
        // Errors that schema.sql raises itself are written for the operator who migrates, and repeat no value.
        case "P0001", "55006":
            return Failure(.storeUnavailable, "The migration failed: \(refusal.message).")
        case let state where state.isOfLocks:
            return Failure(
                .storeUnavailable,
                """
                The migration is not finished: its locks conflicted with other sessions in each of \
                \(Self.maxMigrations) attempts. Find the sessions with long locks in pg_locks, then migrate again to \
                finish it.
                """,
                cause: "\(error)"
            )
        default: return await failure(of: error, in: nil)
        }
    }

    /// The maximum number of attempts to apply schema.sql when its locks collide with those of other sessions.
    private static let maxMigrations = 5

    /// Sends schema.sql part by part, and starts over if a part fails because of another session's locks.
    ///
    /// Starting over is safe: each part has its own transactions and does nothing twice.
    ///
    /// - Parameters:
    ///   - client: The client of the target database.
    ///   - deployment: The deployment to which the database belongs; nil for the main database. This method inserts a
    ///     `set local` with the id into the first transaction of schema.sql, which reads the id. If the id were set for
    ///     the session before that transaction, it would be lost when a pooler uses another session for the
    ///     transaction.
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
            } catch let error as PostgresError where error.sqlState?.isOfLocks == true && attempt < maxMigrations {
                attempt += 1
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...500)))
            }
        }
    }

    /// Returns the newest version of schema.sql that was applied to the database; 0 when none was.
    package func schemaVersion() async throws(Failure) -> Int {
        let exists = try await query("select to_regclass('federation.schema_versions') is not null")
        guard try exists.first(Bool.self) == true else { return 0 }
        let version = try await query("select coalesce(max(version), 0)::bigint from federation.schema_versions")
        return try version.first(Int.self) ?? 0
    }
}

extension SQLState {
    /// Whether a statement failed because of other sessions' locks: a deadlock or a lock timeout.
    var isOfLocks: Bool { self == "40P01" || self == "55P03" }
}
