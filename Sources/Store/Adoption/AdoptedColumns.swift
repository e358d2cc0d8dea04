import Domain
import Encodings
import Postgres

extension PostgresConnection {
    /// Returns the qualified and quoted name of the adopted table that holds an application's users.
    ///
    /// The result is nil if the application's own table `users` holds them.
    func adoptedTable(ofSchema schema: String) async throws(PostgresError) -> String? {
        let result = try await query(
            """
            select format('%I.%I', n.nspname, c.relname)
            from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where c.oid = federation.users_table(\(schema))
                and c.oid is distinct from to_regclass(format('%I.users', \(schema)::text))
            """
        )
        return try result.first(String.self)
    }
}

/// Changes properties whose columns are in an adopted table: an operator's table that holds an application's users.
///
/// The table keeps the columns that it had before the adoption. The view `users` shows the properties.
extension ChangeTransaction {
    /// Adds a property's column to the view `users` of an adopted table, which is an operator's table with the users.
    ///
    /// The adopted table gets the column, too, unless `isThere` says that it has the column already.
    mutating func adoptColumn(of property: Property, in users: UsersTable, isThere: Bool) async throws {
        let column = property.name.text
        _ = try await connection.query(
            """
            insert into federation.adopted_columns (application_id, name, column_name, added)
            values (\(application.text), \(property.name.text), \(column), \(!isThere))
            """
        )
        try await changeAdoptedTable(
            users,
            isThere ? nil : "add column \(quoted(column)) \(property.type.sqlType)",
            for: property.name
        )
    }

    /// Renames a property's column in the view `users` of an adopted table, which is an operator's table with the
    /// users.
    ///
    /// The column of the adopted table keeps its name.
    mutating func renameAdoptedColumn(from: PropertyName, to: PropertyName, in users: UsersTable) async throws {
        _ = try await connection.query(
            """
            update federation.adopted_columns set name = \(to.text)
            where application_id = \(application.text) and name = \(from.text)
            """
        )
        let script = "alter view \(users.users) rename column \(quoted(from.text)) to \(quoted(to.text))"
        try await exclusively(script, for: from, orElse: "Try again at a quiet hour.")
    }

    /// Removes a property's column from the view `users` of an adopted table, which is an operator's table with the
    /// users.
    ///
    /// The adopted table loses the column, too, if the service added the column for the property.
    mutating func releaseAdoptedColumn(of name: PropertyName, in users: UsersTable) async throws {
        let column = try await connection.query(
            """
            select column_name, added, not_null and not has_default
            from federation.user_columns(\(users.schema)) join federation.adopted_columns using (name, column_name)
            where application_id = \(application.text) and name = \(name.text)
            """
        )
        guard let (text, added, isNeeded) = try column.first(String.self, Bool.self, Bool.self) else {
            throw Self.columnMissing(name)
        }
        if !added, isNeeded {
            throw Failure(
                .conflict,
                """
                The column \(text) of \(users.table), the property \(name), is NOT NULL without a default, so users \
                could not register without it. Give the column a default first.
                """,
                details: ["property": .string(name.text)]
            )
        }
        _ = try await connection.query(
            "delete from federation.adopted_columns where application_id = \(application.text) and name = \(name.text)"
        )
        try await changeAdoptedTable(users, added ? "drop column \(quoted(text)) restrict" : nil, for: name)
    }

    /// Alters an adopted table (an operator's table with the users) and creates its view `users` again.
    ///
    /// The action is the SQL after `alter table`. If it is nil, only the view changes.
    mutating func changeAdoptedTable(
        _ users: UsersTable,
        _ action: String?,
        for property: PropertyName,
        orElse advice: String = "Try again at a quiet hour."
    ) async throws {
        let change = action.map { literal("alter table \(users.table) \($0)") } ?? "null"
        try await exclusively(
            "select federation.create_users_view(\(literal(users.schema)), \(change))",
            for: property,
            orElse: advice
        )
    }
}
