package import Domain
import Encodings
import Postgres

/// An existing table that an application may adopt, as the database describes it.
package struct ExistingTable: Sendable {
    fileprivate let relation: Int64
    package let schema: String
    package let name: String
    /// The table's qualified and quoted name, for use in SQL.
    package let sql: String
    /// Why no application can adopt the table, whatever its columns; nil if nothing prevents it.
    ///
    /// The text continues a sentence that begins with the table's name.
    package let obstacle: String?
    /// The application that has adopted the table, or has begun to.
    package let application: String?
    package fileprivate(set) var columns: [Column] = []
    /// The names of the valid indexes.
    let indexes: Set<String>
    /// The names of the indexes whose creation was interrupted.
    let brokenIndexes: Set<String>
    /// The names of the triggers that fire when a row is updated.
    package let updateTriggers: [String]
    /// Tables whose foreign keys to this table prevent the deletion of a user.
    package let referringTables: [String]
    package let bytes: Int64

    package struct Column: Sendable {
        package let name: String
        /// The column's type as PostgreSQL's function `format_type` writes it, without a length.
        package let type: String
        package let notNull: Bool
        package let hasDefault: Bool
        package let isGenerated: Bool
        /// Whether a foreign key can refer to the column: a unique index covers exactly this column, in all rows.
        package let isUnique: Bool
        /// The column's name in the view `users` if a begun adoption has added the column; nil for any other column.
        package let addedAs: String?
    }

    package func column(_ name: String) -> Column? { columns.first { $0.name.hasSameBytes(as: name) } }
}

extension Store {
    /// Returns a table by its SQL name; nil if there is none.
    ///
    /// The name needs a schema unless the role's search path finds the table.
    package func existingTable(_ name: String) async throws(Failure) -> ExistingTable? {
        let found: ResultSet
        do {
            found = try await postgres.query(ExistingTable.statement(for: name))
        } catch {
            // A malformed name names no table.
            if ["42601", "42602", "3D000", "0A000"].contains(error.sqlState) { return nil }
            throw await failure(of: error, in: nil)
        }
        guard var table = try Answer(result: found).first(by: ExistingTable.init) else { return nil }
        table.columns = try await query(ExistingTable.columns(of: table.relation)).all(into: ExistingTable.Column.init)
        return table
    }

    /// Counts the malformed and the repeated values in a column of e-mail addresses.
    ///
    /// Values that differ only in case count as repeated.
    package func doubtfulAddresses(
        in column: String,
        of table: ExistingTable
    ) async throws(Failure) -> (malformed: Int64, repeated: Int64) {
        let result = try await query(
            """
            select count(*) filter (where \(identifier: column) !~ '^[^@[:space:]]+@[^@[:space:].]+[.][^@[:space:]]+$'),
                count(\(identifier: column)) - count(distinct lower(\(identifier: column)))
            from \(unsafeRaw: table.sql)
            """
        )
        return try result.first(Int64.self, Int64.self) ?? (0, 0)
    }
}

extension ExistingTable {
    fileprivate static func statement(for name: String) -> Statement {
        """
        select c.oid::bigint, n.nspname::text, c.relname::text, format('%I.%I', n.nspname, c.relname),
            case
                when n.nspname in ('federation', 'information_schema') or n.nspname ~ '^pg_'
                    or exists (select from federation.applications a where a.schema_name = n.nspname)
                    then 'is a table of PostgreSQL''s or of this service'
                when c.relkind <> 'r' then 'is no plain table: views, partitioned and foreign tables cannot hold users'
                when c.relpersistence <> 'p' then 'is temporary or unlogged, and users would be lost with it'
                when c.relispartition or exists (select from pg_inherits i where c.oid in (i.inhparent, i.inhrelid))
                    then 'is a part of another table, or has parts'
                when exists (select from pg_rewrite r where r.ev_class = c.oid)
                    then 'has rules, which may do something else than what is asked for: make triggers of them'
                when not pg_has_role(c.relowner, 'usage')
                    then 'belongs to the role ' || quote_ident(pg_get_userbyid(c.relowner))
                        || ', which the role of this command has to be a member of, to add columns and foreign keys'
                when row_security_active(c.oid)
                    then 'has row security that holds for the role of this command, too, and would hide users from it'
            end,
            (select t.application_id from federation.adopted_tables t where t.relation = c.oid),
            array(
                select x.relname::text from pg_index i join pg_class x on x.oid = i.indexrelid
                where i.indrelid = c.oid and i.indisvalid
            ),
            array(
                select x.relname::text from pg_index i join pg_class x on x.oid = i.indexrelid
                where i.indrelid = c.oid and not i.indisvalid
            ),
            array(
                select t.tgname::text from pg_trigger t
                where t.tgrelid = c.oid and not t.tgisinternal and t.tgenabled <> 'D' and t.tgtype & 16 <> 0
            ),
            array(
                select distinct f.conrelid::regclass::text from pg_constraint f
                where f.confrelid = c.oid and f.contype = 'f' and f.confdeltype in ('a', 'r')
            ),
            pg_table_size(c.oid)
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.oid = to_regclass(\(name))
        """
    }

    fileprivate static func columns(of relation: Int64) -> Statement {
        """
        select a.attname::text, format_type(a.atttypid, null), a.attnotnull, a.atthasdef or a.attidentity <> '',
            a.attgenerated <> '' or a.attidentity = 'a',
            exists (
                select from pg_index i
                where i.indrelid = a.attrelid and i.indisunique and i.indisvalid and i.indimmediate
                    and i.indpred is null and i.indexprs is null and i.indnkeyatts = 1 and i.indkey[0] = a.attnum
            ),
            c.name
        from pg_attribute a
        left join federation.adopted_tables t on t.relation = a.attrelid
        left join federation.adopted_columns c
            on c.application_id = t.application_id and c.column_name = a.attname and c.added
        where a.attrelid = \(relation)::bigint::oid and a.attnum > 0 and not a.attisdropped
        order by a.attnum
        """
    }

    /// Reads a row of `statement(for:)`: everything about the table except its columns.
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        relation = try row.next()
        schema = try row.next()
        name = try row.next()
        sql = try row.next()
        obstacle = try row.next()
        application = try row.next()
        indexes = Set(try row.next([String].self))
        brokenIndexes = Set(try row.next([String].self))
        updateTriggers = try row.next()
        referringTables = try row.next()
        bytes = try row.next()
    }
}
