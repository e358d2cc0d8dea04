import Domain
import Encodings
import Store
import Testing
import TestSupport

@Suite("Writing a login")
struct SignInWriteTests {
    /// Two values of each type, and the SQL literal of a third value for an edit.
    static let types: [(name: String, first: PropertyValue, second: PropertyValue, edit: String)] = [
        ("nick", .text("a"), .text("b"), "'edited'"),
        ("points", .integer(1), .integer(-9_007_199_254_740_993), "7"),
        ("ratio", .double(0.1), .double(-1e300), "2.5"),
        ("member", .boolean(true), .boolean(true), "false"),
        (
            "birthday", .date(CalendarDate(daysSince1970: 7441) ?? .epoch),
            .date(CalendarDate(daysSince1970: -1) ?? .epoch), "'2001-02-03'"
        ),
        ("seen", .dateTime(1_500_000_000_123), .dateTime(-1), "'2001-02-03 04:05:06+00'"),
        (
            "extra", .json(.object(["a": .array([.null, .integer(1)])])), .json(.string("x")),
            "'{\"edited\": true}'"
        ),
    ]

    @Test("a first login creates, a second one of each sync mode does what the mode says", arguments: types)
    func syncModes(_ type: (name: String, first: PropertyValue, second: PropertyValue, edit: String)) async throws {
        try await Tenant.lend { tenant in
            for (offset, sync) in SyncMode.allCases.enumerated() {
                let subject = String(2000 + offset)
                let first = try await tenant.login(subject, writing: type.first, to: type.name, sync)
                #expect(first.created)
                #expect(first.user.value(type.name) == type.first)
                #expect(first.user.updated == nil)
                let second = try await tenant.login(subject, writing: type.second, to: type.name, sync)
                #expect(!second.created)
                #expect(second.user.objectID == first.user.objectID)
                let overwrites = sync == .always || sync == .untilEdited
                #expect(second.user.value(type.name) == (overwrites ? type.second : type.first), "\(sync)")
                // A login that changes no value does not count as an update.
                #expect((second.user.updated != nil) == (overwrites && type.first != type.second), "\(sync)")

                try await tenant.database.psql(
                    "update \"tenant \"\"x\"\"\".users set \"\(type.name)\" = \(type.edit)"
                )
                let third = try await tenant.login(subject, writing: type.second, to: type.name, sync)
                #expect((third.user.value(type.name) == type.second) == (sync == .always), "\(sync) after an edit")

                let lacking = try await tenant.login(subject, writing: nil, to: type.name, sync)
                #expect(lacking.user.value(type.name) == third.user.value(type.name), "\(sync) without a value")
            }
            #expect(try await tenant.count("users") == "4")
            #expect(try await tenant.count("identities") == "4")
        }
    }

