import Domain
import Encodings
import Postgres
import Store
import Testing
import TestSupport

@Suite("The schema")
struct SchemaTests {
    @Test(
        "F-34: sixteen migrations at once all succeed without a deadlock, and leave each version once",
        arguments: [[], ["first"], ["first", "second", "third", "fourth", "fifth"]]
    )
    func migrationRace(schemas: [String]) async throws {
        try await withDatabase(schemas.isEmpty ? .empty : .landed(10, schemas: schemas)) { database in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        var configuration = try PostgresConfiguration(url: database.url)
                        // The migrations wait for each other, and for processors that other tests use, too; one
                        // statement migrates all applications.
                        configuration.pipelinedConnections = 1
                        configuration.exclusiveConnections = 1
                        (configuration.leaseTimeout, configuration.connectTimeout) = (.seconds(60), .seconds(60))
                        configuration.statementTimeout = .seconds(600)
                        let client = PostgresClient(configuration: configuration)
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
            #expect(
                try await database.psql("select version from federation.schema_versions")
                    == (1...Store.expectedSchemaVersion).map { [String($0)] }
            )
            let deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
            #expect(try await database.psql(deadlocks) == [["0"]])
        }
    }

    @Test(
        "a migration whose locks collide with those of others is begun again, and says so in the end",
        arguments: ["40P01", "55P03"]
    )
    func collisions(state: String) async throws {
        try await withDatabase(.empty) { database in
            try await database.psql(
                """
                create sequence collisions;
                create function collide() returns event_trigger language plpgsql as
                    'begin if nextval(''collisions'') <= 2 then raise sqlstate ''\(state)''; end if; end';
                create event trigger collide on ddl_command_start when tag in ('CREATE TABLE') execute function collide()
                """
            )
            try await withStore(database.url) { store in
                try await store.migrate()
                #expect(try await store.schemaVersion() == Store.expectedSchemaVersion)
                try await database.psql(
                    "drop schema federation cascade; alter sequence collisions minvalue -1000 restart with -1000"
                )
                let failure = await #expect(throws: Failure.self) { try await store.migrate() }
                #expect(failure?.message.contains("conflicted") == true)
                #expect(failure?.message.contains("pg_locks") == true)
                #expect(try await database.psql("select last_value from collisions") == [["-996"]])
            }
        }
    }

    /// A query of all objects that schema.sql creates.
    static let dump = """
        select string_agg(line, e'\\n' order by line) from (
            select format('%s.%s.%s %s %s %s', n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                a.attnotnull, pg_get_expr(d.adbin, d.adrelid)) as line
            from pg_class c join pg_namespace n on n.oid = c.relnamespace
            join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
            left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
            where n.nspname in ('federation')
            union all select format('%s %s', conname, pg_get_constraintdef(oid)) from pg_constraint
                where connamespace = 'federation'::regnamespace
            union all select indexdef from pg_indexes where schemaname = 'federation'
            union all select pg_get_functiondef(oid) from pg_proc where pronamespace = 'federation'::regnamespace
            union all select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
        ) lines
        """

    /// Returns a query of the columns, constraints and indexes of an application's schema, without the schema's name.
    static func dump(ofApplication schema: String) -> String {
        """
        select replace(string_agg(line, e'\\n' order by line), '\(schema)', '') from (
            select format('%s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
                pg_get_expr(d.adbin, d.adrelid)) as line
            from pg_class c join pg_namespace n on n.oid = c.relnamespace
            join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
            left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
            where n.nspname = '\(schema)' and c.relkind = 'r'
            union all select format('%s %s', conname, pg_get_constraintdef(oid)) from pg_constraint
                where connamespace = '"\(schema)"'::regnamespace
            union all select indexdef from pg_indexes where schemaname = '\(schema)'
        ) lines
        """
    }

    @Test("migrate gives what psql -f schema.sql gives, and both change nothing the second time")
    func sameAsFile() async throws {
        let byFile = try await withDatabase(.empty) { database in
            try await database.psql(file: PackageLayout.path("schema.sql"))
            let first = try await database.psql(Self.dump)
            try await database.psql(file: PackageLayout.path("schema.sql"))
            #expect(try await database.psql(Self.dump) == first)
            return first
        }
        let byMigrate = try await withDatabase(.empty) { database in
            try await withStore(database.url) { store in
                try await store.migrate()
                try await store.migrate()
                #expect(try await store.schemaVersion() == Store.expectedSchemaVersion)
            }
            return try await database.psql(Self.dump)
        }
        #expect(byFile == byMigrate)
        #expect((byFile.first?.first ?? nil)?.contains("federation.applications.id text t") == true)
    }

    @Test("a schema that a newer version has met is not undone by an older one")
    func older() async throws {
        let (present, newer) = (Store.expectedSchemaVersion, Store.expectedSchemaVersion + 1)
        try await withDatabase(.schema) { database in
            try await database.psql(
                """
                create or replace function federation.schema_version() returns integer
                language sql as 'select \(newer)'
                """
            )
            try await withStore(database.url) { store in
                let failure = await #expect(throws: Failure.self) { try await store.migrate() }
                let refusal = "version \(newer) of the schema, newer than version \(present) of this program"
                #expect(failure?.message.contains(refusal) == true)
            }
            #expect(try await database.psql("select federation.schema_version()") == [[String(newer)]])
        }
    }

    @Test("an application whose table somebody holds ends a migration, which says so and can be begun again")
    func held() async throws {
        try await withDatabase(.landed(8, schemas: ["first", "second", "third"])) { database in
            let made = "select schemaname from pg_tables where tablename = 'factors' order by 1"
            try await withStore(database.url, configure: { $0.statementTimeout = .seconds(600) }) { store in
                let failure = try await database.whileLocked("lock table second.users") {
                    await #expect(throws: Failure.self) { try await store.migrate() }
                }
                let message = failure?.message ?? ""
                #expect(message.contains("schema second") && message.contains("migrate again"))
                #expect(try await store.schemaVersion() == 8)
                #expect(try await database.psql(made) == [["first"]])
                try await store.migrate()
                #expect(try await store.schemaVersion() == Store.expectedSchemaVersion)
                #expect(try await database.psql(made) == [["first"], ["second"], ["third"]])
            }
        }
    }

    @Test("an application that is deleted before its turn comes is not made anew")
    func deletedMeanwhile() async throws {
        try await withDatabase(.landed(8, schemas: ["first", "second", "third"])) { database in
            try await withStore(database.url, configure: { $0.statementTimeout = .seconds(600) }) { store in
                let migration = try await database.whileLocked("lock table second.users") {
                    let migration = Task { try await store.migrate() }
                    try await eventually("the first one is done") {
                        try await database.psql("select to_regclass('first.factors') is not null") == [["t"]]
                    }
                    try await database.psql(
                        "drop schema third cascade; delete from federation.applications where schema_name = 'third'"
                    )
                    return migration
                }
                try await migration.value
                #expect(try await store.schemaVersion() == Store.expectedSchemaVersion)
            }
            #expect(try await database.psql("select to_regnamespace('third') is null") == [["t"]])
        }
    }

    @Test("sessions get room on their pages, unless an operator has chosen another")
    func room() async throws {
        try await withDatabase(.landed(10, schemas: ["first", "second"])) { database in
            try await database.psql(
                """
                alter table first.sessions set (autovacuum_vacuum_scale_factor = 0.02);
                alter table second.sessions set (fillfactor = 70)
                """
            )
            try await withStore(database.url) { store in try await store.migrate() }
            let options = try await database.psql(
                """
                select array_to_string(array(select unnest(reloptions) order by 1), ' ') from pg_class
                where oid in ('first.sessions'::regclass, 'second.sessions'::regclass) order by oid::regclass::text
                """
            )
            #expect(options == [["autovacuum_vacuum_scale_factor=0.02 fillfactor=85"], ["fillfactor=70"]])
        }
    }

    @Test("a database of version 1 becomes what a new one is, and keeps what it holds")
    func upgrade() async throws {
        let new = try await withDatabase(.schema) { database in try await database.psql(Self.dump) }
        try await withDatabase(.schema) { database in
            // This removes what version 1 did not have; one user has logged in to an application.
            try await database.psql(
                """
                drop trigger configuration_is_announced on federation.configuration;
                drop function federation.announce_configuration();
                alter table federation.applications drop column revision;
                alter table federation.mappings drop column author;
                drop table federation.attempts, federation.operator_factors, federation.operator_tokens,
                    federation.operators;
                drop index federation.audit_log_application;
                alter table federation.audit_log drop column source, drop column target;
                drop table federation.deletion_requests, federation.token_keys, federation.ban_key, federation.provider_kinds;
                drop trigger provider_kind_is_remembered on federation.provider_settings;
                drop function federation.remember_provider_kind();
                alter table federation.api_keys drop column server;
                alter table federation.provider_settings drop column options, drop column kind,
                    drop constraint provider_settings_provider,
                    add column graph_version text not null, add column proof text not null,
                    add constraint provider_settings_provider_check check (provider in ('facebook'));
                alter table federation.provider_apps drop column config_id, drop constraint provider_apps_app_id,
                    add constraint provider_apps_app_id_check check (app_id ~ '^[0-9]{1,32}$');
                delete from federation.schema_versions where version > 1;
                update federation.configuration set revision = 7;
                insert into federation.applications (id, name, schema_name) values ('old', 'Old', 'old one');
                select federation.create_application_schema('old one');
                drop function federation.add_column(text, text, text);
                drop function federation.identity_hash(text, text);
                drop function federation.identity_hash(text, text, text);
                drop function federation.has_ended(text, bytea, timestamptz);
                drop function federation.limit_sessions(text, uuid, bytea, bytea, bigint);
                drop function federation.limit_sessions(text, uuid, bytea, bytea, bigint, bigint);
                drop function federation.has_room_for_session(text, uuid, bytea, bytea, bigint, bigint);
                drop index "old one".users_email, "old one".users_guests;
                alter table "old one".users drop constraint dynamic_is_bounded;
                drop index "old one".sessions_user;
                create index sessions_object_id on "old one".sessions (object_id);
                drop table "old one".single_use, "old one".passwords, "old one".attempts, "old one".email_proofs,
                    "old one".mails, "old one".user_roles, "old one".removed_identities, "old one".factors,
                    "old one".trusted_devices, "old one".invitations;
                alter table "old one".sessions drop column provider, drop column provider_app, drop column subject,
                    drop column proved, drop column factor_kind, drop column factor_proved, drop column beside;
                alter table "old one".identities drop column declined_scopes, drop column token, drop column token_key_id,
                    drop column token_kind, drop column token_expires, drop column check_due, drop column checked,
                    drop column refreshed, drop column revoked, drop column revoked_by;
                insert into federation.mappings (application_id, provider, revision, document, active)
                    values ('old', 'facebook', 3, '[]', true);
                insert into federation.provider_settings values ('old', 'facebook', true, 'v24.0', 'classic');
                insert into federation.audit_log (actor, application_id, action) values ('cli', 'old', 'x');
                insert into "old one".users (object_id, email) values (gen_random_uuid(), 'a@example.com')
                """
            )
            #expect(try await database.psql(Self.dump) != new)
            try await withStore(database.url) { store in
                #expect(try await store.schemaVersion() == 1)
                try await store.migrate()
                #expect(try await store.schemaVersion() == Store.expectedSchemaVersion)
                #expect(try await database.psql(Self.dump) == new)
                try await database.psql("select federation.create_application_schema('new one')")
                let made = try await database.psql(Self.dump(ofApplication: "new one"))
                #expect(try await database.psql(Self.dump(ofApplication: "old one")) == made)
                #expect((made.first?.first ?? nil)?.contains("identities_token_expires") == true)
                let copy = try await store.configuration(changedAfter: 0)
                #expect(copy.revision == 7)
                #expect(copy.changed.map(\.id.text) == ["old"])
                #expect(copy.changed.first?.mappings[.facebook]?.revision == 3)
                let options = copy.changed.first?.providers[.facebook]?.options.object
                #expect(options?["graphVersion"] == .string("v24.0") && options?["proof"] == .string("classic"))
                #expect(copy.changed.first?.providers[.facebook]?.kind == .facebook)
                let id = try #require(copy.changed.first?.id)
                #expect(try await store.mappingRevision(3, for: .facebook, of: id)?.author == nil)
                let entry = try await store.audit(matching: AuditFilter(), before: nil, limit: 1).first
                #expect(entry?.actor == "cli" && entry?.source == nil)
            }
            let index = "select count(*) from pg_indexes where schemaname = 'old one' and indexname = 'users_email'"
            #expect(try await database.psql(index) == [["1"]])
            #expect(try await database.psql("select email from \"old one\".users") == [["a@example.com"]])
        }
    }

    @Test("a database of version 4 takes codes, forgotten challenges and links that undo, and keeps what it has")
    func fromVersion4() async throws {
        try await Tenant.lend { tenant in
            let new = try await tenant.database.psql(Self.dump)
            let (uses, proofs) = ("\(Tenant.schema).single_use", "\(Tenant.schema).email_proofs")
            try await tenant.database.psql(
                """
                alter table \(uses) drop constraint single_use_kind_check, add constraint single_use_kind_check
                    check (kind in ('nonce', 'state', 'loginCode', 'idToken', 'ended'));
                alter table federation.provider_apps drop column config_id;
                alter table \(proofs) drop constraint email_proofs_purpose_check,
                    add check (purpose in ('passwordReset', 'confirmation'));
                drop table \(Tenant.schema).removed_identities;
                delete from federation.schema_versions where version > 4;
                insert into \(uses) (kind, hash, expires) values ('state', sha256('a'), now() + interval '1 hour')
                """
            )
            #expect(try await tenant.store.schemaVersion() == 4)
            try await tenant.store.migrate()
            #expect(try await tenant.store.schemaVersion() == Store.expectedSchemaVersion)
            #expect(try await tenant.database.psql(Self.dump) == new)
            #expect(try await tenant.count("single_use") == "1")
            #expect(
                try await tenant.store.use(
                    .code,
                    hash: Array(repeating: 1, count: 32),
                    seconds: 9,
                    of: tenant.application
                )
            )
            try await tenant.store.noteLostChallenge(
                of: Array(repeating: 2, count: 32),
                seconds: 9,
                in: tenant.application
            )
        }
    }

    @Test("a database of version 4 can keep bans when it is migrated")
    func bans() async throws {
        try await withDatabase(.schema) { database in
            try await database.psql(
                """
                insert into federation.applications (id, name, schema_name) values ('old', 'Old', 'old');
                select federation.create_application_schema('old');
                """
            )
            let new = try await database.psql(Self.dump(ofApplication: "old"))
            try await database.psql(
                """
                drop table federation.ban_key;
                delete from federation.schema_versions where version > 4;
                alter table old.single_use drop constraint single_use_kind_check,
                    add check (kind in ('nonce', 'state', 'loginCode', 'idToken', 'ended'))
                """
            )
            #expect(try await database.psql(Self.dump(ofApplication: "old")) != new)
            try await withStore(database.url) { store in
                try await store.migrate()
                #expect(try await store.schemaVersion() == Store.expectedSchemaVersion)
                #expect(try await store.banKey() == nil)
            }
            #expect(try await database.psql(Self.dump(ofApplication: "old")) == new)
        }
    }

    @Test("migrating again waits for nobody who writes, whatever table it is, nor lets anybody wait")
    func again() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: .text("a"), to: "nick", .always)
            let tables = try await tenant.database.psql(
                """
                select string_agg(format('%I.%I', schemaname, tablename), ', ') from pg_tables
                where schemaname in ('federation', '\(tenant.application.schema)')
                """
            )
            let all = try #require(tables.first?.first ?? nil)
            try await tenant.database.whileLocked("lock table \(all) in row exclusive mode") {
                try await tenant.store.migrate()
            }
        }
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
