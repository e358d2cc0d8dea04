package import Domain
import Encodings
import Postgres

/// The names, for use in SQL, of an application's users table and of its identities table.
struct UsersTable: Sendable, Hashable {
    /// The application's database and schema.
    let place: ApplicationPlace
    /// The quoted name of the adopted table that the view `users` shows; nil if `users` is a table.
    let adopted: String?

    init(of place: ApplicationPlace, adopted: String? = nil) {
        self.place = place
        self.adopted = adopted
    }

    var schema: String { place.schema }

    /// The qualified and quoted name of `users`, the table or view through which statements read and write users.
    var users: String { quoted(schema) + ".users" }
    /// The name of the table whose columns are altered: the adopted table, if there is one, or else `users`.
    var table: String { adopted ?? users }
    var identities: String { quoted(schema) + ".identities" }

    /// A column as the database describes it.
    struct Column: Sendable {
        /// The column's name in the table.
        let name: String
        /// The column's number in the table, which a renaming does not change.
        let number: Int64
        let type: String
        let notNull: Bool
        let isGenerated: Bool
        /// Whether the CHECK constraint that forbids NULL (`Requirement`) is validated; nil if the column has none.
        let isValidated: Bool?
    }

    /// Returns the column of a property; nil if there is none.
    func column(
        _ name: PropertyName,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> Column? {
        try await column(where: "u.name = \(name.text)", on: connection)
    }

    /// Returns the adopted table's column with the property's name, unless the view `users` shows that column already.
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
        return try result.first(into: Column.init)
    }
}

extension UsersTable.Column {
    /// Checks whether a property can use a column that the operator has made by hand.
    ///
    /// - Throws: `conflict` if the type differs or the column is generated.
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
                "The column \(property.name) of the users table is generated, and logins cannot write it.",
                details: ["property": .string(property.name.text)]
            )
        }
    }
}

extension Store {
    /// Returns the columns of a users table as the database describes them.
    ///
    /// - Parameters:
    ///   - schema: The schema of an application's users.
    ///   - stored: The application; nil before its creation. The schema is looked up in the main database then.
    /// - Returns: The columns in order; empty if there is no table.
    /// - Throws: `store_unavailable` and similar failures.
    package func liveColumns(
        ofSchema schema: String,
        of stored: StoredApplication? = nil
    ) async throws(Failure) -> [LiveColumn] {
        try await query(LiveColumn.statement(ofSchema: schema), in: stored.map(tables(of:))).all(into: LiveColumn.init)
    }
}

extension LiveColumn {
    /// The query for all columns of a users table; the results are in the order of this type's members.
    static func statement(ofSchema schema: String) -> Statement {
        """
        select name, type, not_null, has_default from federation.user_columns(\(schema))
        where name is not null order by number
        """
    }
}
