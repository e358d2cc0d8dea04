package import Domain
import Postgres

/// The state of the PostgreSQL server, as read by health checks.
package struct ServerFacts: Sendable {
    /// The version as PostgreSQL numbers it: 150018 is 15.18.
    package var version: Int
    package var encoding: String
    /// Whether the server is a replica, which takes no writes.
    package var isStandby: Bool
    /// The PostgreSQL settings that should be `on`, with their actual values.
    package var settings: [(name: String, value: String)]
    /// The time by the server's clock, in Unix milliseconds.
    package var time: Int64
    /// Whether the connection is encrypted; also true when client and server are on the same machine.
    package var isEncrypted: Bool
    /// The maximum number of connections, and the number of open ones.
    package var connections: (max: Int, open: Int)
    /// The age of the database's oldest unfrozen transaction id, and the age at which PostgreSQL starts to freeze by
    /// itself.
    ///
    /// Both are numbers of transactions.
    package var age: (transactions: Int, freezing: Int)
    /// The seconds since the start of the oldest transaction in this database, as far as the role may see transactions.
    package var oldestTransaction: Int
    /// The number of prepared two-phase transactions that wait for commit or rollback.
    package var preparedTransactions: Int
    /// Whether the role of the connection is a superuser.
    package var isSuperuser: Bool
}

/// The statistics of a table that needs a vacuum or an analyze.
package struct TableFacts: Sendable {
    package var name: String
    package var liveRows: Int
    package var deadRows: Int
    /// Whether PostgreSQL has ever analyzed the table.
    package var isAnalyzed: Bool
}

extension Store {
    /// Reads the state of the server behind the connections.
    package func serverFacts() async throws(Failure) -> ServerFacts {
        let result = try await query(
            """
            select current_setting('server_version_num')::bigint,
                (select pg_encoding_to_char(encoding)::text from pg_database where datname = current_database()),
                pg_is_in_recovery(), (extract(epoch from clock_timestamp()) * 1000)::bigint,
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
                (select rolsuper from pg_roles where rolname = current_user)
            """
        )
        let settings = try await query(
            """
            select name::text, setting::text from pg_settings
            where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'track_counts')
            order by name
            """
        )
        let names = try settings.all(String.self, String.self)
        let facts = try result.first { row throws(PostgresError) in
            ServerFacts(
                version: try row.next(),
                encoding: try row.next(),
                isStandby: try row.next(),
                settings: names.map { (name: $0, value: $1) },
                time: try row.next(),
                isEncrypted: try row.next(),
                connections: (try row.next(), try row.next()),
                age: (try row.next(), try row.next()),
                oldestTransaction: try row.next(),
                preparedTransactions: try row.next(),
                isSuperuser: try row.next()
            )
        }
        guard let facts else { throw Failure(.internal, "PostgreSQL says nothing of itself.") }
        return facts
    }

    /// Returns tables of the service that have many dead rows or were never analyzed, the worst first, at most 20.
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
        return try result.all(into: TableFacts.init)
    }

    /// Returns invalid indexes of the service's tables, which remain after an interrupted index build.
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
        return try result.all(String.self)
    }

    /// Returns the lock timeout of the main database if that database is a coordinator of Citus; otherwise nil.
    package func timeoutOnCitus() async throws(Failure) -> Duration? {
        do { guard try await databases.sharding.isThere() else { return nil } } catch {
            throw await failure(of: error, in: nil)
        }
        let result = try await query("select setting::bigint from pg_settings where name = 'lock_timeout'")
        return try result.first(Int64.self).map { .milliseconds($0) }
    }

    /// Returns applications that Citus has distributed while the coordinator still has a copy of their rows, which no
    /// query sees.
    ///
    /// Each application comes with the number of bytes of its copy. The list begins with the largest copy and has at
    /// most 20 elements.
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
        return try result.all { (application: $0, bytes: $1) }
    }

    /// Returns at most 20 privileges that logins need and the connection's role lacks, such as `select on demo.users`.
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
        return try result.all(String.self)
    }
}
