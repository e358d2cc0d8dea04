import Domain
import FoundationEssentials
import Postgres
import Store
import Testing
import TestSupport

/// A counter of the writers that have finished.
private actor Finished {
    private(set) var count = 0

    func add() { count += 1 }
}

@Suite("The log of logins")
struct LoginLogTests {
    private static func record(
        _ number: Int,
        of application: String = "demo",
        happened: Int64 = 1_000_000,
        user: ObjectID? = nil
    ) throws -> LoginRecord {
        let refused = number.isMultiple(of: 5)
        let providers = ["facebook", "twitter"]
        return LoginRecord(
            application: try #require(ApplicationID(application)),
            happened: happened + Int64(number),
            method: number.isMultiple(of: 3) ? .password : .provider,
            provider: number.isMultiple(of: 3) ? nil : ProviderName(providers[number % 2]),
            credential: "access_token",
            outcome: refused ? .refused : number.isMultiple(of: 7) ? .created : .updated,
            reason: refused ? (number.isMultiple(of: 2) ? .credentialExpired : .loginInvalid) : nil,
            cause: refused ? "Graph code 190" : nil,
            user: refused ? nil : user,
            request: "r\(number)",
            source: "10.0.0.\(number % 4)",
            userAgent: "Shop/\(number)",
            session: "session \(number)",
            milliseconds: 12
        )
    }

    private static func kinds(_ records: [LoginRecord], unlisted: Int64 = 0) -> [LoginKind: LoginCount] {
        var counts: [LoginKind: LoginCount] = [:]
        for record in records {
            let kind = LoginKind(record)
            counts[kind] = counts[kind, default: LoginCount()] + LoginCount(logins: 1, unlisted: unlisted)
        }
        return counts
    }

    private func lend(_ body: (Store, TestDatabase) async throws -> Void) async throws {
        try await withDatabase(.schema) { database in
            try await withStore(database.url) { store in try await body(store, database) }
        }
    }

    @Test(
        "rows come newest first, page by page, by each filter alone and by all together, of one application and of all"
    )
    func filters() async throws {
        try await lend { store, database in
            try await database.psql(
                """
                insert into federation.applications (id, name, schema_name) values ('demo', 'd', 'd'), ('shop', 's', 's')
                """
            )
            let ann = ObjectID(UUID())
            let records = try (1...60).map { number in
                try Self.record(number, of: number % 4 == 0 ? "shop" : "demo", user: number % 8 == 1 ? ann : nil)
            }
            for part in [records.prefix(25), records.dropFirst(25)] {
                try await store.writeLogins(Array(part), counts: [:])
            }
            func requests(_ filter: LoginFilter, _ place: LogPosition = .before(nil), limit: Int = 100) async throws
                -> [String]
            {
                try await store.logins(matching: filter, place, limit: limit).map { $0.request ?? "" }
            }
            func numbers(_ condition: (LoginRecord) -> Bool) -> [String] {
                records.reversed().filter(condition).map { $0.request ?? "" }
            }
            let first = try await store.logins(matching: LoginFilter(), .before(nil), limit: 7)
            #expect(first.map(\.request) == (54...60).reversed().map { "r\($0)" })
            let newest = try #require(first.first)
            #expect(newest.happened == 1_000_060 && newest.application == "shop" && newest.outcome == "refused")
            #expect(newest.reason == "credential_expired" && newest.cause == "Graph code 190")
            #expect(newest.method == "password" && newest.provider == nil && newest.milliseconds == 12)
            #expect(newest.userAgent == "Shop/60" && newest.session == "session 60")
            #expect(try await requests(LoginFilter(), .before(first.last?.id), limit: 2) == ["r53", "r52"])

            let demo = try #require(ApplicationID("demo"))
            let twitter = try #require(ProviderName("twitter"))
            let cases: [(LoginFilter, (LoginRecord) -> Bool)] = [
                (LoginFilter(method: .password), { $0.method == .password }),
                (LoginFilter(method: .provider), { $0.method == .provider }),
                (LoginFilter(provider: .facebook), { $0.provider == .facebook }),
                (LoginFilter(outcome: .created), { $0.outcome == .created }),
                (LoginFilter(outcome: .updated), { $0.outcome == .updated }),
                (LoginFilter(outcome: .refused), { $0.outcome == .refused }),
                (LoginFilter(reason: "login_invalid"), { $0.reason == .loginInvalid }),
                (LoginFilter(source: "10.0.0.3"), { $0.source == "10.0.0.3" }),
                (LoginFilter(user: ann), { $0.user == ann }),
                (LoginFilter(since: 1_000_031), { $0.happened >= 1_000_031 }),
                (LoginFilter(source: "10.0.0.3' or true --"), { _ in false }),
            ]
            for (filter, condition) in cases {
                let all = numbers(condition)
                #expect(try await requests(filter) == all, "\(filter)")
                #expect(try await requests(filter, .after(0)) == all.reversed(), "\(filter)")
                var own = filter
                own.application = demo
                #expect(try await requests(own) == numbers { condition($0) && $0.application == demo }, "\(own)")
            }
            let all = LoginFilter(
                application: demo,
                provider: twitter,
                outcome: .refused,
                reason: "login_invalid",
                source: "10.0.0.1",
                since: 1_000_010
            )
            #expect(try await requests(all) == ["r25"])
            for moment in [Int64.min, .max] {
                let count = try await requests(LoginFilter(since: moment)).count
                #expect(count == (moment < 0 ? 60 : 0))
            }
        }
    }

