import Identity
import Postgres
import Store
import TestSupport
import Testing

@Suite("The schema")
struct SchemaTests {
    @Test("F-34: sixteen migrations at once all succeed and leave each version once")
    func migrationRace() async throws {
        try await withDatabase(.empty) { database in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        let client = PostgresClient(configuration: try PostgresConfiguration(url: database.url))
                        async let life: Void = client.run()
                        let outcome: Result<Void, any Error>
                        do { outcome = .success(try await Store(postgres: client).migrate()) } catch {
                            outcome = .failure(error)
                        }
                        client.shutdown()
                        await life
                        try outcome.get()
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await database.psql("select version from federation.schema_versions") == [["1"]])
        }
    }

    @Test("migrate gives what psql -f schema.sql gives, and both change nothing the second time")
    func sameAsFile() async throws {
        let dump = """
            select string_agg(line, e'\\n' order by line) from (
                select format('%s.%s.%s %s %s %s', n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                    a.attnotnull, pg_get_expr(d.adbin, d.adrelid)) as line
                from pg_class c join pg_namespace n on n.oid = c.relnamespace
                join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
                left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
                where n.nspname in ('federation')
                union all select format('%s %s', conname, pg_get_constraintdef(oid)) from pg_constraint
                    where connamespace = 'federation'::regnamespace
                union all select indexdef from pg_indexes where schemaname = 'federation'
                union all select pg_get_functiondef(oid) from pg_proc where pronamespace = 'federation'::regnamespace
                union all select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
            ) lines
            """
        let byFile = try await withDatabase(.empty) { database in
            try await database.psql(file: PackageLayout.path("schema.sql"))
            let first = try await database.psql(dump)
            try await database.psql(file: PackageLayout.path("schema.sql"))
            #expect(try await database.psql(dump) == first)
            return first
        }
        let byMigrate = try await withDatabase(.empty) { database in
            let client = PostgresClient(configuration: try PostgresConfiguration(url: database.url))
            async let life: Void = client.run()
            let store = Store(postgres: client)
            try await store.migrate()
            try await store.migrate()
            #expect(try await store.schemaVersion() == store.expectedSchemaVersion)
            client.shutdown()
            await life
            return try await database.psql(dump)
        }
        #expect(byFile == byMigrate)
        #expect((byFile.first?.first ?? nil)?.contains("federation.applications.id text t") == true)
    }

    @Test("the audit log takes rows and never gives one up")
    func auditLog() async throws {
        try await withDatabase(.schema) { database in
            try await database.psql("insert into federation.audit_log (actor, action) values ('me', 'test')")
            for statement in ["delete from", "truncate", "update"] {
                await #expect(throws: (any Error).self) {
                    try await database.psql(
                        "\(statement) federation.audit_log\(statement == "update" ? " set actor = 'you'" : "")"
                    )
                }
            }
            #expect(try await database.psql("select actor from federation.audit_log") == [["me"]])
        }
    }
}
