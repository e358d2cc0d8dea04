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
        do {
            try await postgres.withConnection { try await Self.applySchema(to: $0) }
        } catch {
            throw await migrationFailure(of: error)
        }
    }

    /// What an error of schema.sql means to who migrates.
    func migrationFailure(of error: any Error) async -> Failure {
        guard let error = error as? PostgresError else {
            return Failure(.internal, "The schema could not be applied.", cause: "\(error)")
        }
        // What schema.sql raises itself is written for who migrates, and repeats no value.
        if case .server(let refusal) = error, ["P0001", "55P03"].contains(refusal.sqlState) {
            return Failure(.storeUnavailable, "The schema was not brought up to its end: \(refusal.message).")
        }
        return await failure(of: error, in: nil)
    }

    /// Sends schema.sql part by part.
    ///
    /// - Parameters:
    ///   - connection: To the database that gets it.
    ///   - deployment: Whose own database that is to be; nil for the main one. The file's first transaction reads it,
    ///     and it is set for that alone: a pooler may have another session for the next.
    /// - Throws: `PostgresError`; `internal` for a file without a first transaction.
    static func applySchema(to connection: PostgresConnection, of deployment: UUID? = nil) async throws {
        var script = String(decoding: PackageResources.schema_sql, as: UTF8.self)
        if let deployment {
            guard let begin = script.firstRange(of: "\nbegin;\n") else {
                throw Failure(.internal, "schema.sql has no first transaction.")
            }
            script.insert(
                contentsOf: "set local federation.deployment = '\(deployment.uuidString)';\n",
                at: begin.upperBound
            )
        }
        for part in script.split(separator: divider) { try await connection.execute(script: String(part)) }
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
