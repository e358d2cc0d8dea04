import Testing
import TestSupport

@testable import ServerTestSupport

@Suite("federation migrate")
struct MigrationTests {
    @Test("the command and psql -f schema.sql give the same schema, and repeating either changes nothing")
    func sameSchema() async throws {
        let byCommand = try await withDatabase(.empty) { database in
            try await migrate(database)
            let first = try await dump(database)
            try await migrate(database)
            try await database.psql(file: PackageLayout.path("schema.sql"))
            #expect(try await dump(database) == first, "a second time")
            return first
        }
        let byFile = try await withDatabase(.empty) { database in
            try await database.psql(file: PackageLayout.path("schema.sql"))
            let first = try await dump(database)
            try await database.psql(file: PackageLayout.path("schema.sql"))
            try await migrate(database)
            #expect(try await dump(database) == first, "a second time")
            return first
        }
        #expect(byCommand == byFile)
        #expect(byCommand.contains("CREATE TABLE federation.applications"), "there is something to compare")
    }

    @Test("a database with applications and users keeps them as they are")
    func keepsData() async throws {
        try await withDatabase(.schema) { database in
            let document = Document(properties: #"{"nick": {"type": "STRING"}}"#, mapping: #"{"name": "nick"}"#)
            try await document.apply(to: database)
            try await database.psql("insert into demo.users (object_id, nick) values (gen_random_uuid(), 'Ann')")
            let (schema, data) = (try await dump(database), try await dump(database, "--data-only"))
            try await migrate(database)
            try await database.psql(file: PackageLayout.path("schema.sql"))
            #expect(try await dump(database) == schema)
            #expect(try await dump(database, "--data-only") == data)
        }
    }

    @Test("the service stays up and is ready after the migration, not before it, nor after that of a later version")
    func readiness() async throws {
        try await withDatabase(.empty) { database in
            let service = try await ServiceProcess.start(
                environment: Deployment.environment(database: database),
                readyPath: "/health/live"
            )
            let waiting = try await service.management.get("/health/ready")
            #expect(waiting.status == 503)
            #expect(waiting.text.contains("run federation migrate"), "\(waiting.text)")
            try await migrate(database)
            try await eventually("the service is ready") {
                try await service.management.get("/health/ready").status == 200
            }
            // A later version has migrated the database, which this version does not serve any more.
            try await database.psql(
                "insert into federation.schema_versions select max(version) + 1 from federation.schema_versions"
            )
            let outdated = try await service.management.get("/health/ready")
            #expect(outdated.status == 503)
            #expect(outdated.text.contains("run the program that migrated it"), "\(outdated.text)")
            #expect(try await service.process.terminate() == .exited(0))
        }
    }

    private func migrate(_ database: TestDatabase) async throws {
        let migrated = try await runFederation(["migrate"], environment: Deployment.environment(database: database))
        #expect(migrated.exitStatus == .exited(0), "\(migrated.standardError)")
    }

    /// Returns the output of `pg_dump`, without the random `\restrict` lines of its newer versions.
    private func dump(_ database: TestDatabase, _ what: String = "--schema-only") async throws -> String {
        let dumped = try await run("pg_dump", [what, "--dbname", database.url])
        #expect(dumped.exitStatus == .exited(0), "\(dumped.standardError)")
        return dumped.standardOutput.split(separator: "\n").filter { !$0.contains("restrict ") }.joined(separator: "\n")
    }
}
