package import Identity
import Postgres

/// What an operator wants an application to be, checked and with its secrets sealed.
package struct ApplicationWrite: Sendable {
    package let id: ApplicationID
    package let name: String
    package let schema: String
    package let settings: JSONValue
    package let keys: [(label: String, hash: [UInt8])]
    package let facebook: StoredApplication.Facebook?
    package let mapping: JSONValue?
    package let properties: [Property]
    /// Who does it, for the audit log.
    package let actor: String

    package init(
        id: ApplicationID,
        name: String,
        schema: String,
        settings: JSONValue,
        keys: [(label: String, hash: [UInt8])],
        facebook: StoredApplication.Facebook?,
        mapping: JSONValue?,
        properties: [Property],
        actor: String
    ) {
        self.id = id
        self.name = name
        self.schema = schema
        self.settings = settings
        self.keys = keys
        self.facebook = facebook
        self.mapping = mapping
        self.properties = properties
        self.actor = actor
    }
}

extension StoredApplication.Facebook {
    /// Settings to be stored.
    package init(enabled: Bool, graphVersion: String, proof: ProofForm, sealedApps: [StoredApplication.App]) {
        self.init(enabled: enabled, graphVersion: graphVersion, proof: proof, apps: sealedApps)
    }
}

extension StoredApplication.App {
    /// An app whose secret is sealed already.
    package init(id: FacebookAppID, sealedSecret: [UInt8], keyID: String) {
        self.init(id: id, secret: sealedSecret, secretKeyID: keyID)
    }
}

extension Store {
    /// Makes an application what the write says, in one transaction, and leaves an entry in the audit log.
    ///
    /// Properties that the write does not name stay: a column is never dropped here.
    ///
    /// - Throws: a failure that says which part the database refused; nothing has changed then.
    package func apply(_ write: ApplicationWrite) async throws(Failure) {
        try await transaction { connection in
            // A running login holds locks for milliseconds; a stuck session must not stall the operator for ever.
            _ = try await connection.query("set local lock_timeout = '5s'")
            _ = try await connection.query("set local statement_timeout = '60s'")
            // Operators' changes follow one another.
            _ = try await connection.query("update federation.configuration set revision = revision + 1")
            try await writeApplication(write, on: connection)
            try await writeProperties(write, on: connection)
            try await writeKeys(write, on: connection)
            try await writeProvider(write, on: connection)
            try await writeMapping(write, on: connection)
            _ = try await connection.query(
                """
                insert into federation.audit_log (actor, application_id, action, details)
                values (\(write.actor), \(write.id.text), 'application.apply', \(JSONText(write.auditDetails.text)))
                """
            )
        }
    }

    private func writeApplication(_ write: ApplicationWrite, on connection: PostgresConnection) async throws {
        let existing = try await connection.query(
            "select schema_name from federation.applications where id = \(write.id.text)"
        )
        if let schema = try existing.first?.decode(0, as: String.self), schema != write.schema {
            throw Failure(
                .malformedRequest,
                "schema: the application's users are in the schema \(schema); it cannot be changed to \(write.schema)"
            )
        }
        let owner = try await connection.query(
            "select id from federation.applications where schema_name = \(write.schema) and id <> \(write.id.text)"
        )
        if let other = try owner.first?.decode(0, as: String.self) {
            throw Failure(
                .malformedRequest,
                "schema: \(write.schema) holds the users of the application \(other) already"
            )
        }
        _ = try await connection.query(
            """
            insert into federation.applications (id, name, schema_name, settings)
            values (\(write.id.text), \(write.name), \(write.schema), \(JSONText(write.settings.text)))
            on conflict (id) do update
                set name = excluded.name, settings = excluded.settings, updated = now()
            """
        )
        _ = try await connection.query("select federation.create_application_schema(\(write.schema))")
    }

    private func writeProperties(_ write: ApplicationWrite, on connection: PostgresConnection) async throws {
        for (position, property) in write.properties.enumerated() {
            let stored = try await connection.query(
                """
                select type from federation.properties
                where application_id = \(write.id.text) and name = \(property.name.text)
                """
            )
            if let type = try stored.first?.decode(0, as: String.self), type != property.type.rawValue {
                throw Failure(
                    .malformedRequest,
                    "properties.\(property.name).type: the column holds \(type) and cannot become \(property.type.rawValue)"
                )
            }
            try await writeColumn(of: property, in: write, on: connection)
            _ = try await connection.query(
                """
                insert into federation.properties (application_id, name, position, type, required, client_mappable)
                values (\(write.id.text), \(property.name.text), \(position), \(property.type.rawValue),
                    \(property.required), \(property.clientMappable))
                on conflict (application_id, name) do update set position = excluded.position,
                    required = excluded.required, client_mappable = excluded.client_mappable
                """
            )
        }
    }

