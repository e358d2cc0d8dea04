import Domain
import Testing

func application(_ name: String) throws -> ApplicationID { try #require(ApplicationID(name)) }

/// Returns an application with only an id, and with a database of its own if one is named.
func configured(_ name: String, at database: DatabaseVariable? = nil) throws -> Application {
    Application(
        id: try application(name),
        name: name,
        schema: name,
        database: database,
        revision: 1,
        settings: ApplicationSettings(),
        properties: Property.builtIn
    )
}
