import Domain
import Encodings
import FoundationEssentials
@testable import Postgres
@testable import Store
import Testing
import TestSupport

@Suite("Indexes of properties")
struct PropertyIndexTests {
    private static let indexed = ["nick", "points", "ratio", "member", "birthday", "seen", "name"]

    /// Returns the same tenant with an index declared for every property that can have one.
    private static func indexing(_ tenant: Tenant, _ names: [String] = indexed) async throws -> Tenant {
        try await tenant.change(names.map { .indexProperty(Tenant.named($0), true) })
        var tenant = tenant
        for property in tenant.application.properties where names.contains(property.name.text) {
            tenant = tenant.with(Property(name: property.name, type: property.type, indexed: true))
        }
        return tenant
    }

    /// Returns the service's indexes of the users table, each as its name and definition.
    private static func indexes(
        _ tenant: Tenant,
        _ kind: String = "indexed"
    ) async throws -> [(name: String, definition: String)] {
        try await tenant.database.psql(
            """
            select x.relname, pg_get_indexdef(i.indexrelid) from pg_index i join pg_class x on x.oid = i.indexrelid
            where i.indrelid = '\(Tenant.users)'::regclass and x.relname like 'federation\\_\(kind)\\_%'
                and i.indisvalid order by 2
            """
        ).map { ($0[0] ?? "", $0[1] ?? "") }
    }

    private static func columns(_ tenant: Tenant) async throws -> [String] {
        try await indexes(tenant).map { index in
            let definition = index.definition.split(separator: "btree ").last ?? ""
            return definition.replacing(" NULLS FIRST, object_id)", with: "").dropFirst().description
        }.sorted()
    }

    private static func reconcile(_ tenant: Tenant) async throws -> IndexReconciliation {
        try await tenant.store.reconcileIndexes(of: tenant.application.place)
    }

