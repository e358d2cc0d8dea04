import Domain
import FoundationEssentials
import Store
import Testing
import TestSupport

@Suite("What a check of a kept token writes")
struct CheckOutcomeTests {
    /// Lends a tenant with one identity whose token is claimed for a check.
    private func lend(_ body: (Tenant, KeptIdentity) async throws -> Void) async throws {
        try await Tenant.lend { tenant in
            let tenant = tenant.keepingTokens()
            try await tenant.login("1001", token: "first", expiresAt: 1_950_000_000)
            try await tenant.makeDue()
            try await body(tenant, try #require(try await tenant.claim().first))
        }
    }

    private static let tomorrow =
        "check_due between now() + interval '22 hours 59 minutes' and now() + interval '24 hours'"

    @Test("a token that stands: permissions, ends, the next day; a replacement takes its place; no login is counted")
    func standing() async throws {
        try await lend { tenant, identity in
            let used = try await tenant.identity("last_used")
            #expect(identity.token.expiresAt == 1_950_000_000)
            let good = TokenStanding(
                scopes: ["email", "user_birthday"],
                dataAccessExpiresAt: 1_960_000_000,
                expiresAt: 1_970_000_000,
                replacement: EncryptedToken(
                    kind: .access,
                    secret: EncryptedSecret(bytes: Array("second".utf8), keyID: "other"),
                    expiresAt: nil
                )
            )
            #expect(try await tenant.store.noteStanding(good, of: identity, in: tenant.application))
            #expect(
                try await tenant.identity(
                    """
                    concat_ws(' ', granted_scopes, extract(epoch from data_access_expires)::bigint,
                        extract(epoch from token_expires)::bigint, encode(token, 'escape'), token_key_id, token_kind,
                        \(Self.tomorrow), checked > now() - interval '1 minute')
                    """
                ) == "{email,user_birthday} 1960000000 1970000000 second other access t t"
            )
            #expect(try await tenant.identity("last_used") == used)
        }
    }

    @Test("one request at a time uses a refresh token; a use ends by its owner alone, or by itself")
    func use() async throws {
        try await lend { tenant, identity in
            func begin(_ identity: KeptIdentity) async throws -> RefreshTokenUse {
                try await tenant.store.beginUse(of: identity, seconds: 60, in: tenant.application)
            }
            func lease(_ use: RefreshTokenUse) throws -> RefreshTokenLease {
                guard case .begun(let lease) = use else { throw Failure(.internal, "not begun: \(use)") }
                return lease
            }
            func expectBusy(_ identity: KeptIdentity) async throws {
                guard case .busy = try await begin(identity) else {
                    Issue.record("is not busy")
                    return
                }
            }
            let first = try lease(try await begin(identity))
            try await expectBusy(identity)
            // Neither the result of a former request nor its end frees the token of another.
            #expect(try await tenant.store.noteStanding(.good, of: identity, in: tenant.application))
            try await expectBusy(identity)
            try await tenant.store.end(first, in: tenant.application)
            let second = try lease(try await begin(identity))
            try await tenant.store.end(first, in: tenant.application)
            try await expectBusy(identity)
            let past = "update \(Tenant.schema).identities set refreshing = now() - interval '1 second'"
            _ = try await tenant.database.psql(past)
            let third = try lease(try await begin(identity))
            try await tenant.store.end(second, in: tenant.application)
            try await expectBusy(identity)
            // A login brings another token; the end of the former use frees that one.
            try await tenant.login("1001", token: "second")
            guard case .superseded = try await begin(identity) else {
                Issue.record("is not superseded")
                return
            }
            try await tenant.store.end(third, in: tenant.application)
            let free = try await tenant.database.psql(
                "select count(*) from \(Tenant.schema).identities where refreshing is not null"
            )
            #expect(free == [["0"]])
        }
    }

    @Test("whatever Facebook says of a token does not count for the one that a login has brought meanwhile")
    func superseded() async throws {
        try await lend { tenant, identity in
            try await tenant.login("1001", token: "second")
            let before = try await tenant.identity("to_jsonb(i) from \(Tenant.schema).identities i; --")
            #expect(try await tenant.store.noteStanding(.good, of: identity, in: tenant.application) == false)
            #expect(try await tenant.store.dropToken(of: identity, in: tenant.application) == false)
            try await tenant.store.postponeCheck(of: identity, bySeconds: 5, in: tenant.application)
            #expect(try await tenant.revoke(identity, endsSessions: true) == nil)
            #expect(try await tenant.identity("to_jsonb(i) from \(Tenant.schema).identities i; --") == before)
            #expect(try await tenant.count("sessions") == "2")
        }
    }

