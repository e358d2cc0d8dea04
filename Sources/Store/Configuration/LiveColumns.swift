package import Vocabulary
import Postgres

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
