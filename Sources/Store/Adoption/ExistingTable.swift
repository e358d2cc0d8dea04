import Postgres
package import Vocabulary

/// A table that was there before an application and may come to hold its users, as the database has it.
package struct ExistingTable: Sendable {
    package let schema: String
    package let name: String
    /// As SQL names it, with its schema.
    package let sql: String
    /// Why no application can have it, whatever its columns are; nil when one can.
    package let obstacle: String?
    /// The application that has it, or has begun to.
    package let application: String?
    package let columns: [Column]
    /// The indexes that serve statements, by their names, and those that do not, since making them was interrupted.
    let indexes: Set<String>
    let brokenIndexes: Set<String>
    /// Triggers that a write of every row would set off.
    package let updateTriggers: [String]
    /// Tables whose rows refer to it in a way that does not let a user be erased.
    package let referringTables: [String]
    package let bytes: Int64

    package struct Column: Sendable {
        package let name: String
        /// As `format_type` writes it, without a length.
        package let type: String
        package let notNull: Bool
        package let hasDefault: Bool
        package let isGenerated: Bool
        /// Whether no two rows have the same value, by an index that a foreign key can rest on.
        package let isUnique: Bool
        /// As what an adoption that has begun has added it; nil for the table's own columns.
        package let addedAs: String?
    }

    package func column(_ name: String) -> Column? { columns.first { $0.name.hasSameBytes(as: name) } }
}

extension Store {
    /// A table by its name as SQL writes it, with its schema unless the role's search path finds it; nil when there is
    /// none.
    package func existingTable(_ name: String) async throws(Failure) -> ExistingTable? {
        let found: ResultSet
        do {
            found = try await postgres.query(ExistingTable.statement(for: name))
        } catch {
            // A name that cannot be read as one is a table that is not there.
            if ["42601", "42602", "3D000", "0A000"].contains(error.sqlState) { return nil }
            throw await failure(of: error, in: nil)
        }
        guard let row = found.first else { return nil }
        let relation = try read { () throws(PostgresError) in try row.decode(0, as: Int64.self) }
        let columns = try await query(ExistingTable.columns(of: relation))
        return try read { () throws(PostgresError) in
            var read: [ExistingTable.Column] = []
            for row in columns.rows { read.append(try ExistingTable.Column(row)) }
            return try ExistingTable(row, columns: read)
        }
    }

    /// How many values of a column of addresses are no e-mail address, and how many another row has in some case, too.
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
        guard let row = result.first else { return (0, 0) }
        return try read { () throws(PostgresError) in
            (try row.decode(0, as: Int64.self), try row.decode(1, as: Int64.self))
        }
    }
}

extension ExistingTable {
    fileprivate static func statement(for name: String) -> Statement {
        """
        select c.oid::bigint, n.nspname::text, c.relname::text,
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
            pg_table_size(c.oid), format('%I.%I', n.nspname, c.relname)
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

    fileprivate init(_ row: Row, columns: [Column]) throws(PostgresError) {
        self.init(
            schema: try row.decode(1, as: String.self),
            name: try row.decode(2, as: String.self),
            sql: try row.decode(10, as: String.self),
            obstacle: try row.decode(3, as: String?.self),
            application: try row.decode(4, as: String?.self),
            columns: columns,
            indexes: Set(try row.decode(5, as: [String].self)),
            brokenIndexes: Set(try row.decode(6, as: [String].self)),
            updateTriggers: try row.decode(7, as: [String].self),
            referringTables: try row.decode(8, as: [String].self),
            bytes: try row.decode(9, as: Int64.self)
        )
    }
}

extension ExistingTable.Column {
    fileprivate init(_ row: Row) throws(PostgresError) {
        self.init(
            name: try row.decode(0, as: String.self),
            type: try row.decode(1, as: String.self),
            notNull: try row.decode(2, as: Bool.self),
            hasDefault: try row.decode(3, as: Bool.self),
            isGenerated: try row.decode(4, as: Bool.self),
            isUnique: try row.decode(5, as: Bool.self),
            addedAs: try row.decode(6, as: String?.self)
        )
    }
}
