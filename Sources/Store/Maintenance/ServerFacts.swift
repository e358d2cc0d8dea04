import Postgres
package import Vocabulary

/// What is looked at of PostgreSQL when somebody asks whether all is well.
package struct ServerFacts: Sendable {
    /// As PostgreSQL numbers its versions: 150018 is 15.18.
    package var version: Int
    package var encoding: String
    /// Whether it takes no writes.
    package var isStandby: Bool
    /// Settings that are to be on, by their names, with what they are set to.
    package var settings: [(name: String, value: String)]
    /// Unix milliseconds.
    package var time: Int64
    /// Whether the connection that asks is encrypted; true for one that leaves no machine.
    package var isEncrypted: Bool
    /// Connections there may be, and those that there are.
    package var connections: (most: Int, open: Int)
    /// Transactions since the oldest one that is not frozen, and after how many PostgreSQL freezes by itself.
    package var age: (transactions: Int, freezing: Int)
    /// Seconds of the oldest transaction of anybody in this database, as far as the role may see.
    package var oldestTransaction: Int
    /// Two-phase transactions that wait for an end.
    package var preparedTransactions: Int
    /// Whether the role of the connection may do everything.
    package var isSuperuser: Bool
}

/// A table that does not fare well.
package struct TableFacts: Sendable {
    package var name: String
    package var liveRows: Int
    package var deadRows: Int
    /// Whether PostgreSQL has ever looked at what is in it.
    package var isAnalyzed: Bool
}

extension Store {
    /// Looks at the server that the connections lead to.
    package func serverFacts() async throws(Failure) -> ServerFacts {
        let result = try await query(
            """
            select current_setting('server_version_num')::bigint, pg_is_in_recovery(),
                (extract(epoch from clock_timestamp()) * 1000)::bigint,
                coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false)
                    or inet_client_addr() is null or inet_client_addr() = inet_server_addr(),
                current_setting('max_connections')::bigint,
                (select count(*) from pg_stat_activity where backend_type = 'client backend'),
                (select age(datfrozenxid)::bigint from pg_database where datname = current_database()),
                current_setting('autovacuum_freeze_max_age')::bigint,
                (select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::bigint
                    from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
                        and backend_type = 'client backend'),
                (select count(*) from pg_prepared_xacts where database = current_database()),
                (select rolsuper from pg_roles where rolname = current_user),
                (select pg_encoding_to_char(encoding)::text from pg_database where datname = current_database())
            """
        )
        let settings = try await query(
            """
            select name::text, setting::text from pg_settings
            where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'track_counts')
            order by name
            """
        )
        let facts = try read { () throws(PostgresError) -> ServerFacts? in
            guard let row = result.first else { return nil }
            return ServerFacts(
                version: try row.decode(0, as: Int.self),
                encoding: try row.decode(11, as: String.self),
                isStandby: try row.decode(1, as: Bool.self),
                settings: try settings.rows.map { (row) throws(PostgresError) in
                    (try row.decode(0, as: String.self), try row.decode(1, as: String.self))
                },
                time: try row.decode(2, as: Int64.self),
                isEncrypted: try row.decode(3, as: Bool.self),
                connections: (try row.decode(4, as: Int.self), try row.decode(5, as: Int.self)),
                age: (try row.decode(6, as: Int.self), try row.decode(7, as: Int.self)),
                oldestTransaction: try row.decode(8, as: Int.self),
                preparedTransactions: try row.decode(9, as: Int.self),
                isSuperuser: try row.decode(10, as: Bool.self)
            )
        }
        guard let facts else { throw Failure(.internal, "PostgreSQL says nothing of itself.") }
        return facts
    }

