import Domain
import Encodings
import Store
import Testing
import TestSupport

@Suite("Rows that have served their time")
struct PurgeTests {
    /// Lends a tenant with 60 sessions and 20 single uses.
    ///
    /// 30 sessions have expired, 20 were unused for too long, 10 live. 15 single uses have expired, 5 may still be
    /// used.
    private func lend(_ body: (Tenant) async throws -> Void) async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: nil, to: "nick", .always)
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
            let uses = try await purge(.singleUses)
            #expect(uses == [12, 3])
            #expect(try await tenant.count("single_use") == "5")
        }
    }

    @Test("factors that were taken away go when no link brings them back any more, trusted devices at their end")
    func factors() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: nil, to: "nick", .always)
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).factors (id, object_id, kind, removed)
                select gen_random_uuid(), object_id, 'totp',
                    case n when 1 then now() - interval '7 days 1 minute' when 2 then now() - interval '6 days 23 hours' end
                from \(Tenant.users), generate_series(1, 3) n;
                insert into \(Tenant.schema).trusted_devices (token_hash, object_id, expires)
                select sha256(n::text::bytea), object_id, now() + (n - 2) * interval '1 minute'
                from \(Tenant.users), generate_series(1, 3) n
                """
            )
            let application = tenant.application
            #expect(try await tenant.store.purge(.removedFactors, of: application, limit: 12) == 1)
            #expect(try await tenant.count("factors") == "2")
            #expect(try await tenant.store.purge(.trustedDevices, of: application, limit: 12) == 2)
            #expect(try await tenant.count("trusted_devices") == "1")
        }
    }

    @Test("what somebody holds is skipped, and two at once do not wait for each other")
    func skipping() async throws {
        try await lend { tenant in
            try await tenant.database.whileLocked(
                "select from \(Tenant.schema).sessions where token_hash = sha256('1'::bytea) for update"
            ) {
                let removed = try await tenant.store.removeEndedSessions(inPart: 0, of: tenant.application)
                #expect(removed == 49)
            }
            #expect(try await tenant.store.removeEndedSessions(inPart: 0, of: tenant.application) == 1)
            #expect(try await tenant.count("sessions") == "10")
            #expect(try await tenant.store.removeEndedSessions(inPart: 0, of: tenant.application) == 0)
        }
    }

    @Test("sessions that are over, by either end, go part by part of their table, and no others do")
    func parts() async throws {
        try await lend { tenant in
            #expect(try await tenant.store.partsOfSessions(of: tenant.application) == 1)
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).sessions (token_hash, object_id, expires, last_seen)
                select sha256((1000 + n)::text::bytea), object_id, now() + (n % 3 - 1) * interval '1 hour',
                    now() - (n % 5) * interval '4 days'
                from \(Tenant.users), generate_series(0, 11999) n
                """
            )
            let parts = try await tenant.store.partsOfSessions(of: tenant.application)
            #expect(parts > 2)
            var removed: [Int] = []
            for part in 0..<parts {
                removed.append(try await tenant.store.removeEndedSessions(inPart: part, of: tenant.application))
            }
            // Five of fifteen sessions have not expired, and four of these were used within the fortnight. So 3,200 of
            // 12,000 stay. The other 50 removed ones are those that `lend` inserted.
            #expect(removed.reduce(0, +) == 8850, "\(removed)")
            #expect(removed.count { $0 > 0 } > 2)
            #expect(try await tenant.store.removeEndedSessions(inPart: parts, of: tenant.application) == 0)
            #expect(
                try await tenant.database.psql(
                    """
                    select count(*), bool_and(expires > now()), bool_and(last_seen > now() - interval '14 days')
                    from \(Tenant.schema).sessions
                    """
                ) == [["3210", "t", "t"]]
            )
        }
    }

    @Test("who ends a session that is over, but still lies there, is told that there is none")
    func endedAlready() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: nil, to: "nick", .always)
            try await tenant.database.psql(
                """
                delete from \(Tenant.schema).sessions;
                insert into \(Tenant.schema).sessions (token_hash, object_id, expires, last_seen)
                select sha256(n::text::bytea), object_id, now() + (case n when 1 then -1 else 1 end) * interval '1 hour',
                    now() - (case n when 2 then 15 else 0 end) * interval '1 day'
                from \(Tenant.users), generate_series(1, 4) n
                """
            )
            let user = try await tenant.database.psql("select object_id from \(Tenant.users)")
            let id = try #require(ObjectID((user.first?.first ?? nil) ?? ""))
            func hash(_ bytes: String) async throws -> String {
                let rows = try await tenant.database.psql("select encode(\(bytes), 'hex')")
                return try #require(rows.first?.first ?? nil)
            }
            for (session, isThere) in [(1, false), (2, false), (3, true), (3, false)] {
                let bytes = try #require(Hexadecimal.decode(try await hash("sha256('\(session)')").utf8))
                let ended = try await tenant.store.endSession(tokenHash: bytes, of: tenant.application)
                #expect(ended == isThere, "session \(session)")
            }
            for (session, isThere) in [(1, false), (2, false), (4, true), (4, false)] {
                let name = try await hash("substring(sha256(sha256('\(session)')) for 16)")
                let ended = try await tenant.store.endOwnSession(name, of: id, in: tenant.application)
                #expect(ended == isThere, "session \(session) of their own")
            }
        }
    }

    @Test("the note that a session was seen touches no index")
    func notes() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: nil, to: "nick", .always)
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).sessions (token_hash, object_id, expires)
                select sha256(n::text::bytea), object_id, now() + interval '1 hour'
                from \(Tenant.users), generate_series(1, 2000) n
                """
            )
            let updates = try await tenant.database.psql(
                """
                begin;
                update \(Tenant.schema).sessions set last_seen = now() + interval '1 second'
                where get_byte(token_hash, 0) < 16;
                select pg_stat_get_xact_tuples_updated(oid) > 50,
                    pg_stat_get_xact_tuples_updated(oid) = pg_stat_get_xact_tuples_hot_updated(oid)
                from pg_class where oid = '\(Tenant.schema).sessions'::regclass;
                commit
                """
            )
            #expect(updates == [["t", "t"]])
        }
    }

    @Test("a guest whose last session has ended goes with all that hangs on it; nobody else does")
    func guests() async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql(
                """
                insert into \(Tenant.users) (object_id, user_status, name, last_login, created)
                select gen_random_uuid(), case when n <= 40 then 'GUEST' when n <= 50 then 'DISABLED' else 'ENABLED' end,
                    case when n <= 10 then 'lost' when n <= 20 then 'here' when n <= 30 then 'new' else 'known' end,
                    case when n between 21 and 30 then now() - interval '59 minutes' end, now() - interval '61 minutes'
                from generate_series(1, 60) n;
                insert into \(Tenant.schema).sessions (token_hash, object_id, expires)
                select sha256(object_id::text::bytea), object_id, now() + interval '1 hour' from \(Tenant.users) where name = 'here';
                insert into \(Tenant.schema).sessions (token_hash, object_id, expires, last_seen)
                select sha256(object_id::text::bytea), object_id, now() + (n - 1) * interval '1 hour',
                    now() - (n - 1) * interval '15 days'
                from (select object_id, row_number() over () n from \(Tenant.users) where name = 'lost' limit 2) ended;
                insert into \(Tenant.schema).passwords (object_id, login, hash, hash_key_id)
                select object_id, object_id::text, '\\x01', 'key' from \(Tenant.users) where name = 'known';
                insert into \(Tenant.schema).user_roles (object_id, role) select object_id, 'Player' from \(Tenant.users);
                """
            )
            @Sendable func sweep() async throws -> (parts: Int, removed: Int) {
                var (last, parts, removed): (ObjectID?, Int, Int) = (nil, 0, 0)
                repeat {
                    let part = try await tenant.store.removeLostGuests(after: last, of: tenant.application, limit: 7)
                    (last, parts, removed) = (part.last, parts + 1, removed + part.removed)
                } while last != nil
                return (parts, removed)
            }
            let held = try await tenant.database.psql(
                "select object_id from \(Tenant.users) where name = 'lost' limit 1"
            )
            try await tenant.database.whileLocked(
                "select from \(Tenant.users) where object_id = '\((held.first?.first ?? nil) ?? "")' for update"
            ) {
                let first = try await sweep()
                #expect(first.parts == 6 && first.removed == 9, "\(first)")
            }
            #expect(try await sweep().removed == 1)
            #expect(try await sweep().removed == 0)
            let left = "select name || ' ' || count(*) from \(Tenant.users) group by name order by name"
            #expect(try await tenant.database.psql(left) == [["here 10"], ["known 30"], ["new 10"]])
            #expect(try await tenant.count("user_roles") == "50")
            #expect(
                try await tenant.database.psql("select count(*) from federation.login_log_erasures") == [["10"]],
                "the log of logins shall forget them"
            )
        }
    }

    @Test("a guest to whom a row of the operator's refers stays, and keeps none of the others")
    func guestsReferredTo() async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql(
                """
                insert into \(Tenant.users) (object_id, user_status, created)
                select gen_random_uuid(), 'GUEST', now() - interval '2 hours' from generate_series(1, 5) n;
                create table public.orders as select object_id from \(Tenant.users) limit 2;
                alter table public.orders add foreign key (object_id) references \(Tenant.users)
                """
            )
            let sweep = try await tenant.store.removeLostGuests(after: nil, of: tenant.application, limit: 10)
            #expect(sweep.removed == 3 && sweep.last == nil)
            #expect(try await tenant.count("users") == "2")
        }
    }

    @Test("every other removal is found by an index, however many rows live")
    func indexes() async throws {
        try await lend { tenant in
            for (table, condition) in [
                ("users", "user_status = 'GUEST' and object_id > gen_random_uuid() order by object_id"),
                ("single_use", "expires <= now() order by expires"),
                ("removed_identities", "removed <= now() order by removed"),
                ("factors", "removed <= now() order by removed"), ("factors", "secret_key_id = 'x'"),
                ("trusted_devices", "expires <= now() order by expires"),
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
            try await tenant.fill(5, at: "other")
            func drop() async throws -> Int {
                let stored = try #require(try await tenant.store.configuration(changedAfter: 0).changed.first)
                let application = Application(
                    id: stored.id,
                    name: stored.name,
                    schema: stored.schema,
                    revision: stored.revision,
                    settings: ApplicationSettings(),
                    properties: []
                )
                return try await tenant.store.dropTokens(of: application, except: [.other], limit: 12)
            }
            let outdated = try await tenant.store.dropTokens(of: tenant.application, except: [.other], limit: 12)
            #expect(outdated == 0, "of an older revision")
            #expect(try await drop() == 12)
            #expect(try await drop() == 8)
            #expect(try await drop() == 0)
            #expect(try await tenant.due() == 5, "those of the provider whose tokens are kept")
            #expect(try await tenant.count("identities") == "25")
        }
    }

    @Test("access tokens that have come to their end are forgotten, in batches; no ID tokens, and no identity")
    func endedTokens() async throws {
        try await Tenant.lend { tenant in
            try await tenant.fill(40)
            // 20 tokens have expired, half of them ID tokens; 10 expire later; 10 never expire.
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
            try await tenant.database.whileLocked(
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
