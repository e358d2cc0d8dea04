import Postgres
package import Vocabulary

/// The users table of an application, and the one of identities beside it, as statements name them.
struct UsersTable: Sendable, Hashable {
    /// The application whose users they are.
    let place: ApplicationPlace
    /// The table that `users` is a view of, quoted; nil where `users` is the table itself.
    let adopted: String?

    init(of place: ApplicationPlace, adopted: String? = nil) {
        self.place = place
        self.adopted = adopted
    }

    var schema: String { place.schema }

    /// By this name rows are read and written.
    var users: String { quoted(schema) + ".users" }
    /// The table whose columns are altered.
    var table: String { adopted ?? users }
    var identities: String { quoted(schema) + ".identities" }

    /// A column as the database has it.
    struct Column: Sendable {
        /// Its name in the table.
        let name: String
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
        try await column(where: "u.name = \(name.text)", on: connection)
    }

    /// A column of the property's name that an adopted table has, and that is no property's yet.
    func unshownColumn(
        _ name: PropertyName,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> Column? {
        try await column(where: "u.name is null and u.column_name = \(name.text)", on: connection)
    }

    private func column(
        where condition: Statement,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> Column? {
        let result = try await connection.query(
            """
            select u.column_name, u.number, u.type, u.not_null, u.is_generated, c.convalidated
            from federation.user_columns(\(schema)) u
            left join pg_constraint c
                on c.conrelid = u.relation and c.conname = \(Requirement.constraintPrefix) || u.number
            where \(condition)
            """
        )
        guard let row = result.first else { return nil }
        return Column(
            name: try row.decode(0, as: String.self),
            number: try row.decode(1, as: Int64.self),
            type: try row.decode(2, as: String.self),
            notNull: try row.decode(3, as: Bool.self),
            isGenerated: try row.decode(4, as: Bool.self),
            isValidated: try row.decode(5, as: Bool?.self)
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
    ///
    /// - Parameters:
    ///   - schema: The schema of an application's users.
    ///   - stored: The application; nil while there is none, which the main database is looked at for.
    /// - Returns: In their order.
    /// - Throws: `store_unavailable` and its like.
    package func liveColumns(
        ofSchema schema: String,
        of stored: StoredApplication? = nil
    ) async throws(Failure) -> [LiveColumn] {
        let result = try await query(LiveColumn.statement(ofSchema: schema), in: stored.map(tables(of:)))
        return try read { () throws(PostgresError) in try LiveColumn.all(in: result) }
    }
}

extension LiveColumn {
    /// The question for all columns of a users table.
    static func statement(ofSchema schema: String) -> Statement {
        """
        select name, type, not_null, has_default from federation.user_columns(\(schema))
        where name is not null order by number
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