    /// Adds the column of a property if it is missing, and makes it NOT NULL exactly when the property is required.
    private func writeColumn(
        of property: Property,
        in write: ApplicationWrite,
        on connection: PostgresConnection
    ) async throws {
        let table = "\(quoted(write.schema)).users"
        let column = quoted(property.name.text)
        let existing = try await connection.query(
            """
            select attnotnull from pg_attribute
            where attrelid = \(table)::regclass and attname = \(property.name.text) and attnum > 0 and not attisdropped
            """
        )
        var isRequired = false
        if let row = existing.first {
            isRequired = try row.decode(0, as: Bool.self)
        } else {
            _ = try await connection.query(
                "alter table \(unsafeRaw: table) add column \(unsafeRaw: column) \(unsafeRaw: property.type.sqlType)"
            )
            try await moveDynamicValues(of: property, in: write.id, table: table, column: column, on: connection)
        }
        guard property.required != isRequired else { return }
        if property.required {
            let empty = try await connection.query(
                "select exists (select from \(unsafeRaw: table) where \(unsafeRaw: column) is null)"
            )
            if try empty.first?.decode(0, as: Bool.self) == true {
                throw Failure(
                    .constraintViolation,
                    "properties.\(property.name).required: some users have no value; give them one first, in \(table)"
                )
            }
        }
        let change = property.required ? "set not null" : "drop not null"
        _ = try await connection.query(
            "alter table \(unsafeRaw: table) alter column \(unsafeRaw: column) \(unsafeRaw: change)"
        )
    }

    /// Values that clients brought in under the name before it was declared become values of the column.
    private func moveDynamicValues(
        of property: Property,
        in application: ApplicationID,
        table: String,
        column: String,
        on connection: PostgresConnection
    ) async throws {
        let name = literal(property.name)
        let value = property.type == .json ? "dynamic -> \(name)" : "(dynamic ->> \(name))::\(property.type.sqlType)"
        _ = try await connection.query(
            "update \(unsafeRaw: table) set \(unsafeRaw: column) = \(unsafeRaw: value), dynamic = dynamic - \(unsafeRaw: name) where dynamic ? \(unsafeRaw: name)"
        )
        _ = try await connection.query(
            """
            delete from federation.dynamic_properties
            where application_id = \(application.text) and name = \(property.name.text)
            """
        )
    }

    private func writeKeys(_ write: ApplicationWrite, on connection: PostgresConnection) async throws {
        let stored = try await connection.query(
            "select label, key_hash from federation.api_keys where application_id = \(write.id.text)"
        )
        for row in stored.rows {
            let (label, hash) = (try row.decode(0, as: String.self), try row.decode(1, as: [UInt8].self))
            guard !write.keys.contains(where: { $0.label.hasSameBytes(as: label) && $0.hash == hash }) else { continue }
            _ = try await connection.query(
                "delete from federation.api_keys where application_id = \(write.id.text) and label = \(label)"
            )
        }
        for key in write.keys {
            _ = try await connection.query(
                """
                insert into federation.api_keys (application_id, key_hash, label)
                values (\(write.id.text), \(key.hash), \(key.label)) on conflict (application_id, label) do nothing
                """
            )
        }
    }

    private func writeProvider(_ write: ApplicationWrite, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            "delete from federation.provider_settings where application_id = \(write.id.text) and provider = 'facebook'"
        )
        guard let facebook = write.facebook else { return }
        _ = try await connection.query(
            """
            insert into federation.provider_settings (application_id, provider, enabled, graph_version, proof)
            values (\(write.id.text), 'facebook', \(facebook.enabled), \(facebook.graphVersion), \(facebook.proof.rawValue))
            """
        )
        for (position, app) in facebook.apps.enumerated() {
            _ = try await connection.query(
                """
                insert into federation.provider_apps
                    (application_id, provider, app_id, position, secret, secret_key_id)
                values (\(write.id.text), 'facebook', \(app.id.text), \(position), \(app.secret), \(app.secretKeyID))
                """
            )
        }
    }

    /// Adds a revision when the mapping is another one than the active one.
    private func writeMapping(_ write: ApplicationWrite, on connection: PostgresConnection) async throws {
        let document = write.mapping ?? .array([])
        _ = try await connection.query(
            """
            with current as (
                select revision, document from federation.mappings
                where application_id = \(write.id.text) and provider = 'facebook' and active
            ), retired as (
                update federation.mappings m set active = false from current
                where m.application_id = \(write.id.text) and m.provider = 'facebook' and m.revision = current.revision
                    and current.document <> \(JSONText(document.text))
                returning m.revision
            )
            select count(*) from retired
            """
        )
        _ = try await connection.query(
            """
            insert into federation.mappings (application_id, provider, revision, document, active)
            select \(write.id.text), 'facebook', coalesce(max(revision), 0) + 1, \(JSONText(document.text)), true
            from federation.mappings where application_id = \(write.id.text) and provider = 'facebook'
            having count(*) filter (where active) = 0
            """
        )
    }
}

extension ApplicationWrite {
    /// What the audit log keeps: no key, no secret, not even sealed.
    fileprivate var auditDetails: JSONValue {
        .object([
            "name": .string(name),
            "schema": .string(schema),
            "settings": settings,
            "keys": .array(keys.map { .string($0.label) }),
            "facebookApps": .array((facebook?.apps ?? []).map { .string($0.id.text) }),
            "properties": .array(properties.map { .string($0.name.text) }),
            "mapping": mapping ?? .null,
        ])
    }
}