    @Test("whoever reads on from an id misses none, however many write at once")
    func liveTail() async throws {
        try await lend { store, _ in
            let writers = 8
            let finished = Finished()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<writers {
                    group.addTask {
                        do {
                            for part in 0..<10 {
                                let records = try (1...7).map { try Self.record(writer * 1000 + part * 10 + $0) }
                                try await store.writeLogins(records, counts: [:])
                            }
                        } catch {
                            // The reader must not wait for a writer that failed.
                            await finished.add()
                            throw error
                        }
                        await finished.add()
                    }
                }
                var seen: [Int64] = []
                while true {
                    let isLast = await finished.count == writers
                    let part = try await store.logins(matching: LoginFilter(), .after(seen.last ?? 0), limit: 5)
                    seen += part.map(\.id)
                    if part.isEmpty, isLast { break }
                }
                #expect(seen.count == writers * 70)
                #expect(seen == seen.sorted() && Set(seen).count == seen.count)
                try await group.waitForAll()
            }
        }
    }

    @Test("what is written comes behind what another one is writing, and waits for it")
    func order() async throws {
        try await withDatabase(.schema) { database in
            try await withStore(database.url, configure: { $0.lockTimeout = .seconds(30) }) { store in
                let record = try Self.record(1)
                try await store.writeLogins([record], counts: [:])
                // This row comes from a server whose clock is ahead of ours.
                try await database.whileLocked(
                    """
                    select pg_advisory_xact_lock(hashtextextended('federation login log', 0));
                    insert into federation.login_log
                    select id + 86400000::bigint * 1024, happened, application_id, method, provider, credential, outcome,
                        reason, cause, object_id, 'ahead', source, milliseconds from federation.login_log
                    """
                ) { unlock in
                    async let written: Void = store.writeLogins([try Self.record(2)], counts: [:])
                    try await eventually("it waits") {
                        try await database.psql(
                            "select count(*) from pg_locks where locktype = 'advisory' and not granted"
                        ) == [["1"]]
                    }
                    try await unlock()
                    try await written
                }
                let rows = try await store.logins(matching: LoginFilter(), .after(0), limit: 9)
                #expect(rows.map(\.request) == ["r1", "ahead", "r2"])
            }
        }
    }

    @Test("all are counted by minute and hour, in buckets of any width, with why they were refused")
    func counts() async throws {
        try await lend { store, database in
            let hour: Int64 = 3_600_000
            let records = try (1...60).map { number in
                try Self.record(number, happened: 500 * hour + Int64(number) * 60_000)
            }
            for _ in 0..<2 { try await store.writeLogins([], counts: Self.kinds(records, unlisted: 1)) }
            try await store.writeLogins(
                [],
                counts: Self.kinds([try Self.record(5, of: "shop", happened: 500 * hour)])
            )
            let demo = try #require(ApplicationID("demo"))
            for (width, since, buckets) in [(60, 500, 60), (600, 500, 7), (3600, 500, 2), (3600, 501, 1)]
                as [(Int64, Int64, Int)]
            {
                let counts = try await store.loginCounts(of: demo, since: since * 3600, width: width)
                let starts = Set(counts.buckets.map(\.starts))
                #expect(starts.count == buckets && starts.allSatisfy { $0.isMultiple(of: width * 1000) }, "\(width)")
                let all = counts.buckets.reduce(LoginCount()) { $0 + $1.count }
                #expect(all == LoginCount(logins: since == 501 ? 2 : 120, unlisted: since == 501 ? 2 : 120))
            }
            let counts = try await store.loginCounts(of: nil, since: 500 * 3600, width: 3600)
            #expect(counts.buckets.reduce(0) { $0 + $1.count.logins } == 121)
            let created = counts.buckets.filter { $0.outcome == "created" && $0.provider == "twitter" }
            #expect(created.map(\.count.logins) == [4], "7 and 49")
            let refused = counts.refusals.map { "\($0.provider ?? $0.method) \($0.reason) \($0.logins)" }
            #expect(
                refused == [
                    "twitter login_invalid 9", "facebook credential_expired 8", "password credential_expired 4",
                    "password login_invalid 4",
                ]
            )
            #expect(try await database.psql("select count(*) from federation.login_log") == [["0"]])
        }
    }

    @Test("rows and counts go when their time is over, the oldest first and some at a time")
    func purge() async throws {
        try await lend { store, database in
            let records = try (1...30).map { try Self.record($0) }
            try await store.writeLogins(records, counts: [:])
            try await database.psql(
                """
                update federation.login_log set id = id - 20 * 86400000::bigint * 1024 where request < 'r2';
                insert into federation.login_counts
                select 'demo', s, now() - n * interval '1 hour' - interval '1 minute', 'password', '', 'created', '', 1, 0
                from generate_series(0, 999) n, unnest(array[60, 3600]) s
                """
            )
            let old = try await store.logins(matching: LoginFilter(), .after(0), limit: 100).count { entry in
                entry.request ?? "" < "r2"
            }
            #expect(try await store.purgeLogins(olderThanDays: 21, limit: 4) == 0)
            var removed: [Int] = []
            repeat { removed.append(try await store.purgeLogins(olderThanDays: 19, limit: 4)) } while removed.last == 4
            #expect(removed.reduce(0, +) == old && removed.count == old / 4 + 1)
            #expect(try await database.psql("select count(*) from federation.login_log") == [["\(30 - old)"]])
            #expect(try await store.purgeLogins(olderThanDays: 0, limit: 100) == 30 - old)

            while try await store.purgeLoginCounts(olderThanDays: 30, limit: 100) == 100 {}
            let left = "select seconds, count(*) from federation.login_counts group by 1 order by 1"
            #expect(try await database.psql(left) == [["60", "25"], ["3600", "720"]])
            while try await store.purgeLoginCounts(olderThanDays: 0, limit: 100) == 100 {}
            #expect(try await database.psql(left) == [])
        }
    }

    @Test("what is there of an application that is gone goes, and nothing else")
    func goneApplications() async throws {
        try await Tenant.lend { tenant in
            for application in ["tenant", "gone", "left"] {
                let records = try (1...5).map { try Self.record($0, of: application) }
                try await tenant.store.writeLogins(records, counts: Self.kinds(records))
            }
            var removed: [Int] = []
            repeat {
                removed.append(try await tenant.store.purgeLoginsOfGoneApplications(limit: 3))
            } while removed.last != 0
            #expect(removed.count > 2)
            for table in ["login_log", "login_counts"] {
                #expect(
                    try await tenant.database.psql("select distinct application_id from federation.\(table)")
                        == [["tenant"]]
                )
            }
            #expect(try await tenant.database.psql("select count(*) from federation.login_log") == [["5"]])
        }
    }

    @Test("whoever is erased is forgotten by the log, also what an instance writes late, and nobody else")
    func erased() async throws {
        try await Tenant.lend { tenant in
            let application = tenant.application
            let (ann, bob) = (ObjectID(UUID()), ObjectID(UUID()))
            for user in [ann, bob] {
                try await tenant.database.psql(
                    "insert into \(Tenant.users) (object_id) values ('\(user)')"
                )
                let records = try [1, 2, 3, 4, 6].map { try Self.record($0, of: "tenant", user: user) }
                try await tenant.store.writeLogins(records, counts: [:])
            }
            func known(_ user: ObjectID) async throws -> [[String?]] {
                try await tenant.database.psql(
                    """
                    select count(*), count(source), count(user_agent), count(session) from federation.login_log
                    where object_id = '\(user)'
                    """
                )
            }
            _ = try await tenant.store.change(ann, of: application, by: Tenant.actor) { _ in
                .erase(banningBy: Tenant.hash)
            }
            #expect(try await known(ann) == [["5", "5", "5", "5"]], "it is done behind the erasure")
            var changed: [Int] = []
            repeat { changed.append(try await tenant.store.forgetErasedLogins(limit: 2)) } while changed.last == 2
            #expect(try await known(ann) == [["0", "0", "0", "0"]] && changed.count > 2, "\(changed)")
            #expect(
                try await tenant.database.psql(
                    "select count(*), count(source), count(user_agent), count(session) from federation.login_log"
                ) == [["10", "5", "5", "5"]]
            )
            // An instance had one of Ann's logins that it had not written yet.
            try await tenant.store.writeLogins([try Self.record(1, of: "tenant", user: ann)], counts: [:])
            _ = try await tenant.store.forgetErasedLogins(limit: 10)
            try await tenant.database.psql(
                """
                update federation.login_log_erasures
                set due = due - interval '10 minutes', erased = erased - interval '10 minutes'
                """
            )
            _ = try await tenant.store.forgetErasedLogins(limit: 10)
            #expect(try await known(ann) == [["0", "0", "0", "0"]])
            #expect(try await known(bob) == [["5", "5", "5", "5"]])
            #expect(try await tenant.database.psql("select from federation.login_log_erasures").isEmpty)
        }
    }

    @Test("each filter is served by an index, however many rows there are")
    func plans() async throws {
        try await lend { store, database in
            try await database.psql(
                """
                insert into federation.login_log select n, now(), 'app' || n % 3, 'provider', 'facebook', 'code', 'updated',
                    null, null, gen_random_uuid(), 'r', '10.0.' || n % 100 || '.' || n % 250, 1
                from generate_series(1, 60000) n;
                analyze federation.login_log
                """
            )
            for (condition, index) in [
                ("provider = 'twitter' and method = 'provider'", "login_log_method"),
                ("outcome = 'refused'", "login_log_outcomes"), ("reason = $1", "login_log_reasons"),
                ("reason = $1 and provider = 'facebook' and method = 'provider'", "login_log_reasons"),
                ("source = $1", "login_log_source"), ("object_id = $1::uuid", "login_log_user"),
            ] {
                let plan = try await database.psql(
                    """
                    prepare q(text) as select id from federation.login_log
                    where application_id = 'app1' and id < 9e15::bigint and \(condition) order by id desc limit 50;
                    set plan_cache_mode = force_generic_plan;
                    explain execute q('00000000-0000-0000-0000-000000000000')
                    """
                ).flatMap { $0 }.compactMap { $0 }.joined(separator: "\n")
                #expect(plan.contains(index), "\(condition): \(plan)")
            }
        }
    }
}