    @Test("what is declared is built, once, and what is not any more is dropped")
    func reconciliation() async throws {
        try await Tenant.lend { tenant in
            #expect(try await Self.reconcile(tenant) == .done(built: 0, dropped: 0))
            let indexing = try await Self.indexing(tenant)
            let waiting = try await tenant.store.indexStates(of: tenant.application.place)
            #expect(Set(waiting.map(\.property.text)) == Set(Self.indexed))
            #expect(waiting.allSatisfy { !$0.isReady && $0.problem == nil })
            #expect(try await Self.reconcile(tenant) == .done(built: 8, dropped: 0))
            #expect(
                try await Self.columns(tenant) == [
                    #""left"(name, 512) COLLATE "C""#, #""left"(nick, 512) COLLATE "C""#, "birthday", "member",
                    "points", "ratio", "seen",
                ]
            )
            #expect(try await Self.indexes(tenant).allSatisfy { $0.name.utf8.count <= 63 })
            #expect(try await tenant.store.indexStates(of: tenant.application.place).allSatisfy(\.isReady))
            #expect(try await Self.reconcile(tenant) == .done(built: 0, dropped: 0))

            // The service never drops an index that the operator created.
            try await tenant.database.psql("create index by_hand on \(Tenant.users) (points)")
            let login = try await indexing.login(
                writing: .text(String(repeating: "é", count: 20_000)),
                to: "nick",
                .always
            )
            #expect(login.created, "a text that is longer than an index takes keeps nobody out")
            try await tenant.change(
                .indexProperty(Tenant.named("points"), false),
                .removeProperty(Tenant.named("ratio")),
                .renameProperty(from: Tenant.named("nick"), to: Tenant.named("nickname")),
                .renameProperty(from: Tenant.named("birthday"), to: Tenant.named("nick"))
            )
            #expect(try await Self.reconcile(tenant) == .done(built: 0, dropped: 1))
            #expect(
                try await Self.columns(tenant) == [
                    #""left"(name, 512) COLLATE "C""#, #""left"(nickname, 512) COLLATE "C""#, "member", "nick", "seen",
                ]
            )
            try await tenant.change(.indexProperty(Tenant.named("points"), true))
            #expect(try await Self.reconcile(tenant) == .done(built: 1, dropped: 0))
            try await tenant.change(.delete)
            #expect(try await Self.reconcile(tenant) == .done(built: 0, dropped: 0))
        }
    }

    @Test("a widened property loses the index of its narrower type, and gets one of the wider")
    func widening() async throws {
        try await Tenant.lend { tenant in
            _ = try await Self.indexing(tenant, ["points", "nick"])
            _ = try await Self.reconcile(tenant)
            try await tenant.change(
                .widenProperty(Tenant.named("points"), to: .string),
                .widenProperty(Tenant.named("nick"), to: .text)
            )
            #expect(try await Self.columns(tenant) == [#""left"(nick, 512) COLLATE "C""#])
            #expect(try await Self.reconcile(tenant) == .done(built: 1, dropped: 0))
            // An instance of a former version leaves the index like this.
            let name = try #require(try await Self.indexes(tenant).first { $0.definition.contains("points") }).name
            try await tenant.database.psql(
                """
                drop index \(Tenant.schema)."\(name)";
                create index \(name) on \(Tenant.users) (points nulls first, object_id)
                """
            )
            let state = try await tenant.store.indexStates(of: tenant.application.place)
            #expect(state.first { $0.property.text == "points" }?.isReady == false)
            #expect(try await Self.reconcile(tenant) == .done(built: 1, dropped: 1))
            #expect(
                try await Self.columns(tenant) == [
                    #""left"(nick, 512) COLLATE "C""#, #""left"(points, 512) COLLATE "C""#,
                ]
            )
        }
    }

    @Test("what a build has left that was cut off is dropped, and the index built anew, while logins go on")
    func interruption() async throws {
        try await Tenant.lend { tenant in
            _ = try await Self.indexing(tenant, ["points"])
            // The locking transaction is one that index builds wait for.
            try await tenant.database.whileLocked("lock table \(Tenant.users) in row exclusive mode") {
                let building = Task { try await Self.reconcile(tenant) }
                try await eventually("the build waits") {
                    try await tenant.database.psql(
                        "select 1 from pg_stat_activity where datname = current_database() and query like 'create index concurrently%' and wait_event_type = 'Lock'"
                    ).count == 1
                }
                // Logins do not wait.
                _ = try await tenant.login(writing: .integer(1), to: "points", .always)
                #expect(try await tenant.store.indexStates(of: tenant.application.place).map(\.isReady) == [false])
                let other = try await withStore(tenant.database.url) { store in
                    try await store.reconcileIndexes(of: tenant.application.place)
                }
                #expect(other == .elsewhere)
                try await tenant.database.psql(
                    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'create index concurrently%'"
                )
                await #expect(throws: Failure.self) { try await building.value }
            }
            #expect(try await Self.indexes(tenant).isEmpty)
            #expect(try await Self.reconcile(tenant) == .done(built: 1, dropped: 1))
            #expect(try await Self.columns(tenant) == ["points"])
        }
    }

    @Test("of many instances at once one builds, and there is one index in the end")
    func race() async throws {
        try await Tenant.lend { tenant in
            _ = try await Self.indexing(tenant, ["points", "nick"])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await withStore(tenant.database.url) { store in
                            _ = try await store.reconcileIndexes(of: tenant.application.place)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await Self.columns(tenant).count == 2)
        }
    }

    @Test("what stands in the way of an index is kept for operators until it is built")
    func obstacle() async throws {
        try await Tenant.lend { tenant in
            _ = try await Self.indexing(tenant, ["points", "nick"])
            try await tenant.database.psql("alter table \(Tenant.users) rename column points to elsewhere")
            guard case .blocked = try await Self.reconcile(tenant) else {
                Issue.record("an index of no column cannot be built")
                return
            }
            let states = try await tenant.store.indexStates(of: tenant.application.place)
            #expect(states.first { $0.property.text == "nick" }?.isReady == true)
            let problem = states.first { $0.property.text == "points" }?.problem
            #expect(problem?.contains("points") == true, "\(problem ?? "none")")
            try await tenant.database.psql("alter table \(Tenant.users) rename column elsewhere to points")
            #expect(try await Self.reconcile(tenant) == .done(built: 1, dropped: 0))
            #expect(try await tenant.store.indexStates(of: tenant.application.place).allSatisfy { $0.problem == nil })
        }
    }

    @Test("the name has an index of its parts besides, which goes with the other, wherever pg_trgm is")
    func parts() async throws {
        for elsewhere in [false, true] {
            try await Tenant.lend { tenant in
                if elsewhere { try await tenant.database.psql("create extension pg_trgm with schema public") }
                _ = try await Self.indexing(tenant, ["name", "nick"])
                #expect(try await Self.reconcile(tenant) == .done(built: 3, dropped: 0))
                let index = try await Self.indexes(tenant, "parts")
                #expect(index.count == 1 && index[0].definition.contains("USING gin (name"), "\(index)")
                #expect(try await tenant.store.indexStates(of: tenant.application.place).allSatisfy(\.isReady))
                try await tenant.database.psql("drop index \(Tenant.schema).\(index[0].name)")
                let states = try await tenant.store.indexStates(of: tenant.application.place)
                #expect(states.first { $0.property == .name }?.isReady == false)
                #expect(try await Self.reconcile(tenant) == .done(built: 1, dropped: 0))
                try await tenant.change(.indexProperty(.name, false))
                #expect(try await Self.reconcile(tenant) == .done(built: 0, dropped: 2))
                #expect(try await Self.indexes(tenant, "parts").isEmpty)
            }
        }
    }

    @Test("a part of a name finds the same people in the same order with an index and without, page by page")
    func partsOfNames() async throws {
        try await Tenant.lend { tenant in
            // There are more rows than a scan in order reads, so the index finds the rare names.
            try await tenant.database.psql(
                """
                insert into \(Tenant.users) (object_id, name)
                select (lpad(to_hex(n), 8, '0') || '-0000-4000-8000-000000000000')::uuid, case
                    when n % 9000 = 8999 then 'Zoë O''Neil ' || n when n % 3 = 0 then 'Ann 100%_ ' || n else 'Bob ' || n end
                from generate_series(1, 30000) n;
                analyze \(Tenant.users)
                """
            )
            let indexing = try await Self.indexing(tenant, ["name"])
            #expect(try await Self.reconcile(tenant) == .done(built: 2, dropped: 0))
            let plan = try await tenant.database.psql(
                """
                set enable_seqscan = off;
                explain select * from (select u.* from \(Tenant.users) u where u.name ilike '%o''neil%' offset 0) u
                order by object_id limit 10
                """
            )
            #expect("\(plan)".contains("federation_parts_"), "\(plan)")
            let parts = [
                ("o'neil", 3), ("ZOË", 3), ("ann", 10), ("%_", 10), ("8999", 3), ("nobody", 0), ("", 10),
            ]
            for (part, count) in parts {
                var search = UserListing()
                search.name = part
                var (pages, after): ([[ObjectID]], ObjectID?) = ([], nil)
                for page in 0..<2 {
                    var found: [[ObjectID]] = []
                    for tenant in [tenant, indexing] {
                        let people = try await tenant.store.users(
                            matching: search,
                            of: tenant.application,
                            after: after,
                            limit: 10
                        )
                        found.append(people.map(\.user.objectID))
                    }
                    #expect(found[0] == found[1], "\(part), page \(page)")
                    pages.append(found[1])
                    after = found[1].last
                }
                #expect(pages[0].count == count, "\(part)")
            }
        }
    }

    // MARK: Searches

    private static func searches(of tenant: Tenant) throws -> [(what: String, query: UserQuery)] {
        func column(_ name: String) throws -> UserColumn {
            .property(try #require(tenant.application.properties.first { $0.name.text == name }))
        }
        func number(_ number: Int64) -> UserFilter.Value { .property(.integer(number)) }
        func text(_ text: String) -> UserFilter.Value { .property(.text(text)) }
        let (nick, points, seen) = (try column("nick"), try column("points"), try column("seen"))
        let day = CalendarDate(daysSince1970: 10).map { UserFilter.Value.property(.date($0)) }
        let filters: [(String, UserFilter)] = [
            ("=", .comparison(points, .equal, number(77))), ("= text", .comparison(nick, .equal, text("nick 77"))),
            ("= day", .comparison(try column("birthday"), .equal, try #require(day))),
            ("= moment", .comparison(seen, .equal, .property(.dateTime(77_000)))),
            ("in", .isOne(points, of: [number(1), number(2)])), ("in texts", .isOne(nick, of: [text("a"), text("b")])),
            ("range", .comparison(points, .less, number(3))),
            ("range of texts", .comparison(nick, .less, text("nick 10"))),
            ("between", .between(points, number(3), number(5))), ("like", .like(nick, pattern: "nick 49%")),
            ("like, further", .like(nick, pattern: "nick 49%7_")), ("null", .isNull(points)),
            ("and", .all([.comparison(points, .greater, number(4990)), .not(.isNull(nick))])),
        ]
        var searches = filters.map { name, filter in
            var query = UserQuery(limit: 10)
            query.filter = filter
            return (what: name, query: query)
        }
        for (what, column) in [("order", points), ("order of texts", nick), ("order of moments", seen)] {
            for isDescending in [false, true] {
                var query = UserQuery(limit: 10)
                query.order = [UserOrder(by: column, isDescending: isDescending)]
                searches.append((what: "\(what) \(isDescending)", query: query))
            }
        }
        return searches
    }

    /// Returns the nodes of a plan that read more than needed.
    private static func faults(_ plan: [String], narrows: Bool) -> [String] {
        let reads = plan.filter { $0.contains("Scan") && !$0.contains("Subquery Scan") && !$0.contains("Bitmap Heap") }
        return reads.filter { !$0.contains("federation_indexed_") }
            + (narrows && !plan.contains { $0.contains("Index Cond:") } ? ["no condition"] : [])
            + (!narrows ? plan.filter { $0.contains("Sort") } : [])
    }

    @Test("every form of search that an index serves takes it", arguments: StaleStatistics.allCases)
    func plans(_ statistics: StaleStatistics) async throws {
        try await Tenant.lend { tenant in
            try await statistics.begin(tenant)
            let tenant = try await Self.indexing(tenant)
            _ = try await Self.reconcile(tenant)
            try await statistics.load(tenant)
            try await tenant.database.psql(
                """
                update \(Tenant.users) u set points = n, nick = 'nick ' || n, birthday = date '1970-01-01' + n::int,
                    seen = to_timestamp(n)
                from (select object_id, row_number() over () as n from \(Tenant.users)) numbered
                where u.object_id = numbered.object_id
                """
            )
            try await withClient(tenant.database.url) { client in
                for (what, query) in try Self.searches(of: tenant) {
                    #expect(query.indexUse.narrows == (query.filter != nil), "\(what)")
                    let statement = Store.statement(
                        for: query,
                        UserColumns(application: tenant.application),
                        of: tenant.application
                    )
                    let plan = try await client.withTransaction { connection in
                        try await connection.execute(script: "set local enable_seqscan = off")
                        let explain = Statement(sql: "explain (costs off) " + statement.sql, binds: statement.binds)
                        return try await connection.query(explain).all(String.self)
                    }
                    #expect(
                        Self.faults(plan, narrows: query.filter != nil) == [],
                        "\(what): \(plan.joined(separator: "\n"))"
                    )
                }
            }
        }
    }

    @Test(
        "texts stand in the order of their bytes, whatever the database sorts by, and are found however long they are"
    )
    func texts() async throws {
        try await Tenant.lend { tenant in
            let tenant = try await Self.indexing(tenant, ["nick"])
            _ = try await Self.reconcile(tenant)
            let long = String(repeating: "x", count: 511)
            let texts = ["B", "a", "b", "Ä", "z", long, long + "y", long + "yz", long + "z"]
            for (number, text) in texts.enumerated() {
                let user = try await tenant.insertUser(email: "\(number)@example.com")
                try await tenant.set("nick", to: text, of: user)
            }
            let nick = UserColumn.property(try #require(tenant.application.properties.first { $0.name.text == "nick" }))
            func found(_ filter: UserFilter?) async throws -> [String] {
                var query = UserQuery(limit: 100)
                query.filter = filter
                query.order = [UserOrder(by: nick, isDescending: false)]
                return try await tenant.store.users(matching: query, of: tenant.application).value.compactMap { user in
                    guard case .text(let text) = user.value("nick") else { return nil }
                    return text
                }
            }
            #expect(try await found(nil).prefix(3) == ["B", "a", "b"])
            for text in texts {
                let value = UserFilter.Value.property(.text(text))
                #expect(try await found(.comparison(nick, .equal, value)) == [text])
                #expect(try await found(.isOne(nick, of: [value])) == [text])
                #expect(try await found(.like(nick, pattern: text)) == [text])
                let less = texts.filter { Array($0.utf8).lexicographicallyPrecedes(Array(text.utf8)) }
                #expect(try await Set(found(.comparison(nick, .less, value))) == Set(less))
                let beginning = texts.filter { Array($0.utf8).starts(with: Array(text.utf8)) }
                #expect(try await Set(found(.like(nick, pattern: text + "%"))) == Set(beginning))
            }
        }
    }

    @Test("a search that is not done in its time says so, and what would help it")
    func time() async throws {
        try await Tenant.lend { tenant in
            try await withStore(tenant.database.url, configure: { $0.statementTimeout = .milliseconds(300) }) { store in
                try await tenant.database.whileLocked("lock table \(Tenant.users) in access exclusive mode") {
                    var query = UserQuery(limit: 1)
                    let points = try #require(tenant.application.properties.first { $0.name.text == "points" })
                    query.filter = .comparison(.property(points), .equal, .property(.integer(1)))
                    let failure = await #expect(throws: Failure.self) {
                        try await store.users(matching: query, of: tenant.application)
                    }
                    #expect(failure?.reason == .queryTooSlow)
                    #expect(failure?.details["propertiesToIndex"] == .array([.string("points")]))
                    #expect(failure?.message.contains("have the operator index points") == true)
                    guard case .number(let number)? = failure?.details["milliseconds"] else {
                        Issue.record("how long it took is missing")
                        return
                    }
                    #expect(number.integer ?? 0 >= 300)
                }
            }
        }
    }

    // MARK: Advice

    @Test("slow searches are summed up for each property, and what clients can add is bounded")
    func advice() async throws {
        try await Tenant.lend { tenant in
            let id = tenant.application.id
            func note(_ properties: [String], _ milliseconds: Int64...) async throws {
                var tally = SlowSearchTally()
                for number in milliseconds { tally.add(number) }
                try await tenant.store.noteSlowSearches(tally, by: properties.map(Tenant.named), of: id)
            }
            try await note(["nick"], 300)
            try await note(["nick"], 250, 700)
            try await note(["nick", "points"], 400)
            let advice = try await tenant.store.indexAdvice(of: id)
            #expect(advice.map(\.property.text) == ["nick", "points"])
            #expect(advice.map(\.searches) == [4, 1])
            #expect(advice.map(\.slowestMilliseconds) == [700, 400])
            for number in 0..<150 { try await note(["p\(number)"], 300) }
            func count() async throws -> String? {
                try await tenant.database.psql("select count(*) from federation.index_advice").first?.first ?? nil
            }
            #expect(try await count() == "100")
            try await note(["nick"], 300)
            #expect(try await tenant.store.indexAdvice(of: id).first?.searches == 5)
            try await tenant.database.psql(
                "update federation.index_advice set last = now() - interval '31 days' where properties <> '{nick}'"
            )
            try await tenant.store.forgetIndexAdvice()
            #expect(try await count() == "1")
        }
    }
}
