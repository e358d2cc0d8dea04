import Identity
import Store
import TestSupport
import Testing

@Suite("Rows that have served their time")
struct PurgeTests {
    /// 30 sessions past their end, 20 unused for too long, 10 that live; 15 expired single uses and 5 that may be used.
    private func lend(_ body: (Tenant) async throws -> Void) async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.signIn(writing: nil, to: "nick", .always)
            try await tenant.database.psql(
                """
                update \(Tenant.schema).sessions set last_seen = now() - interval '13 days 23 hours';
                insert into \(Tenant.schema).sessions (token_hash, object_id, expires, last_seen)
                select sha256(n::text::bytea), object_id,
                    case when n <= 30 then now() - interval '1 second' else now() + interval '1 hour' end,
                    case when n <= 50 and n > 30 then now() - interval '14 days 1 hour' else now() end
                from \(Tenant.users), generate_series(1, 59) n;
                insert into \(Tenant.schema).single_use (kind, hash, expires)
                select 'nonce', sha256(n::text::bytea), now() + (case when n <= 15 then -1 else 100 end) * interval '1 second'
                from generate_series(1, 20) n
                """
            )
            try await body(tenant)
        }
    }

    @Test("are removed in batches, and nothing else is")
    func batches() async throws {
        try await lend { tenant in
            func purge(_ expired: Expired) async throws -> [Int] {
                var counts: [Int] = []
                repeat {
                    counts.append(try await tenant.store.purge(expired, of: tenant.application, limit: 12))
                } while counts.last == 12
                return counts
            }
            let sessions = try await purge(.sessions)
            #expect(sessions == [12, 12, 6])
            #expect(try await tenant.count("sessions") == "30")
            #expect(try await purge(.idleSessions) == [12, 8])
            #expect(try await tenant.count("sessions") == "10")
            #expect(try await purge(.singleUses) == [12, 3])
            #expect(try await tenant.count("single_use") == "5")
        }
    }

    @Test("what somebody holds is skipped, and two at once do not wait for each other")
    func skipping() async throws {
        try await lend { tenant in
            try await tenant.database.holding(
                "select from \(Tenant.schema).sessions where token_hash = sha256('1'::bytea) for update"
            ) {
                let removed = try await tenant.store.purge(.sessions, of: tenant.application, limit: 100)
                #expect(removed == 29)
            }
            #expect(try await tenant.store.purge(.sessions, of: tenant.application, limit: 100) == 1)
        }
    }

    @Test("every removal is found by an index, however many rows live")
    func indexes() async throws {
        try await lend { tenant in
            for (table, condition) in [
                ("sessions", "expires <= now() order by expires"),
                ("sessions", "last_seen <= now() order by last_seen"),
                ("single_use", "expires <= now() order by expires"),
                ("identities", "check_due <= now() order by check_due"),
                ("identities", "token_kind = 'access' and token_expires <= now() order by token_expires"),
                ("identities", "token_key_id is not null"), ("identities", "token_key_id = 'x'"),
            ] {
                let plan = try await tenant.database.psql(
                    "set enable_seqscan = off; explain select from \(Tenant.schema).\(table) where \(condition) limit 5"
                ).compactMap { $0.first ?? nil }.joined(separator: "\n")
                #expect(
                    plan.contains("Index") && !plan.contains("Seq Scan") && !plan.contains("Sort"),
                    "\(table): \(plan)"
                )
            }
        }
    }

    @Test("kept tokens are forgotten in batches, unless the application has been changed since")
    func tokens() async throws {
        try await Tenant.lend { tenant in
            try await tenant.fill(20)
            func drop() async throws -> Int {
                let stored = try #require(try await tenant.store.configuration(changedAfter: 0).changed.first)
                let application = Application(
                    id: stored.id,
                    name: stored.name,
                    schema: stored.schema,
                    revision: stored.revision,
                    settings: ApplicationSettings(),
                    properties: [],
                    providers: [:]
                )
                return try await tenant.store.dropTokens(of: application, limit: 12)
            }
            #expect(try await tenant.store.dropTokens(of: tenant.application, limit: 12) == 0, "of an older revision")
            #expect(try await drop() == 12)
            #expect(try await drop() == 8)
            #expect(try await drop() == 0)
            #expect(try await tenant.due() == 0)
            #expect(try await tenant.count("identities") == "20")
        }
    }

    @Test("access tokens that have come to their end are forgotten, in batches; no ID tokens, and no identity")
    func endedTokens() async throws {
        try await Tenant.lend { tenant in
            try await tenant.fill(40)
            // 20 have ended, half of them ID tokens; 10 end in a while; 10 never do.
            try await tenant.database.psql(
                """
                update \(Tenant.schema).identities set
                    token_kind = case when subject::int % 2 = 0 then 'id' else 'access' end,
                    check_due = case when subject::int % 2 = 0 then null else check_due end,
                    token_expires = case when subject::int <= 20 then now() - interval '1 second'
                        when subject::int <= 30 then now() + interval '1 hour' when subject::int <= 35 then 'infinity' end
                """
            )
            @Sendable func drop() async throws -> Int {
                try await tenant.store.dropEndedTokens(of: tenant.application, limit: 6)
            }
            try await tenant.database.holding(
                "select from \(Tenant.schema).identities where subject = '7' for update"
            ) {
                let first = try await drop()
                let second = try await drop()
                #expect((first, second) == (6, 3))
            }
            #expect(try await drop() == 1)
            #expect(try await drop() == 0)
            let rows = try await tenant.database.psql(
                """
                select count(*) filter (where coalesce(token::text, token_key_id, token_kind, token_expires::text,
                        check_due::text) is null and revoked is null),
                    count(*) filter (where token is not null and token_key_id is not null and (subject::int > 20 or token_kind = 'id')), count(*)
                from \(Tenant.schema).identities
                """
            )
            #expect(rows == [["10", "30", "40"]])
        }
    }
}
