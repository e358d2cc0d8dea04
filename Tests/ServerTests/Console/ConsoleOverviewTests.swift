import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The console's overview and the log that follows",
    // The tests count rows on one page, and lock tables of the database.
    .serialized,
    .deployed(
        Document(
            application: "shop",
            properties: #"{"city": {"type": "STRING", "clientMappable": true}}"#,
            mapping: #"[{"from": "email", "to": "email"}, {"from": "name", "to": "name"}]"#
        ),
        // The lock timeout is longer than a page waits for one of its parts.
        environment: ["FEDERATION_DATABASE_LOCK_MILLISECONDS": "60000"]
    )
)
struct ConsoleOverviewTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    // MARK: Overview

    @Test(
        "new people, what fails and where that is seen, and how long the parts of a login took, by hour, day and week"
    )
    func logins() async throws {
        let ann = try await deployment.newcomer()
        _ = try await deployment.loggedIn(ann)
        _ = try await deployment.loggedIn(ann)
        _ = try await deployment.login(ann, mapping: #"{"email": "no where"}"#)
        let browser = try await deployment.browser(.viewer)
        for hours in ["1", "24", "168"] {
            try await eventually("they are counted") {
                try await browser.open("/console?hours=\(hours)")
                // The chart and the table of refusals are read one after the other.
                return browser.page.contains("<code>mapping_target_not_allowed</code>")
                    && ["ok", "new", "no"].allSatisfy { browser.page.contains("<path class=\"\($0)\" d=\"M") }
            }
            #expect(browser.page.contains("hours=\(hours)\" aria-current=\"true\""), "\(hours)")
            let times = browser.page.split(separator: "<div class=\"times\">").last?.split(separator: "</div>").first
            #expect(times?.split(separator: "<time").count == 5, "an axis: \(browser.page)")
            #expect(browser.page.contains("<span class=\"most\">"), "another axis")
            #expect(
                browser.page.contains(
                    "outcome=refused&amp;reason=mapping_target_not_allowed\"><code>mapping_target_not_allowed</code>"
                ),
                "the way to each of them"
            )
        }
        for part in ["Provider, in total", "Checking the response", "Mapping", "Database write"] {
            #expect(browser.page.contains("<td data-column=\"Stage\">\(part)</td>"), "\(part)")
        }
        #expect(browser.page.contains("><code>debug_token</code></td>"))
        #expect(browser.page.contains("Figures of this instance"))
        #expect((browser.reply?.body.count ?? 0) < 60_000)
    }

    @Test("an app that is shut out, what it has used of its allowance, and the last failure of its provider")
    func providers() async throws {
        let ann = try await deployment.newcomer()
        let usage = #"{"usage": {"call_count": 37, "total_time": 12}}"#
        try await deployment.simulator.ask("PATCH", "apps/1234567890", usage)
        _ = try await deployment.loggedIn(ann)
        let viewer = try await deployment.admin(.viewer)
        func app() async throws -> JSONObject? {
            try await viewer.get("instance")["apps"]?.array?.compactMap(\.object).first
        }
        #expect(try await app()?["shutOut"]?.bool == false)
        #expect(try await app()?["allowances"]?.object?["call_count"]?.integer == 37)
        let browser = try await deployment.browser(.viewer)
        try await deployment.simulator.withFault(#"{"effect": "rateLimit"}"#) {
            let refused = try await deployment.login(ann)
            try expectProblem(refused, "provider_rate_limited")
            #expect(try await app()?["shutOut"]?.bool == true)
            try await eventually("the failure is written") {
                try await browser.open("/console?hours=1")
                return browser.page.contains("<code>provider_rate_limited</code></a></td>")
            }
            #expect(browser.page.contains("<span class=\"tag refused\">paused</span>"), "\(browser.page)")
        }
        try await eventually("logins pass again") { try await deployment.login(ann).status == 200 }
        try await browser.open("/console")
        #expect(browser.page.contains("<span class=\"tag ENABLED\">active</span>"), "\(browser.page)")
        #expect(browser.page.contains("call_count 37 %, total_cputime 0 %, total_time 12 %"))
    }

    @Test("calls that nobody answered are told apart from those that were, with how they ended")
    func unanswered() async throws {
        let ann = try await deployment.newcomer()
        try await deployment.simulator.withFault(#"{"effect": "reset"}"#) {
            try expectProblem(try await deployment.login(ann), "provider_unavailable")
        }
        let calls = try await deployment.admin(.viewer).get("instance")["calls"]?.array?.compactMap(\.object) ?? []
        let unreachable = calls.compactMap { $0["unanswered"]?.object?["unreachable"]?.integer }.reduce(0, +)
        #expect(unreachable > 0, "\(calls)")
        let browser = try await deployment.browser(.viewer)
        try await browser.open("/console")
        #expect(browser.page.contains("<span class=\"bad\">unreachable "), "\(browser.page)")
    }

    @Test("a version of Graph that has ended is told, with its day, although nobody is asked")
    func versions() async throws {
        let owner = try await deployment.admin()
        let path = "applications/shop/providers/facebook"
        let version = try #require(try await owner.get(path)["graphVersion"]?.string)
        try await owner.ask("PATCH", path, #"{"graphVersion": "v19.0"}"#)
        let browser = try await deployment.browser(.viewer)
        let asked = try await deployment.simulator.requestCount { try await browser.open("/console") }
        #expect(browser.page.contains("Graph v19.0 ended on 2026-05-21."), "\(browser.page)")
        #expect(asked == 0)
        try await owner.ask("PATCH", path, #"{"graphVersion": "\#(version)"}"#)
        try await browser.open("/console")
        #expect(!browser.page.contains("Graph v19.0"))
    }

    @Test("a page waits three seconds for a database that is slow, and says what is not there")
    func slow() async throws {
        let browser = try await deployment.browser(.viewer)
        try await withLock(on: "federation.login_counts") {
            try await browser.open("/console")
            #expect(browser.status == 200 && browser.page.contains("This part took longer than 3 s"), "\(browser.page)")
            #expect(browser.page.contains("id=\"health\">Health<") && browser.page.contains("Logins of the last day"))
        }
        try await eventually("all of it is there again") {
            try await browser.open("/console")
            return !browser.page.contains("This part took longer")
        }
    }

    @Test("a part that is refused says why, and the others are there")
    func refusedPart() async throws {
        let browser = try await deployment.browser(.viewer)
        try await deployment.database.psql("alter table federation.login_counts rename to login_counts_away")
        try await browser.open("/console")
        let page = browser.page
        try await deployment.database.psql("alter table federation.login_counts_away rename to login_counts")
        #expect(browser.status == 200 && page.contains("class=\"alert\" role=\"alert\""), "\(page)")
        #expect(page.contains("href=\"/console/applications/shop\"") && page.contains("Requests to providers"))
    }

    @Test("filters are lists where there is one, and a password is called a password")
    func filters() async throws {
        let browser = try await deployment.browser(.viewer)
        _ = try await deployment.register("filters.canary@example.com")
        _ = try await deployment.logIn("filters.canary@example.com")
        try await eventually("it is in the log") {
            try await browser.open("/console/logins?method=password")
            return browser.page.contains(">Password <small>")
        }
        for filter in ["application", "method", "provider", "outcome", "reason"] {
            #expect(browser.page.contains("<select id=\"\(filter)\""), "\(filter): \(browser.page)")
        }
        #expect(browser.page.contains("<option value=\"password\" selected>Password</option>"))
        try await browser.open("/console/applications/shop/users")
        #expect(browser.page.contains(">Password</td>") && !browser.page.contains("BACKENDLESS"), "\(browser.page)")
        try await browser.open("/console/audit?application=shop")
        #expect(browser.page.contains("<option value=\"shop\" selected>"), "\(browser.page)")
    }

    // MARK: The live log

    @Test("what came since is rows alone, the newest first, with where to go on; nothing is no content")
    func tail() async throws {
        let (ann, browser) = (try await deployment.newcomer(), try await deployment.browser(.viewer))
        _ = try await deployment.loggedIn(ann)
        // Log entries of other tests may still be pending.
        let more = try await eventually("all logins are in the log") {
            try await browser.open("/console/logins?application=shop")
            #expect(browser.page.contains("/console/assets/logins-"), "its script")
            guard let more = Self.more(browser.page), !more.contains("since/0") else { return nil as String? }
            try await browser.open(more)
            return browser.status == 204 && browser.page.isEmpty ? more : nil
        }
        #expect(more.hasSuffix("?application=shop"), "what it is narrowed down to goes on: \(more)")
        let user = try await deployment.loggedIn(ann)
        let refused = try await deployment.login(ann, mapping: #"{"email": "no where"}"#)
        let request = try #require(refused.header("X-Request-Id"))
        try await eventually("both came") {
            try await browser.open(more)
            return browser.page.contains(request) && browser.page.contains(user.reply.header("X-Request-Id") ?? "?")
        }
        #expect(!browser.page.contains("<html") && browser.page.contains("<table>"), "\(browser.page)")
        // Other tests log in, too.
        let own = [request, user.reply.header("X-Request-Id") ?? "?"]
        let order = browser.page.components(of: "<tr><td ").filter { row in own.contains { row.contains($0) } }
        #expect(order.count == 2 && order[0].contains(request), "the newest first: \(browser.page)")
        #expect(browser.reply?.header("Content-Security-Policy")?.contains("default-src 'none'") == true)
        #expect(browser.reply?.header("Cache-Control") == "no-store")
        try await browser.open(try #require(Self.more(browser.page)))
        #expect(!browser.page.contains(request))
        // The page itself has the same rows.
        try await browser.open("/console/logins?application=shop")
        #expect(browser.page.contains(order[0].prefix { $0 != "\n" }), "\(browser.page)")
    }

    @Test("where more came than anybody reads, it is the newest, and said")
    func gap() async throws {
        let browser = try await deployment.browser(.viewer)
        try await deployment.database.psql(
            """
            insert into federation.login_log (id, happened, application_id, method, credential, outcome, request, milliseconds)
            select (extract(epoch from clock_timestamp()) * 1000)::bigint * 1024 + n, now(), 'shop', 'guest', 'guest',
                'updated', 'flood-' || n, 1
            from generate_series(1, 120) n
            """
        )
        try await browser.open("/console/logins/since/0?provider=&source=&reason=&user=&outcome=updated")
        #expect(browser.page.contains(" data-gap") && browser.page.contains(">flood-120<"), "\(browser.page)")
        #expect(browser.page.contains(">flood-71<") && !browser.page.contains(">flood-70<"))
        let more = try #require(Self.more(browser.page))
        try await browser.open(more)
        #expect(browser.status == 204, "\(more): \(browser.page)")
    }

    @Test("what came since is for who has signed in, and what is no id is refused with a reason")
    func strangers() async throws {
        let stranger = ConsoleBrowser(deployment.service.management)
        try await stranger.open("/console/logins/since/0")
        #expect(stranger.page.contains("<h1>federation</h1>"), "\(stranger.page)")
        let browser = try await deployment.browser(.viewer)
        for path in ["since/x", "since/-1", "since/1?outcome=odd"] {
            try await browser.open("/console/logins/\(path)")
            #expect(browser.status == 400 && browser.page.contains("role=\"alert\""), "\(path): \(browser.page)")
        }
    }

    // MARK: Helpers

    /// Returns the address of the next rows of a page.
    private static func more(_ page: String) -> String? {
        guard let start = page.firstRange(of: "data-more=\"") else { return nil }
        return String(page[start.upperBound...].prefix { $0 != "\"" }).replacing("&amp;", with: "&")
    }

    /// Runs a closure while a table is locked against reading.
    private func withLock(on table: String, _ body: () async throws -> Void) async throws {
        let held = Task { [database = deployment.database] in
            try await database.psql("begin; lock table \(table); select pg_sleep(100) as held; commit")
        }
        let holder = "from pg_stat_activity where query like '%pg\\_sleep(100) as held%' and pid <> pg_backend_pid()"
        try await eventually("the table is held") {
            try await deployment.value(
                "select count(*) from pg_locks where granted and relation = '\(table)'::regclass and pid in (select pid \(holder))"
            ) == "1"
        }
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        _ = try await deployment.value("select count(pg_terminate_backend(pid)) \(holder)")
        _ = await held.result
        try outcome.get()
    }
}

extension String {
    fileprivate func components(of separator: String) -> [Substring] { split(separator: separator) }
}
