import Domain
import Encodings
import Postgres
import Store
import Testing
import TestSupport

@Suite("Making an application")
struct ApplicationCreationTests {
    private static func create(_ schema: String) -> [ConfigurationChange] {
        [.create(name: "Other", schema: schema, settings: .object([:]))]
    }

    @Test(
        "a schema with tables of somebody else is a conflict that names it, and stays as it is",
        arguments: [
            "create table foreign_one.users (id integer primary key, email text)",
            "create table foreign_one.users (id uuid primary key, email text)",
            "create table foreign_one.users (object_id uuid primary key, email text)",
            "create table foreign_one.users (email text)",
            "create view foreign_one.users as select 'a' as email",
            "create table foreign_one.identities (x text)",
            "create table foreign_one.sessions (x text)",
            // No name of this table clashes with ours, but deleting the application would drop the table.
            "create table foreign_one.orders (x text)",
        ]
    )
    func foreignTables(_ table: String) async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql("create schema foreign_one; \(table)")
            let before = try await tenant.state()
            let other = try #require(ApplicationID("other"))
            let failure = await #expect(throws: Failure.self) {
                try await tenant.change(Self.create("foreign_one"), of: other)
            }
            #expect(failure?.reason == .conflict)
            #expect(failure?.message.contains("foreign_one") == true)
            #expect(try await tenant.state() == before)
            let tables =
                "select count(*) from pg_class where relnamespace = 'foreign_one'::regnamespace and relkind in ('r', 'v')"
            #expect(try await tenant.database.psql(tables) == [["1"]])
        }
    }

    @Test("a schema that another application left behind is taken over with its users")
    func ownTables() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: .integer(7), to: "points", .always)
            try await tenant.database.psql("delete from federation.applications")
            let other = try #require(ApplicationID("other"))
            try await tenant.change(
                Self.create(tenant.application.schema) + [
                    .declareProperty(Property(name: Tenant.named("points"), type: .int))
                ],
                of: other
            )
            #expect(try await tenant.database.psql("select points from \(Tenant.users)") == [["7"]])
        }
    }

    @Test("an id or a schema that is taken is a conflict")
    func taken() async throws {
        try await Tenant.lend { tenant in
            let before = try await tenant.state()
            let other = try #require(ApplicationID("other"))
            let schema = await #expect(throws: Failure.self) {
                try await tenant.change(Self.create(tenant.application.schema), of: other)
            }
            #expect(schema?.reason == .conflict)
            #expect(await tenant.refusal(.create(name: "X", schema: "x", settings: .object([:])))?.reason == .conflict)
            #expect(try await tenant.state() == before)
        }
    }

    @Test("of eight who make the same application at once one does, and the others see it")
    func race() async throws {
        try await Tenant.lend { tenant in
            let other = try #require(ApplicationID("other"))
            let seen = try await withThrowingTaskGroup(of: StoredApplication?.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await tenant.store.change(other, by: Tenant.actor) { stored, _ in
                            guard stored == nil else { return [] }
                            return Self.create("other").map {
                                PlannedChange($0, action: "make", target: nil, from: nil, to: nil)
                            }
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(seen.compactMap(\.?.schema) == Array(repeating: "other", count: 8))
            #expect(
                try await tenant.store.audit(matching: AuditFilter(action: "make"), before: nil, limit: 9).count == 1
            )
        }
    }

    @Test("a database role that may not make schemas is told what it needs")
    func rights() async throws {
        try await Tenant.lend { tenant in
            let role = "federation_modest_\(UInt32.random(in: 0 ... .max))"
            try await tenant.database.psql(
                """
                create role \(role) login password 'modest'; grant usage on schema federation to \(role);
                grant all on all tables in schema federation to \(role);
                grant usage on schema \(Tenant.schema) to \(role); grant all on \(Tenant.users) to \(role)
                """
            )
            let before = try await tenant.state()
            let server = tenant.database.url.drop { $0 != "@" }
            try await withStore("postgres://\(role):modest\(server)") { store in
                for (id, step) in [
                    (try #require(ApplicationID("other")), Self.create("other")[0]),
                    (tenant.application.id, .declareProperty(Property(name: Tenant.named("more"), type: .int))),
                ] {
                    let failure = await #expect(throws: Failure.self) {
                        try await store.change(id, by: Tenant.actor) { _, _ in
                            [PlannedChange(step, action: "test", target: nil, from: nil, to: nil)]
                        }
                    }
                    #expect(failure?.reason == .conflict)
                    #expect(failure?.message.contains("grant create on database") == true)
                }
            }
            #expect(try await tenant.state() == before)
            try await tenant.database.psql("drop owned by \(role); drop role \(role)")
        }
    }
}