    @Test(
        "the token of an app that is gone is forgotten, unless the application has been changed since; nobody is revoked"
    )
    func formerApp() async throws {
        try await lend { tenant, identity in
            func dropped(_ revision: Int64, _ identity: KeptIdentity) async throws -> Bool {
                let application = Application(
                    id: tenant.application.id,
                    name: tenant.application.name,
                    schema: tenant.application.schema,
                    revision: revision,
                    settings: ApplicationSettings(),
                    properties: []
                )
                return try await tenant.store.dropTokenOfFormerApp(of: identity, in: application)
            }
            let stored = try #require(try await tenant.store.configuration(changedAfter: 0).changed.first)
            #expect(try await dropped(stored.revision - 1, identity) == false)
            #expect(try await tenant.identity("token is not null") == "t")
            #expect(try await dropped(stored.revision, identity))
            #expect(
                try await tenant.identity(
                    "concat_ws(' ', 'x', token, token_key_id, token_kind, token_expires, check_due, revoked, revoked_by)"
                ) == "x"
            )
            try await tenant.login("1001", token: "second")
            #expect(try await dropped(stored.revision, identity) == false, "a login has brought another")
            #expect(try await tenant.count("sessions") == "2")
        }
    }

    @Test("a token without worth is forgotten, and the identity is not revoked")
    func dropped() async throws {
        try await lend { tenant, identity in
            let isDropped = try await tenant.store.dropToken(of: identity, in: tenant.application)
            #expect(isDropped)
            #expect(
                try await tenant.identity(
                    "concat_ws(' ', 'x', token, token_key_id, token_kind, token_expires, check_due, revoked, revoked_by)"
                ) == "x"
            )
            #expect(try await tenant.count("sessions") == "1")
        }
    }

    @Test("a check that came to nothing is put off, and the token stays")
    func postponed() async throws {
        try await lend { tenant, identity in
            try await tenant.store.postponeCheck(of: identity, bySeconds: 300, in: tenant.application)
            let due = "check_due between now() + interval '290 seconds' and now() + interval '310 seconds'"
            #expect(try await tenant.identity("concat_ws(' ', \(due), encode(token, 'escape'))") == "t first")
        }
    }

    @Test(
        "a revoked identity is marked and noted; sessions end only where they shall, and only those that rest on it",
        arguments: [true, false]
    )
    func revoked(endsSessions: Bool) async throws {
        try await lend { tenant, identity in
            // The user has a session by another identity; another session has the same subject at another app.
            try await tenant.login("2002", token: "other")
            try await tenant.database.psql(
                """
                update \(Tenant.schema).identities set object_id = (
                    select object_id from \(Tenant.schema).identities where subject = '1001') where subject = '2002';
                update \(Tenant.schema).sessions set object_id = (
                    select object_id from \(Tenant.schema).identities where subject = '1001');
                insert into \(Tenant.schema).sessions (token_hash, object_id, expires, provider, provider_app, subject)
                select sha256('x'), object_id, now() + interval '1 day', 'facebook', '43', '1001'
                from \(Tenant.schema).identities where subject = '1001'
                """
            )
            let revoked = try #require(try await tenant.revoke(identity, endsSessions: endsSessions))
            #expect(revoked.sessionsEnded == (endsSessions ? 1 : 0))
            #expect(try await tenant.count("sessions") == (endsSessions ? "2" : "3"))
            #expect(
                try await tenant.identity(
                    "concat_ws(' ', revoked_by, revoked > now() - interval '1 minute', token, token_kind, check_due)"
                ) == "check t"
            )
            let entries = try await tenant.store.audit(
                matching: AuditFilter(action: "user.revoke"),
                before: nil,
                limit: 10
            )
            #expect(entries.map(\.actor) == ["facebook"])
            let user = try await tenant.identity("upper(object_id::text)")
            #expect(entries.map(\.target) == [user])

            // A login clears the mark of the revocation.
            try await tenant.login("1001", token: "again")
            #expect(try await tenant.identity("concat(revoked, revoked_by)") == "")
        }
    }

    @Test("a check and a login of the same person at once end well, whoever comes first", arguments: 0..<5)
    func race(_: Int) async throws {
        try await lend { tenant, identity in
            async let revoked = tenant.revoke(identity, endsSessions: true)
            async let login = tenant.login("1001", token: "second")
            _ = try await (revoked, login)
            // In either order, the token of the login is kept and its session lives.
            #expect(try await tenant.identity("concat(encode(token, 'escape'), revoked)") == "second")
            let sessions = try await tenant.count("sessions")
            #expect(["1", "2"].contains(sessions))
        }
    }
}

extension Tenant {
    /// Records that Facebook no longer accepts the token that was kept when the identity was read.
    fileprivate func revoke(_ identity: KeptIdentity, endsSessions: Bool) async throws -> RevokedIdentity? {
        try await store.revoke(
            IdentityRevocation(of: identity.key, .token(identity.token), by: "check", endsSessions: endsSessions),
            of: application,
            by: ChangeAuthor(name: "facebook", source: "check")
        )
    }
}
