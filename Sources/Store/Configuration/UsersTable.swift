import Postgres
package import Vocabulary

/// The users table of an application, and the one of identities beside it, as statements name them.
struct UsersTable: Sendable, Hashable {
    let schema: String

    var users: String { quoted(schema) + ".users" }
    var identities: String { quoted(schema) + ".identities" }

    /// A column as the database has it.
    struct Column: Sendable {
        /// Its number in the table, which outlasts its name.
        let number: Int64
        let type: String
        let notNull: Bool
        let isGenerated: Bool
        /// Whether the constraint that no row lacks a value is validated, nil when there is none; see `Requirement`.
        let isValidated: Bool?
    }

    /// The column of a property; nil when there is none.
    func column(
        _ name: PropertyName,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> Column? {
        let result = try await connection.query(
            """
            select a.attnum, format_type(a.atttypid, null), a.attnotnull, a.attgenerated <> '' or a.attidentity = 'a',
                c.convalidated
            from pg_attribute a
            left join pg_constraint c
                on c.conrelid = a.attrelid and c.conname = \(Requirement.constraintPrefix) || a.attnum
            where a.attrelid = \(users)::regclass and a.attname = \(name.text) and a.attnum > 0
            """
        )
        guard let row = result.first else { return nil }
        return Column(
            number: try row.decode(0, as: Int64.self),
            type: try row.decode(1, as: String.self),
            notNull: try row.decode(2, as: Bool.self),
            isGenerated: try row.decode(3, as: Bool.self),
            isValidated: try row.decode(4, as: Bool?.self)
        )
    }
}

extension UsersTable.Column {
    /// Whether a property may take a column over that the operator has made by hand.
    ///
    /// - Throws: `conflict`.
    func check(for property: Property) throws(Failure) {
        let wanted = property.type.sqlType
        guard type.hasSameBytes(as: wanted) else {
            throw Failure(
                .conflict,
                """
                The users table has a column \(property.name) of the type \(type), and \(property.type.rawValue) needs \
                \(wanted). Rename or drop the column, or declare the property with a type that it fits.
                """,
                details: ["property": .string(property.name.text)]
            )
        }
        guard !isGenerated else {
            throw Failure(
                .conflict,
                "The column \(property.name) of the users table is generated, so no login could write it.",
                details: ["property": .string(property.name.text)]
            )
        }
    }
}

extension Store {
    /// The columns of a users table as the database has them; empty when the table does not exist.
    package func liveColumns(ofSchema schema: String) async throws(Failure) -> [LiveColumn] {
        let result = try await query(LiveColumn.statement(ofSchema: schema))
        return try read { () throws(PostgresError) in try LiveColumn.all(in: result) }
    }
}

extension LiveColumn {
    /// The question for all columns of a users table.
    static func statement(ofSchema schema: String) -> Statement {
        """
        select a.attname::text, format_type(a.atttypid, null), a.attnotnull, a.atthasdef or a.attidentity <> ''
        from pg_attribute a
        join pg_class t on t.oid = a.attrelid
        join pg_namespace n on n.oid = t.relnamespace
        where n.nspname = \(schema) and t.relname = 'users' and a.attnum > 0 and not a.attisdropped
        order by a.attnum
        """
    }

    /// The columns in the question's result.
    static func all(in result: ResultSet) throws(PostgresError) -> [LiveColumn] {
        var columns: [LiveColumn] = []
        for row in result.rows {
            columns.append(
                LiveColumn(
                    name: try row.decode(0, as: String.self),
                    sqlType: try row.decode(1, as: String.self),
                    notNull: try row.decode(2, as: Bool.self),
                    hasDefault: try row.decode(3, as: Bool.self)
                )
            )
        }
        return columns
    }
}
