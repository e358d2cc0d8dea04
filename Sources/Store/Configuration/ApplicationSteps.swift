import Postgres
import Vocabulary

extension ChangeTransaction {
    /// Makes the application and its PostgreSQL schema, or takes over a schema of this service's own making.
    mutating func create(name: String, at place: ApplicationPlace, settings: JSONValue) async throws {
        let schema = place.schema
        try await Store.refuseTakenHostNames(in: settings, of: application, on: connection)
        _ = try await connection.query(
            """
            insert into federation.applications (id, name, schema_name, settings, database)
            values (\(application.text), \(name), \(schema), \(JSONText(settings.text)), \(place.database?.text))
            """
        )
        if let variable = place.database { try await enter(place, at: variable) }
        // Deleting the application will drop the schema with everything in it.
        let others = try await tables.query(
            """
            select exists (select from pg_class c where c.relnamespace = n.oid)
                and to_regclass(format('%I.sessions', n.nspname)) is null
            from pg_namespace n where n.nspname = \(schema)
            """
        )
        if try others.first?.decode(0, as: Bool.self) == true {
            throw foreign(schema, cause: "it holds something else")
        }
        do {
            _ = try await tables.query("select federation.create_application_schema(\(schema))")
        } catch {
            // Class 42: a statement does not fit the objects that it works on; but 42501 is about rights.
            guard let state = error.sqlState, state.description.hasPrefix("42"), state != "42501" else { throw error }
            throw foreign(schema, cause: "\(error)")
        }
        let columns = try LiveColumn.all(in: try await tables.query(LiveColumn.statement(ofSchema: schema)))
        guard UserColumns.system.allSatisfy({ name in columns.contains { $0.name.hasSameBytes(as: name) } }) else {
            throw foreign(schema, cause: "columns are missing")
        }
        if isCitus, place.database == nil {
            // It chooses a node.
            _ = try await tables.query("select citus_schema_distribute(to_regnamespace(quote_ident(\(schema))))")
        }
        self.place = place
        isNew = true
    }

    private func foreign(_ schema: String, cause: String) -> Failure {
        Failure(
            .conflict,
            """
            The schema \(schema) has tables that this service has not made. Choose another schema for the application's users, or \
            move those tables out of it.
            """,
            cause: cause
        )
    }

    func rename(to name: String) async throws {
        try await expectOne(
            "update federation.applications set name = \(name) where id = \(application.text)",
            "application"
        )
    }

    func changeSettings(_ settings: JSONValue) async throws {
        try await Store.refuseTakenHostNames(in: settings, of: application, on: connection)
        if let stored { try await Store.refuseIdentityChange(to: settings, of: stored, on: tables) }
        try await expectOne(
            """
            update federation.applications set settings = \(JSONText(settings.text)) where id = \(application.text)
            """,
            "application"
        )
    }

    func nameVariables(_ names: JSONValue) async throws {
        try await expectOne(
            "update federation.applications set variables = \(JSONText(names.text)) where id = \(application.text)",
            "application"
        )
    }

    /// Removes the application with its users and everything that others have made of their tables.
    mutating func delete(_ place: ApplicationPlace) async throws {
        // First the row, which all that belongs to the application goes with; logins wait from the second statement on.
        try await expectOne("delete from federation.applications where id = \(application.text)", "application")
        // A database of its own says that it holds the application until the main one has forgotten it (`Store.leave`).
        _ = try await tables.query("drop schema if exists \(identifier: place.schema) cascade")
        self.place = nil
    }
}