    @Test("ifEmpty takes an empty text for no value")
    func emptyText() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: .text(""), to: "nick", .ifEmpty)
            let second = try await tenant.login(writing: .text("b"), to: "nick", .ifEmpty)
            #expect(second.user.value("nick") == .text("b"))
        }
    }

    @Test("untilEdited writes again once the edit has been taken back")
    func editTakenBack() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: .text("a"), to: "nick", .untilEdited)
            try await tenant.database.psql("update \"tenant \"\"x\"\"\".users set nick = 'mine'")
            #expect(
                try await tenant.login(writing: .text("b"), to: "nick", .untilEdited).user.value("nick")
                    == .text("mine")
            )
            try await tenant.database.psql("update \"tenant \"\"x\"\"\".users set nick = 'a'")
            #expect(
                try await tenant.login(writing: .text("c"), to: "nick", .untilEdited).user.value("nick") == .text("c")
            )
        }
    }

    @Test("a disabled user is refused and nothing is touched")
    func disabled() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: .text("a"), to: "nick", .always)
            try await tenant.database.psql("update \"tenant \"\"x\"\"\".users set user_status = 'DISABLED'")
            let before = try await tenant.database.psql("select * from \"tenant \"\"x\"\"\".identities")
            let failure = await #expect(throws: Failure.self) {
                try await tenant.login(writing: .text("b"), to: "nick", .always)
            }
            #expect(failure?.reason == .accountDisabled)
            #expect(try await tenant.database.psql("select * from \"tenant \"\"x\"\"\".identities") == before)
            #expect(try await tenant.database.psql("select nick from \"tenant \"\"x\"\"\".users") == [["a"]])
            #expect(try await tenant.count("sessions") == "1")
        }
    }

    @Test("a user who is disabled while the login waits is refused, and nothing is touched")
    func disabledMeanwhile() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: .text("a"), to: "nick", .untilEdited)
            let before = try await tenant.database.psql("select * from \"tenant \"\"x\"\"\".identities")
            async let disabling = tenant.database.psql(
                "update \"tenant \"\"x\"\"\".users set user_status = 'DISABLED'; select pg_sleep(0.7)"
            )
            try await eventually("the user is locked") {
                try await tenant.database.psql(
                    "select 1 from pg_stat_activity where query like '%pg_sleep(0.7)' and wait_event = 'PgSleep'"
                ).isEmpty == false
            }
            let failure = await #expect(throws: Failure.self) {
                try await tenant.login(writing: .text("b"), to: "nick", .untilEdited)
            }
            _ = try await disabling
            #expect(failure?.reason == .accountDisabled)
            #expect(try await tenant.database.psql("select * from \"tenant \"\"x\"\"\".identities") == before)
        }
    }

    @Test("a session in use does not reach a short idle limit")
    func shortIdleLimit() async throws {
        try await Tenant.lend { tenant in
            let hash = Tenant.randomHash()
            _ = try await tenant.login(writing: nil, to: "nick", .always, hash: hash)
            var application = tenant.application
            application.settings.sessionIdleSeconds = 60
            try await tenant.database.psql(
                "update \"tenant \"\"x\"\"\".sessions set last_seen = now() - interval '50 s'"
            )
            #expect(try await tenant.store.sessionUser(tokenHash: hash, of: application).get() != nil)
            let age = try await tenant.database.psql(
                "select last_seen > now() - interval '5 s' from \"tenant \"\"x\"\"\".sessions"
            )
            #expect(age == [["t"]])
            try await tenant.database.psql(
                "update \"tenant \"\"x\"\"\".sessions set last_seen = now() - interval '61 s'"
            )
            #expect(try await tenant.store.sessionUser(tokenHash: hash, of: application).get() == nil)
        }
    }

    @Test("the same user's earlier session ends when its token comes along, another's stays")
    func previousSession() async throws {
        try await Tenant.lend { tenant in
            let (own, others) = (Tenant.randomHash(), Tenant.randomHash())
            _ = try await tenant.login("1", writing: nil, to: "nick", .always, hash: own)
            _ = try await tenant.login("2", writing: nil, to: "nick", .always, hash: others)
            _ = try await tenant.login("1", writing: nil, to: "nick", .always, previous: own)
            _ = try await tenant.login("1", writing: nil, to: "nick", .always, previous: others)
            #expect(try await tenant.store.sessionUser(tokenHash: own, of: tenant.application).get() == nil)
            #expect(try await tenant.store.sessionUser(tokenHash: others, of: tenant.application).get() != nil)
        }
    }

    @Test("60 people, 8 racing first logins each: 60 rows, everyone gets the one id")
    func races() async throws {
        try await Tenant.lend { tenant in
            let ids = try await withThrowingTaskGroup(of: (Int, ObjectID, Bool).self) { group in
                for person in 0..<60 {
                    for _ in 0..<8 {
                        group.addTask {
                            let written = try await tenant.login(
                                String(5000 + person),
                                writing: .text("x"),
                                to: "nick",
                                .untilEdited
                            )
                            return (person, written.user.objectID, written.created)
                        }
                    }
                }
                return try await group.reduce(into: [Int: [(ObjectID, Bool)]]()) {
                    $0[$1.0, default: []].append(($1.1, $1.2))
                }
            }
            #expect(ids.count == 60)
            for logins in ids.values {
                #expect(Set(logins.map(\.0)).count == 1)
                #expect(logins.filter(\.1).count == 1)
            }
            #expect(try await tenant.count("users") == "60")
            #expect(try await tenant.count("sessions") == "480")
        }
    }

    @Test(
        "what the operator's own constraint refuses names the property and never the value",
        arguments: [
            ("create unique index one_nick on \"tenant \"\"x\"\"\".users (nick)", "nick"),
            ("alter table \"tenant \"\"x\"\"\".users add constraint polite check (nick <> 'canary')", "nick"),
            ("alter table \"tenant \"\"x\"\"\".users alter column points set not null", "points"),
        ]
    )
    func constraints(_ ddl: String, _ property: String) async throws {
        try await Tenant.lend { tenant in
            if property == "nick" {
                try await tenant.database.psql(
                    "insert into \"tenant \"\"x\"\"\".users (object_id, nick) values (gen_random_uuid(), 'other')"
                )
                try await tenant.database.psql("update \"tenant \"\"x\"\"\".users set nick = 'Canary'")
            }
            try await tenant.database.psql(ddl)
            let before = try await tenant.count("users")
            let value = ddl.contains("unique") ? "Canary" : "canary"
            let failure = await #expect(throws: Failure.self) {
                try await tenant.login(writing: .text(value), to: "nick", .always)
            }
            #expect(failure?.reason == .constraintViolation)
            #expect(failure?.details["property"]?.string == property)
            #expect(failure?.message.lowercased().contains("canary") == false)
            #expect(failure?.cause?.lowercased().contains("canary") == false)
            #expect(try await tenant.count("users") == before)
            #expect(try await tenant.count("identities") == "0")
            #expect(try await tenant.count("sessions") == "0")
        }
    }

    @Test("a value that the column cannot hold is refused, nothing is written")
    func columnTooNarrow() async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql("alter table \"tenant \"\"x\"\"\".users alter column nick type varchar(3)")
            let failure = await #expect(throws: Failure.self) {
                try await tenant.login(writing: .text("canary"), to: "nick", .always)
            }
            #expect(failure?.reason == .valueNotConvertible)
            #expect(try await tenant.count("identities") == "0")
        }
    }
}

extension CalendarDate {
    static let epoch: CalendarDate = {
        guard let date = CalendarDate(daysSince1970: 0) else { preconditionFailure("1970-01-01 is a day") }
        return date
    }()
}
