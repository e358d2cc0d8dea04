import Domain
import Store
import Testing
import TestSupport

@Suite("Where the last login wins")
struct LastLoginWinsTests {
    private func lend(
        _ set: @Sendable @escaping (inout ApplicationSettings) -> Void = { $0.multipleLogins = false },
        _ body: @Sendable @escaping (Tenant, LoginStatement) async throws -> Void
    ) async throws {
        try await Tenant.lend { tenant in
            var settings = ApplicationSettings()
            set(&settings)
            let application = Application(
                id: tenant.application.id,
                name: tenant.application.name,
                schema: tenant.application.schema,
                revision: 1,
                settings: settings,
                properties: tenant.application.properties
            )
            try await body(
                tenant,
                LoginStatement(application: application, provider: .facebook, tokens: nil, targets: [])
            )
        }
    }

    @Test("a login ends every other session of the user and of nobody else")
    func endsOthers() async throws {
        try await lend { tenant, statement in
            func login(_ subject: String) async throws -> [UInt8] {
                let hash = Tenant.randomHash()
                let write = try tenant.write(subject, [], hash: hash)
                _ = try await tenant.store.login(write, by: statement, deadline: .now + .seconds(5)).get()
                return hash
            }
            let stranger = try await login("2")
            let (first, second) = (try await login("1"), try await login("1"))
            #expect(try await tenant.store.sessionUser(tokenHash: first, of: tenant.application).get() == nil)
            #expect(try await tenant.store.sessionUser(tokenHash: second, of: tenant.application).get() != nil)
            #expect(try await tenant.store.sessionUser(tokenHash: stranger, of: tenant.application).get() != nil)
        }
    }

    @Test("sessions that are over, by either end, go before one that lives, however old that is")
    func endsWhatIsOver() async throws {
        try await lend({ $0.maxSessions = 2 }) { tenant, statement in
            func login() async throws -> [UInt8] {
                let hash = Tenant.randomHash()
                let write = try tenant.write("1", [], hash: hash)
                _ = try await tenant.store.login(write, by: statement, deadline: .now + .seconds(5)).get()
                return hash
            }
            let old = try await login()
            try await tenant.database.psql(
                """
                update \(Tenant.schema).sessions set created = now() - interval '1 day';
                insert into \(Tenant.schema).sessions (token_hash, object_id, created, expires, last_seen)
                select sha256(n::text::bytea), object_id, now() - interval '1 hour',
                    now() + (case n when 1 then -1 else 1 end) * interval '1 hour',
                    now() - (case n when 2 then 15 else 0 end) * interval '1 day'
                from \(Tenant.users), generate_series(1, 2) n
                """
            )
            let new = try await login()
            for live in [old, new] {
                #expect(try await tenant.store.sessionUser(tokenHash: live, of: tenant.application).get() != nil)
            }
            #expect(try await tenant.count("sessions") == "2")
        }
    }

    @Test("an instance of before version 11 limits sessions as it did, and ends the one that its client had")
    func former() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: nil, to: "nick", .always)
            try await tenant.database.psql(
                """
                delete from \(Tenant.schema).sessions;
                insert into \(Tenant.schema).sessions (token_hash, object_id, created, expires)
                select sha256(n::text::bytea), object_id, now() - n * interval '1 minute', now() + interval '1 hour'
                from \(Tenant.users), generate_series(0, 4) n;
                select federation.limit_sessions('\(tenant.application.schema)', object_id, sha256('0'), sha256('2'), 3)
                from \(Tenant.users)
                """
            )
            let left = try await tenant.database.psql(
                """
                select n from generate_series(0, 4) n
                join \(Tenant.schema).sessions on token_hash = sha256(n::text::bytea)
                order by n
                """
            )
            #expect(left == [["0"], ["1"], ["3"]], "the second goes with its client, the fourth as the oldest")
        }
    }

    @Test("of eight simultaneous logins, the first ones or later ones, one session is left")
    func races() async throws {
        try await lend { tenant, statement in
            for round in 0..<20 {
                let subject = String(3000 + round / 2)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        let write = try tenant.write(subject, [])
                        group.addTask {
                            _ = try await tenant.store.login(write, by: statement, deadline: .now + .seconds(5)).get()
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await tenant.count("sessions") == String(round / 2 + 1))
            }
        }
    }
}
