import Domain
import Encodings
import Postgres

extension ChangeTransaction {
    /// Creates the application and its PostgreSQL schema.
    ///
    /// If the schema exists already and has the tables of this service, the application uses it with its users. Any
    /// other schema with tables is refused.
    mutating func create(name: String, at place: ApplicationPlace, settings: JSONValue) async throws {
        let schema = place.schema
        try await Store.refuseTakenHostNames(in: settings, of: application, on: connection)
        try await Store.refuseTakenProject(in: settings, of: application, on: connection)
        _ = try await connection.query(
            """
            insert into federation.applications (id, name, schema_name, settings, database)
            values (\(application.text), \(name), \(schema), \(JSONText(settings.text)), \(place.database?.text))
            """
        )
        if let variable = place.database { try await enter(place, at: variable) }
        // A schema with other tables is refused: the deletion of the application drops the schema with everything in
        // it.
        let others = try await tables.query(
            """
            select exists (select from pg_class c where c.relnamespace = n.oid)
                and to_regclass(format('%I.sessions', n.nspname)) is null
            from pg_namespace n where n.nspname = \(schema)
            """
        )
        if try others.first(Bool.self) == true {
            throw foreign(schema, cause: "it holds something else")
        }
        do {
            _ = try await tables.query("select federation.create_application_schema(\(schema))")
        } catch {
            // Class 42: a statement does not fit the objects that it works on. The exception is 42501, which means
            // missing privileges.
            guard let state = error.sqlState, state.description.hasPrefix("42"), state != "42501" else { throw error }
            throw foreign(schema, cause: "\(error)")
        }
        let columns = try await tables.query(LiveColumn.statement(ofSchema: schema)).all(into: LiveColumn.init)
        guard UserColumns.system.allSatisfy({ name in columns.contains { $0.name.hasSameBytes(as: name) } }) else {
            throw foreign(schema, cause: "columns are missing")
        }
        if isCitus, place.database == nil {
            // Citus chooses a node.
            _ = try await tables.query("select citus_schema_distribute(to_regnamespace(quote_ident(\(schema))))")
        }
        self.place = place
        isNew = true
    }

    private func foreign(_ schema: String, cause: String) -> Failure {
        Failure(
            .conflict,
            """
            The schema \(schema) has tables that this service has not created. Choose another schema for the \
            application's users, or move these tables.
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
        try await Store.refuseTakenProject(in: settings, of: application, on: connection)
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

    /// Deletes the application with its users and all objects that depend on their tables.
    mutating func delete(_ place: ApplicationPlace) async throws {
        // The row goes first, with everything that refers to it. Logins wait from the second statement on.
        try await expectOne("delete from federation.applications where id = \(application.text)", "application")
        // A database of the application's own keeps its row of the application for now. `Store.leave` deletes the row
        // after the commit in the main database.
        _ = try await tables.query("drop schema if exists \(identifier: place.schema) cascade")
        self.place = nil
    }
}

extension ChangeTransaction {
    func addKey(label: String, hash: [UInt8], server: Bool) async throws {
        _ = try await connection.query(
            """
            insert into federation.api_keys (application_id, key_hash, label, server)
            values (\(application.text), \(hash), \(label), \(server))
            """
        )
    }

    func replaceKey(label: String, hash: [UInt8]) async throws {
        try await expectOne(
            """
            update federation.api_keys set key_hash = \(hash), created = now()
            where application_id = \(application.text) and label = \(label)
            """,
            "key \(label)"
        )
    }

    func relabelKey(from: String, to: String) async throws {
        try await expectOne(
            """
            update federation.api_keys set label = \(to) where application_id = \(application.text) and label = \(from)
            """,
            "key \(from)"
        )
    }

    func changeKey(label: String, server: Bool) async throws {
        try await expectOne(
            """
            update federation.api_keys set server = \(server)
            where application_id = \(application.text) and label = \(label)
            """,
            "key \(label)"
        )
    }

    func revokeKey(label: String) async throws {
        try await expectOne(
            "delete from federation.api_keys where application_id = \(application.text) and label = \(label)",
            "key \(label)"
        )
    }
}

extension ChangeTransaction {
    func setProvider(_ provider: ProviderName, kind: ProviderName, enabled: Bool, options: JSONValue) async throws {
        _ = try await connection.query(
            """
            insert into federation.provider_settings (application_id, provider, kind, enabled, options)
            values (\(application.text), \(provider.text), \(kind.text), \(enabled), \(JSONText(options.text)))
            on conflict (application_id, provider) do update
                set kind = excluded.kind, enabled = excluded.enabled, options = excluded.options
            """
        )
    }

    func setApps(_ apps: [ConfigurationChange.App], of provider: ProviderName) async throws {
        let ids = apps.map(\.id.text)
        _ = try await connection.query(
            """
            delete from federation.provider_apps
            where application_id = \(application.text) and provider = \(provider.text) and app_id <> all (\(ids))
            """
        )
        for (position, app) in apps.enumerated() {
            if let secret = app.secret {
                try await store(secret, of: app, at: provider, position: position)
            } else {
                try await expectOne(
                    """
                    update federation.provider_apps set position = \(position), config_id = \(app.configID)
                    where application_id = \(application.text) and provider = \(provider.text) and app_id = \(app.id.text)
                    """,
                    "secret of the app \(app.id)"
                )
            }
        }
    }

    private func store(
        _ secret: EncryptedSecret,
        of app: ConfigurationChange.App,
        at provider: ProviderName,
        position: Int
    ) async throws {
        _ = try await connection.query(
            """
            insert into federation.provider_apps
                (application_id, provider, app_id, position, secret, secret_key_id, config_id)
            values (\(application.text), \(provider.text), \(app.id.text), \(position), \(secret.bytes), \(secret.keyID),
                \(app.configID))
            on conflict (application_id, provider, app_id) do update set position = excluded.position,
                secret = excluded.secret, secret_key_id = excluded.secret_key_id, secret_changed = now(),
                config_id = excluded.config_id
            """
        )
    }

    /// Removes a provider's settings, its apps and their secrets.
    ///
    /// The provider's mappings stay.
    func removeProvider(_ provider: ProviderName) async throws {
        try await expectOne(
            """
            delete from federation.provider_settings
            where application_id = \(application.text) and provider = \(provider.text)
            """,
            "provider \(provider)"
        )
    }
}
