import Postgres
import Vocabulary

extension PostgresConnection {
    /// The table that was there before the application and holds its users, as SQL names it; nil where they are in a
    /// table of its own.
    func adoptedTable(ofSchema schema: String) async throws(PostgresError) -> String? {
        let result = try await query(
            """
            select format('%I.%I', n.nspname, c.relname)
            from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where c.oid = federation.users_table(\(schema))
                and c.oid is distinct from to_regclass(format('%I.users', \(schema)::text))
            """
        )
        return try result.first?.decode(0, as: String.self)
    }
}

/// Changes of properties whose column is one of an adopted table: the table keeps what it had, and the view follows.
extension ChangeTransaction {
    /// Brings a property's column into the view: one that the table has, or a new one.
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

    /// Gives a column of the view another name; that of the table keeps its own.
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

    /// Takes a property's column out of the view, and drops it where it was added for the property.
    mutating func releaseAdoptedColumn(of name: PropertyName, in users: UsersTable) async throws {
        let column = try await connection.query(
            """
            select column_name, added, not_null and not has_default
            from federation.user_columns(\(users.schema)) join federation.adopted_columns using (name, column_name)
            where application_id = \(application.text) and name = \(name.text)
            """
        )
        guard let row = column.first else { throw Self.columnMissing(name) }
        let (text, added) = (try row.decode(0, as: String.self), try row.decode(1, as: Bool.self))
        if !added, try row.decode(2, as: Bool.self) {
            throw Failure(
                .conflict,
                """
                The column \(text) of \(users.table), which \(name) is, is the table's own and NOT NULL without a default: \
                without the property nobody could register. Give the column a default first.
                """,
                details: ["property": .string(name.text)]
            )
        }
        _ = try await connection.query(
            "delete from federation.adopted_columns where application_id = \(application.text) and name = \(name.text)"
        )
        try await changeAdoptedTable(users, added ? "drop column \(quoted(text)) restrict" : nil, for: name)
    }

    /// Makes the view anew, around a change of the table.
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
