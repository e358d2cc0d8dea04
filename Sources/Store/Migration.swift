import Postgres
package import Vocabulary

extension Store {
    /// The version of schema.sql that this binary was built with.
    package var expectedSchemaVersion: Int { 9 }

    /// Applies schema.sql, which brings its own transaction and advisory lock; applying it again changes nothing.
    package func migrate() async throws(Failure) {
        let script = String(decoding: PackageResources.schema_sql, as: UTF8.self)
        do {
            try await postgres.withConnection { connection in try await connection.execute(script: script) }
        } catch let error as PostgresError {
            throw await failure(of: error, in: nil)
        } catch {
            throw Failure(.internal, "The schema could not be applied.", cause: "\(error)")
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
