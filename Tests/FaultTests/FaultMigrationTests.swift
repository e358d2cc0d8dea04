import Testing
import TestSupport

@testable import ServerTestSupport

extension FaultTests {
    @Suite("Migrations meet each other, and death")
    struct Migrations {
        @Test("F-34: sixteen migrations at once of an empty database: all succeed, each step is there once")
        func many() async throws {
            try await withDatabase(.empty) { database in
                let endings = try await withThrowingTaskGroup(of: ManagedProcess.self) { group in
                    for _ in 0..<16 {
                        group.addTask {
                            try await runFederation(
                                ["migrate"],
                                environment: Deployment.environment(database: database)
                            )
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                for ended in endings { #expect(ended.exitStatus == .exited(0), "\(ended.standardError)") }
                let steps = """
                    select array_agg(version order by version)
                        = array(select generate_series(1, federation.schema_version()))
                    from federation.schema_versions
                    """
                #expect(try await database.psql(steps) == [["t"]])
                try await expectWholeSchema(database)
            }
        }

        /// The process that is killed during the migration.
        enum Victim: CaseIterable {
            /// The program; PostgreSQL notices only after executing everything that it received.
            case program
            /// The program's session in PostgreSQL.
            case session
        }

        @Test(
            "F-34: a migration that is killed in the middle leaves all or nothing, and the next one succeeds",
            arguments: Victim.allCases
        )
        func killed(victim: Victim) async throws {
            try await withDatabase(.empty) { database in
                // The ninth table waits for the test, so that the kill hits the middle of the migration.
                try await database.psql(
                    """
                    create sequence made;
                    create table held as select 1 as n;
                    create function linger() returns event_trigger language plpgsql as $body$
                    begin
                        if nextval('made') = 9 then
                            while exists (select from public.held) loop perform pg_sleep(0.02); end loop;
                        end if;
                    end $body$;
                    create event trigger linger on ddl_command_end when tag in ('CREATE TABLE') execute function linger();
                    """
                )
                let environment = Deployment.environment(database: database)
                let migration = try await ManagedProcess.start(
                    try PackageLayout.executable("federation"),
                    ["migrate"],
                    environment: environment
                )
                let session =
                    "from pg_stat_activity where datname = current_database() and application_name = 'federation'"
                try await eventually("the migration is in the middle") {
                    try await !database.psql("select 1 \(session) and wait_event = 'PgSleep'").isEmpty
                }
                switch victim {
                case .program: try await migration.kill()
                case .session:
                    try await database.psql("select pg_terminate_backend(pid) \(session)")
                    #expect(try await migration.waitForExit() == .exited(69))
                }
                try await database.psql("delete from held")
                try await eventually("its session ends", every: .milliseconds(50)) {
                    try await database.psql("select 1 \(session)").isEmpty
                }
                if try await database.psql("select 1 from pg_namespace where nspname = 'federation'").isEmpty {
                    #expect(victim == .session)
                } else {
                    try await expectWholeSchema(database)
                }
                try await database.psql("drop event trigger linger; drop function linger; drop sequence made")
                let repeated = try await runFederation(["migrate"], environment: environment)
                #expect(repeated.exitStatus == .exited(0), "\(repeated.standardError)")
                try await expectWholeSchema(database)
            }
        }

        @Test(
            "F-34: a migration that is killed between applications leaves whole ones, and the next one does the rest",
            arguments: Victim.allCases
        )
        func killedBetween(victim: Victim) async throws {
            try await withDatabase(.landed(8, schemas: ["first", "second", "third"])) { database in
                let environment = Deployment.environment(database: database)
                let migration = try await database.whileLocked("lock table second.users") {
                    let migration = try await ManagedProcess.start(
                        try PackageLayout.executable("federation"),
                        ["migrate"],
                        environment: environment
                    )
                    let session = """
                        from pg_stat_activity where datname = current_database() and application_name = 'federation'
                        """
                    try await eventually("the migration waits for the second application") {
                        try await !database.psql("select 1 \(session) and wait_event_type = 'Lock'").isEmpty
                    }
                    switch victim {
                    case .program: try await migration.kill()
                    case .session: try await database.psql("select pg_terminate_backend(pid) \(session)")
                    }
                    return migration
                }
                if victim == .session { #expect(try await migration.waitForExit() == .exited(69)) }
                #expect(try await database.psql("select max(version) from federation.schema_versions") == [["8"]])
                let repeated = try await runFederation(["migrate"], environment: environment)
                #expect(repeated.exitStatus == .exited(0), "\(repeated.standardError)")
                try await expectWholeSchema(database)
                #expect(
                    try await database.psql("select count(*) from pg_tables where tablename = 'factors'") == [["3"]]
                )
            }
        }

        /// Expects the same tables and columns as `psql -f schema.sql` makes.
        private func expectWholeSchema(_ database: TestDatabase) async throws {
            let sql = """
                select string_agg(concat_ws(' ', table_name, column_name, data_type), ', '
                    order by table_name, ordinal_position)
                from information_schema.columns where table_schema = 'federation'
                """
            let columns = try await database.psql(sql)
            let whole = try await FaultDeployment.current.database.psql(sql)
            #expect(columns == whole)
        }
    }
}
