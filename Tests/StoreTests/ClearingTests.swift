import Domain
import Encodings
import Store
import Testing
import TestSupport

@Suite("Properties that a login empties")
struct ClearingTests {
    private static let points = Tenant.named("points")

    private func statement(_ sync: SyncMode, _ tenant: Tenant, mayBeCleared: Bool = true) -> LoginStatement {
        LoginStatement(
            application: tenant.application,
            provider: .facebook,
            tokens: nil,
            targets: [.init(name: Self.points, type: .int, sync: sync, mayBeCleared: mayBeCleared)]
        )
    }

    private func login(
        _ value: Int64?,
        clearing cleared: [PropertyName] = [],
        dynamic: JSONObject = [:],
        by statement: LoginStatement,
        of tenant: Tenant
    ) async throws -> User {
        let write = try tenant.write(
            "1001",
            [value.map(PropertyValue.integer)],
            clearing: cleared,
            dynamic: dynamic
        )
        return try await tenant.store.login(write, by: statement, deadline: .now + .seconds(5)).get().user
    }

    @Test("what is emptied is NULL, counts as a change once, and is filled again")
    func always() async throws {
        try await Tenant.lend { tenant in
            let always = statement(.always, tenant)
            let first = try await login(20, by: always, of: tenant)
            #expect(first.value("points") == .integer(20))
            #expect(try await login(nil, by: always, of: tenant).value("points") == .integer(20), "a lack alone keeps")
            let emptied = try await login(nil, clearing: [Self.points], by: always, of: tenant)
            #expect(emptied.value("points") == nil)
            let updated = try #require(emptied.updated)
            #expect(try await login(nil, clearing: [Self.points], by: always, of: tenant).updated == updated)
            #expect(try await login(21, by: always, of: tenant).value("points") == .integer(21))
        }
    }

    @Test("untilEdited empties what the mapping wrote and nothing else, and goes on from there")
    func untilEdited() async throws {
        try await Tenant.lend { tenant in
            let tracked = statement(.untilEdited, tenant)
            func written() async throws -> String? {
                try await tenant.database.psql("select written::text from \(Tenant.schema).identities").first?.first
                    ?? nil
            }
            _ = try await login(20, by: tracked, of: tenant)
            #expect(try await login(nil, clearing: [Self.points], by: tracked, of: tenant).value("points") == nil)
            #expect(try await written() == "{}")
            #expect(try await login(22, by: tracked, of: tenant).value("points") == .integer(22), "filled again")
            try await tenant.database.psql("update \(Tenant.users) set points = 7")
            #expect(
                try await login(nil, clearing: [Self.points], by: tracked, of: tenant).value("points") == .integer(7)
            )
            #expect(try await written() == #"{"points": 22}"#)
            // An edit after the clearing is kept.
            try await tenant.database.psql("update \(Tenant.users) set points = 22")
            #expect(try await login(nil, clearing: [Self.points], by: tracked, of: tenant).value("points") == nil)
            try await tenant.database.psql("update \(Tenant.users) set points = 8")
            #expect(try await login(23, by: tracked, of: tenant).value("points") == .integer(8))
        }
    }

    @Test(
        "modes that do not write over a value empty none, whatever they are told",
        arguments: [SyncMode.firstLogin, .ifEmpty]
    )
    func otherModes(sync: SyncMode) async throws {
        try await Tenant.lend { tenant in
            let statement = statement(sync, tenant, mayBeCleared: false)
            _ = try await login(20, by: statement, of: tenant)
            let second = try await login(nil, clearing: [Self.points], by: statement, of: tenant)
            #expect(second.value("points") == .integer(20))
        }
    }

    @Test("an undeclared property goes, and the others stay")
    func undeclared() async throws {
        try await Tenant.lend { tenant in
            let none = LoginStatement(application: tenant.application, provider: .facebook, tokens: nil, targets: [])
            func login(_ dynamic: JSONObject, clearing: [PropertyName] = []) async throws -> User {
                try await self.login(nil, clearing: clearing, dynamic: dynamic, by: none, of: tenant)
            }
            _ = try await login(["oldest": .integer(20), "youngest": .integer(18)])
            let user = try await login(["youngest": .integer(21)], clearing: [Tenant.named("oldest")])
            #expect(user.dynamic == ["youngest": .integer(21)])
            #expect(user.updated != nil)
        }
    }

    @Test("an address that is confirmed, or that its user logs in with by a password, stays; another one goes")
    func email() async throws {
        try await Tenant.lend { tenant in
            let statement = LoginStatement(
                application: tenant.application,
                provider: .facebook,
                tokens: nil,
                targets: [.init(name: .email, type: .string, sync: .always, mayBeCleared: true)]
            )
            func login(_ value: String?) async throws -> User {
                let write = try tenant.write(
                    "1001",
                    [value.map(PropertyValue.text)],
                    clearing: value == nil ? [.email] : []
                )
                return try await tenant.store.login(write, by: statement, deadline: .now + .seconds(5)).get().user
            }
            let user = try await login("ann@example.com")
            try await tenant.database.psql("update \(Tenant.users) set email_verified = true")
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).passwords (object_id, login, hash, hash_key_id)
                values ('\(user.objectID)', 'ann@example.com', 'x', 'k')
                """
            )
            let kept = try await login(nil)
            #expect(kept.email == "ann@example.com")
            #expect(kept.emailVerified)
            try await tenant.database.psql("delete from \(Tenant.schema).passwords")
            let confirmed = try await login("other@example.com")
            #expect(confirmed.email == "ann@example.com" && confirmed.emailVerified)
            try await tenant.database.psql("update \(Tenant.users) set email_verified = false")
            #expect(try await login("other@example.com").email == "other@example.com")
            let gone = try await login(nil)
            #expect(gone.email == nil)
            #expect(!gone.emailVerified)
        }
    }

    @Test("a profile that is read without a login empties by the same rules")
    func refresh() async throws {
        try await Tenant.lend { tenant in
            let tenant = tenant.keepingTokens()
            let nick = Tenant.named("nick")
            try await tenant.login("1001", token: "token", nick: "first", .untilEdited)
            let statement = ProfileRefreshStatement(
                application: tenant.application,
                targets: [.init(name: nick, type: .string, sync: .untilEdited, mayBeCleared: true)]
            )
            func refresh(_ value: String?, clearing: [PropertyName]) async throws -> User? {
                try await tenant.makeDue()
                let identity = try #require(try await tenant.claim().first)
                return try await tenant.store.refreshProfile(
                    [value.map(PropertyValue.text)],
                    clearing: clearing,
                    standing: .good,
                    of: identity,
                    by: statement
                ).get()
            }
            #expect(try await refresh(nil, clearing: [])?.value("nick") == .text("first"))
            #expect(try await refresh(nil, clearing: [nick])?.value("nick") == nil)
            #expect(try await refresh("second", clearing: [])?.value("nick") == .text("second"))
            try await tenant.database.psql("update \(Tenant.users) set nick = 'edited'")
            #expect(try await refresh(nil, clearing: [nick])?.value("nick") == .text("edited"))
        }
    }
}
