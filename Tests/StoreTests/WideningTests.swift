import Domain
import Encodings
import Postgres
import Store
import Testing
import TestSupport

@Suite("Widening a property")
struct WideningTests {
    /// The two types, a value as an SQL literal, and the widened value as text in UTC.
    static let forms: [(from: PropertyType, to: PropertyType, value: String, result: String)] = [
        (.int, .double, "9007199254740992", "9.007199254740992e+15"), (.int, .double, "-7", "-7"),
        (.int, .string, "-9223372036854775808", "-9223372036854775808"), (.int, .text, "0", "0"),
        (.int, .json, "9007199254740993", "9007199254740993"),
        (.double, .string, "0.1", "0.1"), (.double, .text, "'1e300'", "1e+300"), (.double, .string, "'NaN'", "NaN"),
        (.double, .json, "2.5", "2.5"), (.double, .json, "'-Infinity'", "\"-Infinity\""),
        (.boolean, .string, "true", "true"), (.boolean, .text, "false", "false"), (.boolean, .json, "true", "true"),
        (.date, .string, "'1990-05-17'", "1990-05-17"), (.date, .text, "'0001-01-01'", "0001-01-01"),
        (.date, .text, "'infinity'", "infinity"), (.date, .dateTime, "'1990-05-17'", "1990-05-17 00:00:00+00"),
        (.date, .json, "'1990-05-17'", "\"1990-05-17\""),
        (.dateTime, .string, "'2017-07-14 02:40:00.123Z'", "2017-07-14T02:40:00.123Z"),
        (.dateTime, .text, "'1969-12-31 23:59:59.5Z'", "1969-12-31T23:59:59.500Z"),
        (.dateTime, .text, "'0001-01-01 00:00Z'", "0001-01-01T00:00:00.000Z"),
        (.dateTime, .text, "'9999-12-31 23:59:59.999999Z'", "9999-12-31T23:59:59.999Z"),
        (.dateTime, .text, "'-infinity'", "-infinity"),
        (.dateTime, .json, "'2017-07-14 02:40:00.123Z'", "1500000000123"),
        (.dateTime, .json, "'1969-12-31 23:59:59.9999Z'", "-1"), (.dateTime, .json, "'infinity'", "\"infinity\""),
        (.string, .text, "'a'", "a"), (.text, .string, "'b'", "b"), (.string, .json, "'a\"b'", "\"a\\\"b\""),
        (.text, .json, "''", "\"\""),
    ]

    @Test("every pair of types that widens is in the table, and no other")
    func pairs() {
        for from in PropertyType.allCases {
            for to in PropertyType.allCases {
                #expect(from.widens(to: to) == Self.forms.contains { $0.from == from && $0.to == to }, "\(from) \(to)")
            }
        }
    }

    @Test("every value keeps its meaning, in one form whatever the database has set; a missing one stays missing")
    func values() async throws {
        try await Tenant.lend { tenant in
            let database = tenant.database.name
            try await tenant.database.psql(
                """
                alter database \(database) set datestyle = 'German, DMY';
                alter database \(database) set timezone = 'America/New_York';
                alter database \(database) set extra_float_digits = -3
                """
            )
            // The connections of this store open under those settings.
            try await withStore(tenant.database.url) { store in
                for (offset, form) in Self.forms.enumerated() {
                    let name = Tenant.named("p\(offset)")
                    let column = "p\(offset)"
                    try await change(tenant, in: store, .declareProperty(Property(name: name, type: form.from)))
                    try await tenant.database.psql(
                        """
                        delete from \(Tenant.users); set timezone = 'UTC'; set datestyle = 'ISO';
                        insert into \(Tenant.users) (object_id, email, \(column))
                        values (gen_random_uuid(), 'a', \(form.value)), (gen_random_uuid(), 'b', null)
                        """
                    )
                    let changed = try await change(tenant, in: store, .widenProperty(name, to: form.to))
                    #expect(changed?.properties.last?.type == form.to)
                    let read = try await tenant.database.psql(
                        """
                        set timezone = 'UTC'; set datestyle = 'ISO'; set extra_float_digits = 1;
                        select \(column)::text, format_type(atttypid, null) from \(Tenant.users), pg_attribute
                        where attrelid = '\(Tenant.users)'::regclass and attname = '\(column)' order by email
                        """
                    )
                    #expect(read == [[form.result, form.to.sqlType], [nil, form.to.sqlType]], "\(form)")
                }
            }
        }
    }

