import Domain
import Postgres

/// Moves an application's users to a database of its own, or back to the main one (docs/scaling.md).
extension ChangeTransaction {
    /// The tables of the schema `federation` that have data about an application's users.
    ///
    /// They are in the same database as the users. No table in this list refers to a later one.
    private static let belongings = ["deletion_requests", "imports", "import_refusals"]
    /// The maximum number of rows that are counted to compare a table with its copy.
    ///
    /// If both tables have more rows, they pass as equal.
    private static let maxCounted: Int64 = 100_000

    /// Records in an application's own database that the database holds the application.
    func enter(_ place: ApplicationPlace, at variable: DatabaseVariable) async throws {
        let entered = try await tables.query(
            """
            insert into federation.applications as a (id, name, schema_name)
            values (\(application.text), \(application.text), \(place.schema))
            on conflict (id) do update set name = excluded.name where a.schema_name = excluded.schema_name
            """
        )
        guard entered.affectedRows == 1 else {
            throw Failure(
                .conflict,
                "The database of \(variable) holds the application \(application) already, in another schema."
            )
        }
    }

    /// Moves the application to another database, where a copy of its users exists already.
    ///
    /// The operator has copied the users by dump and restore while no instance ran. If one of the databases is the main
    /// one, this step compares the users with their copy, and copies the rows of `belongings`. The former schema is
    /// renamed, so that nothing writes to it any more.
    ///
    /// A move from one own database to another only checks the target, since the operator has copied the whole
    /// database.
    mutating func move(to variable: DatabaseVariable?, from users: UsersTable) async throws {
        guard users.adopted == nil else {
            throw Failure(.conflict, "The users are in a table that was adopted, which stays where it is.")
        }
        let place = ApplicationPlace(id: application, schema: users.schema, database: variable)
        switch (users.place.database, variable) {
        case (nil, let variable?):
            try await compare(connection, tables, place)
            try await enter(place, at: variable)
            try await carry(from: connection, to: tables)
            try await Self.drop(application, from: connection)
            try await Self.retire(place.schema, on: connection)
        case (.some, nil):
            // `Store.leave` deletes the rows of the former database after the commit in the main database.
            try await Self.refuseTakenName(ofRetired: place.schema, on: tables)
            try await compare(tables, connection, place)
            try await carry(from: tables, to: connection)
        case (.some, let variable?):
            // From one own database to another: the target is a copy of the whole database, with its row of this
            // application.
            let held: Statement = """
                select from federation.applications where id = \(application.text) and schema_name = \(place.schema)
                """
            guard try await tables.query(held).count == 1 else {
                throw DatabaseProblem.lacks(variable, application)
            }
        case (nil, nil): return
        }
        try await expectOne(
            "update federation.applications set database = \(variable?.text) where id = \(application.text)",
            "application"
        )
        self.place = place
    }

    /// Compares an application's users in the database `source` with their copy in the database `target`.
    private func compare(
        _ source: PostgresConnection,
        _ target: PostgresConnection,
        _ place: ApplicationPlace
    ) async throws {
        let tables = ["users", "identities", "sessions", "passwords"]
        let there = try await target.query(
            "select from unnest(\(tables)) t where to_regclass(format('%I.%I', \(place.schema)::text, t)) is not null"
        )
        guard there.count == tables.count else {
            throw Failure.notCopied(place.schema)
        }
        // The lock keeps writers out. Rows written after the count would stay behind.
        let names = tables.map { "\(Statement.quoted(identifier: place.schema)).\($0)" }.joined(separator: ", ")
        try await source.execute(script: "lock table \(names) in share mode")
        _ = try await target.query("select federation.create_application_schema(\(place.schema))")
        for table in tables {
            let count: Statement = """
                select count(*) from (select from \(identifier: place.schema).\(identifier: table)
                limit \(Self.maxCounted)) counted
                """
            let before = try await source.query(count).first(Int64.self)
            let after = try await target.query(count).first(Int64.self)
            guard before == after else {
                throw Failure(
                    .conflict,
                    """
                    \(place.schema).\(table) has \(before ?? 0) rows here and \(after ?? 0) in the other database. \
                    Stop the instances, and copy the schema anew.
                    """
                )
            }
        }
    }

    private func carry(from source: PostgresConnection, to target: PostgresConnection) async throws {
        for table in Self.belongings {
            let rows = try await source.query(
                """
                select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text from federation.\(identifier: table) t
                where application_id = \(application.text)
                """
            )
            guard let json = try rows.first(String.self) else { continue }
            _ = try await target.query(
                """
                insert into federation.\(identifier: table)
                select * from jsonb_populate_recordset(
                    null::federation.\(identifier: table), \(JSONText(json))
                )
                on conflict do nothing
                """
            )
        }
    }

    /// Deletes an application's rows in the tables `belongings` from a database that no longer has its users.
    private static func drop(_ application: ApplicationID, from connection: PostgresConnection) async throws {
        for table in belongings.reversed() {
            _ = try await connection.query(
                "delete from federation.\(identifier: table) where application_id = \(application.text)"
            )
        }
    }

    /// Removes an application from its former own database.
    ///
    /// Its users are in the main database now, or the application was deleted.
    static func leave(_ place: ApplicationPlace, on connection: PostgresConnection) async throws {
        let held: Statement = """
            delete from federation.applications where id = \(place.id.text) and schema_name = \(place.schema)
            """
        guard try await connection.query(held).affectedRows == 1 else { return }
        try await drop(place.id, from: connection)
        let schema = try await connection.query("select from pg_namespace where nspname = \(place.schema)")
        if schema.count > 0 { try await retire(place.schema, on: connection) }
    }

    /// Renames the former schema of an application's users, so that no statement finds it.
    ///
    /// The operator drops the schema later.
    private static func retire(_ schema: String, on connection: PostgresConnection) async throws {
        try await refuseTakenName(ofRetired: schema, on: connection)
        _ = try await connection.query(
            "alter schema \(identifier: schema) rename to \(identifier: retired(schema))"
        )
    }

    private static func retired(_ schema: String) -> String { "moved_" + String(schema.prefix(57)) }

    private static func refuseTakenName(ofRetired schema: String, on connection: PostgresConnection) async throws {
        let retired = retired(schema)
        let taken = try await connection.query("select from pg_namespace where nspname = \(retired)")
        guard taken.count == 0 else {
            throw Failure(
                .conflict,
                """
                There is a schema \(retired) of an earlier move, which this one would need. Drop it if it is not needed.
                """
            )
        }
    }
}

extension Store {
    /// Removes an application from its former database after the main database has committed the move or the deletion.
    ///
    /// - Throws: `store_unavailable` if the former database cannot be used. Even then nothing looks for the application
    ///   there.
    func leave(_ place: ApplicationPlace) async throws {
        guard let variable = place.database else { return }
        do {
            try await databases.database(variable).client.withTransaction { connection in
                try await connection.execute(script: Self.changeSettings)
                try await ChangeTransaction.leave(place, on: connection)
            }
        } catch {
            throw Failure(
                .storeUnavailable,
                """
                It is done, but the database of \(variable) still says that it holds \(place.id). Delete that row \
                of its federation.applications, and its schema \(place.schema) if it is there.
                """,
                cause: "\(error)"
            )
        }
    }
}

extension Failure {
    /// The failure for users that have not been copied to the target of a move.
    static func notCopied(_ schema: String) -> Failure {
        Failure(
            .conflict,
            """
            The other database has no schema \(schema) with the application's users. Stop the instances and copy it \
            there first: docs/scaling.md. Nothing has changed.
            """
        )
    }
}
