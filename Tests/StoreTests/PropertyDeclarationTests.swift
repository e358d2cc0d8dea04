import Domain
import Encodings
import FoundationEssentials
import Postgres
import Store
import Testing
import TestSupport

@Suite("Declaring a property")
struct PropertyDeclarationTests {
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

    @Test("a property of each type becomes a column of its type, which a login fills", arguments: PropertyType.allCases)
    func declare(_ type: PropertyType) async throws {
        try await Tenant.lend { tenant in
            let changed = try await tenant.change(.declareProperty(Self.property("Fresh", type)))
            #expect(changed?.properties.last == Self.property("Fresh", type))
            #expect(try await column("Fresh", of: tenant)?.sqlType == type.sqlType)
            #expect(try await column("Fresh", of: tenant)?.notNull == false)
            let values: [PropertyType: PropertyValue] = [
                .string: .text("a"), .text: .text("b"), .int: .integer(.max), .double: .double(0.1),
                .boolean: .boolean(true), .date: .date(try #require(CalendarDate(year: 1990, month: 5, day: 17))),
                .dateTime: .dateTime(1_500_000_000_123), .json: .json(.array([.null])),
            ]
            let value = try #require(values[type])
            let tenant = tenant.with(Self.property("Fresh", type))
            #expect(try await tenant.login(writing: value, to: "Fresh", .always).user.value("Fresh") == value)
        }
    }

    @Test(
        "T-57: words that SQL or JavaScript reserve are names like all others, from the column to the login",
        arguments: [
            "user", "select", "order", "constructor", "table", "null", "current_user", "prototype", "toString",
            String(repeating: "n", count: 63),
        ]
    )
    func reservedWords(_ word: String) async throws {
        try await Tenant.lend { tenant in
            try await tenant.change(.declareProperty(Self.property(word, .int)))
            let first = try await tenant.with(Self.property(word, .int))
                .login(writing: .integer(1), to: word, .untilEdited)
            #expect(first.user.value(word) == .integer(1))
            let name = Tenant.named(word)
            try await tenant.change(.changeProperty(name, required: true, clientMappable: true))
            try await tenant.change(.widenProperty(name, to: .string))
            try await tenant.change(.renameProperty(from: name, to: Tenant.named("back")))
            try await tenant.change(.renameProperty(from: Tenant.named("back"), to: name))
            try await tenant.change(.removeProperty(name))
            #expect(try await column(word, of: tenant) == nil)
        }
    }

    @Test("a name of the system is refused, whoever asks", arguments: ["xmin", "dynamic", "objectId", "LOCALE"])
    func systemNames(_ name: String) async throws {
        try await Tenant.lend { tenant in
            let before = try await tenant.state()
            #expect(await tenant.refusal(.declareProperty(Self.property(name, .text)))?.reason == .conflict)
            #expect(
                await tenant.refusal(.renameProperty(from: Tenant.named("nick"), to: Tenant.named(name)))?.reason
                    == .conflict
            )
            #expect(try await tenant.state() == before)
        }
    }

    @Test("a column that the operator made is taken when it has the right type, and else both types are named")
    func existingColumn() async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql(
                """
                alter table \(Tenant.users) add column seat bigint not null default 7,
                    add column twice bigint generated always as (seat * 2) stored
                """
            )
            let before = try await tenant.state()
            let wrong = await tenant.refusal(.declareProperty(Self.property("seat", .dateTime)))
            #expect(wrong?.reason == .conflict)
            #expect(wrong?.message.contains("bigint") == true)
            #expect(wrong?.message.contains("timestamp with time zone") == true)
            #expect(await tenant.refusal(.declareProperty(Self.property("twice", .int)))?.reason == .conflict)
            #expect(await tenant.refusal(.declareProperty(Self.property("nick")))?.reason == .conflict)
            #expect(try await tenant.state() == before)
            try await tenant.change(.declareProperty(Self.property("seat", .int, required: true)))
            #expect(try await column("seat", of: tenant)?.notNull == true)
            // A column is NOT NULL exactly when its property is required, whoever created the column.
            try await tenant.change(.removeProperty(Tenant.named("points")))
            try await tenant.database.psql("alter table \(Tenant.users) add column points bigint not null default 1")
            try await tenant.change(.declareProperty(Self.property("points", .int)))
            #expect(try await column("points", of: tenant)?.notNull == false)
        }
    }

    @Test("an application has at most 500 declared properties")
    func most() async throws {
        try await Tenant.lend { tenant in
            let declared = Tenant.properties.count - 2
            try await tenant.database.psql(
                """
                insert into federation.properties (application_id, name, position, type, required, client_mappable)
                select 'tenant', 'filler' || n, 100 + n, 'INT', false, false from generate_series(\(declared + 2), 500) n
                """
            )
            try await tenant.change(.declareProperty(Self.property("last")))
            let before = try await tenant.state()
            let failure = await tenant.refusal(.declareProperty(Self.property("oneMore")))
            #expect(failure?.reason == .conflict)
            #expect(failure?.message.contains("500") == true)
            #expect(try await tenant.state() == before)
        }
    }

    @Test("T-55: a table that has used up its columns says so, and everything else goes on")
    func columnsExhausted() async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql(
                """
                do $$ declare used int; begin
                    select max(attnum) into used from pg_attribute where attrelid = '\(Tenant.users)'::regclass;
                    for n in used + 1..1600 loop
                        alter table \(Tenant.users) add column spent integer;
                        alter table \(Tenant.users) drop column spent;
                    end loop;
                end $$
                """
            )
            let before = try await tenant.state()
            let failure = await tenant.refusal(.declareProperty(Self.property("fresh")))
            #expect(failure?.reason == .conflict)
            #expect(failure?.message.contains("1600") == true)
            #expect(try await tenant.state() == before)
            _ = try await tenant.login(writing: .text("a"), to: "nick", .always)
            try await tenant.change(.renameProperty(from: Tenant.named("nick"), to: Tenant.named("nickName")))
        }
    }
}
