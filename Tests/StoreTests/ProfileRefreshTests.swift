import Domain
import Encodings
import FoundationEssentials
import Store
import Testing
import TestSupport

@Suite("A profile that is written without a login")
struct ProfileRefreshTests {
    private func lend(
        _ sync: SyncMode,
        _ body: (Tenant, ProfileRefreshStatement) async throws -> Void
    ) async throws {
        try await Tenant.lend { tenant in
            let tenant = tenant.keepingTokens()
            let target = LoginStatement.Target(name: Tenant.named("nick"), type: .string, sync: sync)
            try await tenant.login("1001", token: "token", nick: "first", sync)
            let statement = ProfileRefreshStatement(application: tenant.application, targets: [target])
            try await body(tenant, statement)
        }
    }

    private func refresh(_ nick: String?, _ tenant: Tenant, _ statement: ProfileRefreshStatement) async throws -> User?
    {
        try await tenant.makeDue()
        let identity = try #require(try await tenant.claim().first)
        return try await tenant.store.refreshProfile(
            [nick.map(PropertyValue.text)],
            standing: .good,
            of: identity,
            by: statement
        ).get()
    }

    /// The values of a property after a second value, and after an edit and a third value; the first is `first`.
    @Test(
        "follows the same rules as a login",
        arguments: [
            (SyncMode.always, "second", "third"), (.firstLogin, "first", "edited"), (.ifEmpty, "first", "edited"),
            (.untilEdited, "second", "edited"),
        ]
    )
    func rules(sync: SyncMode, second: String, third: String) async throws {
        try await lend(sync) { tenant, statement in
            let user = try #require(try await refresh("second", tenant, statement))
            #expect(user.value("nick") == .text(second))
            #expect((user.updated != nil) == (second != "first"))
            #expect(try await refresh(nil, tenant, statement)?.value("nick") == .text(second))
            try await tenant.database.psql("update \(Tenant.users) set nick = 'edited'")
            #expect(try await refresh("third", tenant, statement)?.value("nick") == .text(third))
            // A later login continues from there.
            let login = try await tenant.login("1001", token: "next", nick: "fourth", sync)
            #expect(login.user.value("nick") == .text(third == "third" ? "fourth" : "edited"))
        }
    }

    @Test("a property may be called as what is written of the token: the person's value is the property's alone")
    func names() async throws {
        try await Tenant.lend { tenant in
            let tenant = tenant.keepingTokens()
            try await tenant.database.psql(
                "alter table \(Tenant.users) add column token text, add column token_key_id text"
            )
            try await tenant.login("1001", token: "token", nick: "first", .always)
            let targets = ["token", "token_key_id"].map {
                LoginStatement.Target(name: Tenant.named($0), type: .string, sync: .always)
            }
            try await tenant.makeDue()
            let identity = try #require(try await tenant.claim().first)
            _ = try await tenant.store.refreshProfile(
                [.text("Ann"), .text("Example")],
                standing: .good,
                of: identity,
                by: ProfileRefreshStatement(application: tenant.application, targets: targets)
            ).get()
            #expect(try await tenant.identity("token_key_id") == identity.token.secret.keyID)
            let token = Hexadecimal.encode(identity.token.secret.bytes)
            #expect(try await tenant.identity("encode(token, 'hex')") == token)
            let names = try await tenant.database.psql("select token, token_key_id from \(Tenant.users)")
            #expect(names == [["Ann", "Example"]])
        }
    }

    @Test("opens no session, counts as no login, and notes what Facebook said of the token")
    func noLogin() async throws {
        try await lend(.always) { tenant, statement in
            func logins() async throws -> String? {
                try await tenant.identity(
                    "concat(last_used, (select last_login from \(Tenant.users)), (select count(*) from \(Tenant.schema).sessions))"
                )
            }
            let before = try await logins()
            try await tenant.database.psql(
                "update \(Tenant.schema).identities set refreshed = now() - interval '9 days', checked = now() - interval '9 days'"
            )
            _ = try await refresh("second", tenant, statement)
            #expect(try await logins() == before)
            #expect(
                try await tenant.identity(
                    "concat_ws(' ', granted_scopes, refreshed > now() - interval '1 hour', checked > now() - interval '1 hour')"
                ) == "{email,user_birthday} t t"
            )
        }
    }

    @Test("writes nothing of a disabled user, nor by a token that is not kept any more")
    func refused() async throws {
        try await lend(.always) { tenant, statement in
            try await tenant.makeDue()
            let identity = try #require(try await tenant.claim().first)
            #expect(!identity.isDisabled)
            func refresh() async throws -> User? {
                try await tenant.store.refreshProfile([.text("second")], standing: .good, of: identity, by: statement)
                    .get()
            }
            try await tenant.database.psql("update \(Tenant.users) set user_status = 'DISABLED'")
            let before = try await tenant.identity("to_jsonb(i) from \(Tenant.schema).identities i; --")
            #expect(try await refresh() == nil)
            #expect(try await tenant.identity("to_jsonb(i) from \(Tenant.schema).identities i; --") == before)
            try await tenant.makeDue()
            #expect(try await tenant.claim().map(\.isDisabled) == [true])
            try await tenant.database.psql("update \(Tenant.users) set user_status = 'ENABLED'")
            try await tenant.login("1001", token: "next", nick: "login")
            #expect(try await refresh() == nil)
            #expect(try await tenant.database.psql("select nick from \(Tenant.users)") == [["login"]])
        }
    }

    @Test("a constraint of the users table is told, and nothing is written")
    func constraint() async throws {
        try await lend(.always) { tenant, statement in
            try await tenant.database.psql(
                "alter table \(Tenant.users) add constraint short check (length(nick) < 10)"
            )
            let failure = await #expect(throws: Failure.self) {
                try await refresh("a long nickname", tenant, statement)
            }
            #expect(failure?.reason == .constraintViolation)
            #expect(
                failure?.details["property"] == .string("nick") || failure?.details["constraint"] == .string("short")
            )
        }
    }
}
