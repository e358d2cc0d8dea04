import Postgres
package import Vocabulary

extension Store {
    /// The version of schema.sql that this binary was built with.
    package var expectedSchemaVersion: Int { Self.schemaVersionOfThisBinary }

    static let schemaVersionOfThisBinary = 10

    /// What in schema.sql divides statements that must not be sent together.
    private static let divider = "\n-- by itself\n"

    /// Applies schema.sql, which brings its own transactions and advisory lock; applying it again changes nothing.
    ///
    /// One that ends in the middle has brought up what all applications share, and some applications; the next one does
    /// the rest.
    package func migrate() async throws(Failure) {
        do {
            try await postgres.withConnection { try await Self.applySchema(to: $0) }
        } catch let error as PostgresError {
            // What schema.sql raises itself is written for who migrates, and repeats no value.
            if case .server(let refusal) = error, ["P0001", "55P03"].contains(refusal.sqlState) {
                throw Failure(.storeUnavailable, "The schema was not brought up to its end: \(refusal.message).")
            }
            throw await failure(of: error, in: nil)
        } catch {
            throw Failure(.internal, "The schema could not be applied.", cause: "\(error)")
        }
    }

    /// Sends schema.sql part by part.
    static func applySchema(to connection: PostgresConnection) async throws {
        let script = String(decoding: PackageResources.schema_sql, as: UTF8.self)
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
