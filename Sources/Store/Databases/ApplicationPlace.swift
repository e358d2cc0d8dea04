package import Domain
import Postgres

/// Where an application's tables are: their PostgreSQL schema, and the database if that is not the main one.
package struct ApplicationPlace: Sendable, Hashable {
    package let id: ApplicationID
    let schema: String
    let database: DatabaseVariable?

    /// Whether the tables are in a database of the application's own.
    package var isElsewhere: Bool { database != nil }
}

extension Application {
    package var place: ApplicationPlace { ApplicationPlace(id: id, schema: schema, database: database) }
}

extension StoredApplication {
    package var place: ApplicationPlace { ApplicationPlace(id: id, schema: schema, database: database) }
}

extension Store {
    /// Returns where each application has its tables, ordered by the applications' ids.
    package func applicationPlaces() async throws(Failure) -> [ApplicationPlace] {
        let result = try await query("select id, schema_name, database from federation.applications order by id")
        return try result.all(String.self, String.self, String?.self).compactMap { id, schema, variable in
            let database = variable.flatMap(DatabaseVariable.init)
            // An application with a malformed variable name is left out. Its users must not be looked for in the main
            // database.
            guard let id = ApplicationID(id), variable == nil || database != nil else { return nil }
            return ApplicationPlace(id: id, schema: schema, database: database)
        }
    }
}