    @discardableResult
    private func change(
        _ tenant: Tenant,
        in store: Store,
        _ step: ConfigurationChange
    ) async throws -> StoredApplication? {
        try await store.change(tenant.application.id, by: Tenant.actor) { _, _ in
            [PlannedChange(step, action: "test", target: nil, from: nil, to: nil)]
        }
    }

    @Test("integers that no double equals, and pairs that do not widen, are refused; no value is repeated")
    func refused() async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql(
                "insert into \(Tenant.users) (object_id, points) values (gen_random_uuid(), 9007199254740993)"
            )
            let before = try await tenant.state()
            let inexact = await tenant.refusal(.widenProperty(Tenant.named("points"), to: .double))
            #expect(inexact?.reason == .valueNotConvertible)
            #expect(inexact?.message.contains("points") == true)
            #expect(inexact?.message.contains("9007199254740993") == false)
            for (name, type) in [("points", PropertyType.boolean), ("points", .int), ("nick", .int), ("extra", .text)] {
                let failure = await tenant.refusal(.widenProperty(Tenant.named(name), to: type))
                #expect(failure?.reason == .conflict, "\(name) to \(type)")
            }
            #expect(try await tenant.state() == before)
        }
    }

    /// A property, its wider type, and two successive values of a mapping, of which the second has the wider type.
    static let written: [(name: String, to: PropertyType, first: PropertyValue, second: PropertyValue)] = [
        ("points", .double, .integer(5), .double(6)), ("points", .string, .integer(5), .text("6")),
        ("ratio", .text, .double(1e300), .text("2.5")), ("ratio", .json, .double(0.1), .json(.integer(1))),
        ("member", .string, .boolean(true), .text("false")),
        ("seen", .string, .dateTime(1_500_000_000_123), .text("2017-07-14T02:40:01.000Z")),
        ("seen", .json, .dateTime(1_500_000_000_123), .json(.integer(1))),
        ("birthday", .dateTime, .date(.epoch), .dateTime(86_400_000)), ("birthday", .text, .date(.epoch), .text("x")),
        ("nick", .json, .text("a"), .json(.string("b"))), ("nick", .text, .text("a"), .text("b")),
    ]

    @Test("what the mapping writes until it is edited counts as unedited afterwards", arguments: written)
    func untilEdited(
        _ row: (name: String, to: PropertyType, first: PropertyValue, second: PropertyValue)
    ) async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: row.first, to: row.name, .untilEdited)
            try await tenant.change(.widenProperty(Tenant.named(row.name), to: row.to))
            let widened = tenant.with(Property(name: Tenant.named(row.name), type: row.to))
            let second = try await widened.login(writing: row.second, to: row.name, .untilEdited)
            #expect(second.user.value(row.name) == row.second)
        }
    }

    @Test("an instance that does not know of the wider type yet answers that it is a matter of a moment")
    func staleInstance() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: .integer(5), to: "points", .always)
            for type in [PropertyType.double, .string] {
                try await tenant.change(.widenProperty(Tenant.named("points"), to: type))
                let failure = await #expect(throws: Failure.self) {
                    try await tenant.login(writing: .integer(6), to: "points", .always)
                }
                #expect(failure?.reason == .storeUnavailable)
                #expect(failure?.retryAfter == 1)
            }
            try await tenant.change(.removeProperty(Tenant.named("points")))
            let failure = await #expect(throws: Failure.self) {
                try await tenant.login(writing: .text("a"), to: "nick", .always)
            }
            #expect(failure?.reason == .storeUnavailable)
        }
    }
}
