import Domain
import Encodings
import FoundationEssentials
import Postgres
import Store
import Testing
import TestSupport

@Suite("A change of properties")
struct PropertyChangeTests {
    private static func property(
        _ name: String,
        _ type: PropertyType = .string,
        required: Bool = false
    ) -> Property {
        Property(name: Tenant.named(name), type: type, required: required)
    }

    /// Returns a column: its name, its type and whether it is NOT NULL.
    private func column(_ name: String, of tenant: Tenant) async throws -> LiveColumn? {
        try await tenant.store.liveColumns(ofSchema: tenant.application.schema).first { $0.name == name }
    }

    @Test("a renamed property keeps its values, and what the mapping wrote last of it follows")
    func rename() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login("1", writing: .text("a"), to: "nick", .untilEdited)
            _ = try await tenant.login("2", writing: .text("b"), to: "nick", .untilEdited)
            _ = try await tenant.login("3", writing: .integer(3), to: "points", .untilEdited)
            try await tenant.database.psql("update \(Tenant.users) set nick = 'mine' where nick = 'b'")
            let changed = try await tenant.change(
                .renameProperty(from: Tenant.named("nick"), to: Tenant.named("nickName"))
            )
            #expect(changed?.properties.contains { $0.name.text == "nick" } == false)
            let renamed = tenant.with(Self.property("nickName"), insteadOf: "nick")
            let first = try await renamed.login("1", writing: .text("A"), to: "nickName", .untilEdited)
            #expect(first.user.value("nickName") == .text("A"))
            let second = try await renamed.login("2", writing: .text("B"), to: "nickName", .untilEdited)
            #expect(second.user.value("nickName") == .text("mine"))
            let written = try await tenant.database.psql(
                "select written from \(Tenant.schema).identities order by subject"
            )
            #expect(written == [[#"{"nickName": "A"}"#], [#"{"nickName": "b"}"#], [#"{"points": 3}"#]])
        }
    }

    @Test("a name that is taken, by a property, a column or clients' values, is a conflict")
    func renameClash() async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql("alter table \(Tenant.users) add column \"byHand\" integer")
            try await tenant.store.registerDynamicNames([Tenant.named("brought")], of: tenant.application.id)
            let before = try await tenant.state()
            for name in ["points", "byHand", "brought", "email"] {
                let failure = await tenant.refusal(
                    .renameProperty(from: Tenant.named("nick"), to: Tenant.named(name))
                )
                #expect(failure?.reason == .conflict, "\(name)")
            }
            #expect(await tenant.refusal(.renameProperty(from: .email, to: Tenant.named("mail")))?.reason == .conflict)
            #expect(try await tenant.state() == before)
        }
    }

    @Test("required becomes NOT NULL; while a user lacks a value it is refused, and logins without one go on")
    func required() async throws {
        try await Tenant.lend { tenant in
            let points = Tenant.named("points")
            _ = try await tenant.login("1", writing: nil, to: "points", .always)
            let before = try await tenant.state()
            let failure = await tenant.refusal(.changeProperty(points, required: true, clientMappable: true))
            #expect(failure?.reason == .constraintViolation)
            #expect(failure?.details["property"] == .string("points"))
            #expect(try await tenant.state() == before)
            _ = try await tenant.login("2", writing: nil, to: "points", .always)

            try await tenant.database.psql("update \(Tenant.users) set points = 0")
            let changed = try await tenant.change(.changeProperty(points, required: true, clientMappable: true))
            let property = Property(name: points, type: .int, required: true, clientMappable: true)
            #expect(changed?.properties.contains(property) == true)
            #expect(try await column("points", of: tenant)?.notNull == true)
            let constraints = "select count(*) from pg_constraint where conname like 'federation_required%'"
            #expect(try await tenant.database.psql(constraints) == [["0"]])
            await #expect(throws: Failure.self) { try await tenant.login("3", writing: nil, to: "points", .always) }

            try await tenant.change(.changeProperty(points, required: false, clientMappable: false))
            #expect(try await column("points", of: tenant)?.notNull == false)
            // The next change removes the constraint that a killed change has left behind.
            try await tenant.database.psql(
                """
                do $$ begin execute format('alter table \(Tenant.users) add constraint federation_required_%s check (true)',
                    (select attnum from pg_attribute where attrelid = '\(Tenant.users)'::regclass and attname = 'points'));
                end $$
                """
            )
            #expect(try await tenant.database.psql(constraints) == [["1"]])
            try await tenant.change(.changeProperty(points, required: false, clientMappable: true))
            #expect(try await tenant.database.psql(constraints) == [["0"]])
        }
    }

    @Test("a property may be renamed, widened and required at once, and required as soon as it is declared")
    func requiredInOneChange() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: .integer(1), to: "points", .untilEdited)
            let (points, score) = (Tenant.named("points"), Tenant.named("score"))
            try await tenant.change(
                .renameProperty(from: points, to: score),
                .widenProperty(score, to: .double),
                .changeProperty(score, required: true, clientMappable: false)
            )
            #expect(try await column("score", of: tenant)?.notNull == true)
            #expect(try await column("score", of: tenant)?.sqlType == "double precision")
            await #expect(throws: Failure.self) {
                try await tenant.change(.declareProperty(Self.property("fresh", required: true)))
            }
            try await tenant.database.psql("delete from \(Tenant.users)")
            try await tenant.change(
                .declareProperty(Self.property("fresh", required: true)),
                .declareProperty(Self.property("newer")),
                .changeProperty(Tenant.named("newer"), required: true, clientMappable: false)
            )
            #expect(try await column("fresh", of: tenant)?.notNull == true)
            #expect(try await column("newer", of: tenant)?.notNull == true)
            let constraints = "select count(*) from pg_constraint where conname like 'federation_required%'"
            #expect(try await tenant.database.psql(constraints) == [["0"]])
        }
    }

    @Test("a change that fails after the validation of a requirement withdraws it")
    func validationWithdrawn() async throws {
        try await Tenant.lend { tenant in
            let before = try await tenant.state()
            let failure = await tenant.refusal(
                .changeProperty(Tenant.named("points"), required: true, clientMappable: false),
                .revokeKey(label: "nobody's")
            )
            #expect(failure?.reason == .internal)
            #expect(try await tenant.state() == before)
        }
    }

    @Test("built-in properties can be required and declared again, and nothing else")
    func builtIn() async throws {
        try await Tenant.lend { tenant in
            let changed = try await tenant.change(.changeProperty(.email, required: true, clientMappable: false))
            #expect(changed?.properties.contains(Property(name: .email, type: .string, required: true)) == true)
            #expect(try await column("email", of: tenant)?.notNull == true)
            try await tenant.change(.declareProperty(Self.property("name", .text)))
            let before = try await tenant.state()
            for step in [ConfigurationChange.removeProperty(.email), .widenProperty(.name, to: .json)] {
                #expect(await tenant.refusal(step)?.reason == .conflict)
            }
            #expect(try await tenant.state() == before)
        }
    }

    @Test("a removed property takes its column along, and its name is free for another type")
    func remove() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: .text("a"), to: "nick", .untilEdited)
            try await tenant.database.psql("create index on \(Tenant.users) (nick)")
            let changed = try await tenant.change(.removeProperty(Tenant.named("nick")))
            #expect(changed?.properties.contains { $0.name.text == "nick" } == false)
            #expect(try await column("nick", of: tenant) == nil)
            try await tenant.change(.declareProperty(Self.property("nick", .int)))
            let again = try await tenant.with(Self.property("nick", .int))
                .login(writing: .integer(5), to: "nick", .ifEmpty)
            #expect(again.user.value("nick") == .integer(5))
            #expect(try await tenant.database.psql("select written from \(Tenant.schema).identities") == [["{}"]])
        }
    }

    @Test(
        "what depends on a column is named when it stands in the way, and nothing has changed",
        arguments: [
            ("create view report as select nick, points from \(Tenant.users)", "view report"),
            (
                "alter table \(Tenant.users) add column twice bigint generated always as (points * 2) stored",
                "twice"
            ),
            ("create function half() returns bigint begin atomic select points / 2 from \(Tenant.users); end", "half"),
        ]
    )
    func dependents(_ object: String, _ name: String) async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql(object)
            let before = try await tenant.state()
            let points = Tenant.named("points")
            for step in [ConfigurationChange.removeProperty(points), .widenProperty(points, to: .string)] {
                let failure = await tenant.refusal(step)
                #expect(failure?.reason == .conflict)
                #expect(failure?.message.contains(name) == true, "\(failure?.message ?? "")")
                #expect(failure?.message.contains("points") == true)
            }
            #expect(try await tenant.state() == before)
        }
    }

    @Test(
        "a rule that does not know the wider type is named",
        arguments: [
            ("alter table \(Tenant.users) add constraint positive check (points > 0)", "positive"),
            ("create index even on \(Tenant.users) ((points % 2))", "even"),
            (
                "create trigger guard before update of points on \(Tenant.users) for each row execute function suppress_redundant_updates_trigger()",
                "guard"
            ),
        ]
    )
    func rules(_ rule: String, _ name: String) async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql(rule)
            let before = try await tenant.state()
            let failure = await tenant.refusal(.widenProperty(Tenant.named("points"), to: .text))
            #expect(failure?.reason == .conflict)
            #expect(failure?.message.contains(name) == true, "\(failure?.message ?? "")")
            #expect(try await tenant.state() == before)
        }
    }
}