    /// Tables of the service in which many rows are dead, or in which PostgreSQL has never looked; the worst first, at
    /// most 20.
    package func ailingTables() async throws(Failure) -> [TableFacts] {
        let result = try await query(
            """
            select format('%I.%I', schemaname, relname), n_live_tup, n_dead_tup,
                coalesce(last_analyze, last_autoanalyze) is not null
            from pg_stat_user_tables
            where schemaname in (select schema_name from federation.applications union all select 'federation')
                and (
                    n_dead_tup > 10000 and n_dead_tup > n_live_tup / 4
                    or n_live_tup > 10000 and last_analyze is null and last_autoanalyze is null
                )
            order by n_dead_tup desc, n_live_tup desc limit 20
            """
        )
        return try read { () throws(PostgresError) in
            try result.rows.map { (row) throws(PostgresError) in
                TableFacts(
                    name: try row.decode(0, as: String.self),
                    liveRows: try row.decode(1, as: Int.self),
                    deadRows: try row.decode(2, as: Int.self),
                    isAnalyzed: try row.decode(3, as: Bool.self)
                )
            }
        }
    }

    /// Indexes of the service's tables that serve nobody: what is left of a build that was cut off.
    package func invalidIndexes() async throws(Failure) -> [String] {
        let result = try await query(
            """
            select format('%I.%I', n.nspname, c.relname) from pg_index i
            join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
            where not i.indisvalid
                and n.nspname in (select schema_name from federation.applications union all select 'federation')
                and not exists (select from pg_stat_progress_create_index p where p.index_relid = i.indexrelid)
            order by 1 limit 20
            """
        )
        return try read { () throws(PostgresError) in
            try result.rows.map { (row) throws(PostgresError) in try row.decode(0, as: String.self) }
        }
    }

    /// How long a statement waits for a lock where the main database is a coordinator of Citus; nil where it is none.
    package func patienceOnCitus() async throws(Failure) -> Duration? {
        do { guard try await databases.sharding.isThere() else { return nil } } catch {
            throw await failure(of: error, in: nil)
        }
        let row = try await query("select setting::bigint from pg_settings where name = 'lock_timeout'").first
        let milliseconds = try read { () throws(PostgresError) in try row?.decode(0, as: Int64.self) }
        return milliseconds.map { .milliseconds($0) }
    }

    /// Applications that Citus has got with their rows, of which the coordinator keeps a copy that nobody sees: each
    /// with its bytes, the largest first, at most 20.
    package func localCopies() async throws(Failure) -> [(application: String, bytes: Int)] {
        do { guard try await databases.sharding.isThere() else { return [] } } catch {
            throw await failure(of: error, in: nil)
        }
        let result = try await query(
            """
            select a.id, sum(pg_relation_size(c.oid))::bigint from federation.applications a
            join pg_namespace n on n.nspname = a.schema_name join pg_class c on c.relnamespace = n.oid
            join pg_dist_partition p on p.logicalrelid = c.oid
            where a.database is null group by a.id having sum(pg_relation_size(c.oid)) > 0
            order by 2 desc limit 20
            """
        )
        return try read { () throws(PostgresError) in
            try result.rows.map { (row) throws(PostgresError) in
                (try row.decode(0, as: String.self), try row.decode(1, as: Int.self))
            }
        }
    }

    /// What the role of the connections may not do although logins need it: `select on demo.users`; at most 20.
    package func missingRights() async throws(Failure) -> [String] {
        let result = try await query(
            """
            with places as (
                select schema_name as schema, t.name, t.rights from federation.applications a,
                    (values ('users', 'select,insert,update,delete'), ('identities', 'select,insert,update,delete'),
                        ('sessions', 'select,insert,update,delete'), ('attempts', 'select,insert,update,delete'),
                        ('single_use', 'select,insert,update,delete')) t (name, rights)
                where a.database is null
                union all
                select 'federation', 'applications', 'select'
                union all
                select 'federation', t, 'select,insert' from unnest(array['audit_log', 'master_keys']) t
                union all
                select 'federation', t, 'select,insert,update,delete'
                from unnest(array['login_log', 'login_counts', 'login_log_erasures']) t
            )
            select lower(r) || format(' on %I.%I', schema, name) from places, unnest(string_to_array(rights, ',')) r
            where case when not has_schema_privilege(schema, 'usage') then true
                when to_regclass(format('%I.%I', schema, name)) is null then false
                else not has_table_privilege(to_regclass(format('%I.%I', schema, name)), r) end
            order by 1 limit 20
            """
        )
        return try read { () throws(PostgresError) in
            try result.rows.map { (row) throws(PostgresError) in try row.decode(0, as: String.self) }
        }
    }
}
