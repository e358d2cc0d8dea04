import Domain
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The log of logins",
    .serialized,
    .deployed(
        Document(mapping: #"{"email": "email"}"#),
        Document(application: "shop", keyVariable: "OTHER_API_KEY"),
        environment: ["FEDERATION_TRUSTED_PROXIES": "1", "FEDERATION_MAINTENANCE_INTERVAL_MILLISECONDS": "100"]
    )
)
struct LoginLogTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Returns an address that no other test uses.
    private static func address() -> String {
        "203.\(Int.random(in: 1...254)).\(Int.random(in: 1...254)).\(Int.random(in: 1...254))"
    }

    private func fail(_ body: String = #"{"accessToken": "not one"}"#, from source: String) async throws -> HTTPReply {
        try await deployment.login(body: body, headers: [("X-Forwarded-For", source)])
    }

    /// Waits until a query finds that many logins, and returns them.
    private func logins(_ count: Int, _ query: String) async throws -> [JSONObject] {
        let viewer = try await deployment.admin(.viewer)
        return try await eventually("\(count) logins are written: \(query)") {
            let found = try await viewer.all("logins?\(query)", limit: 100)
            return found.count >= count ? found : nil
        }
    }

    @Test("a login that made a user and one that was refused are there, with reason, request and source")
    func outcomes() async throws {
        let source = Self.address()
        let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com"}"#)
        let signedIn = try await deployment.loggedIn(ann, headers: [("X-Forwarded-For", source)])
        _ = try await deployment.loggedIn(ann, headers: [("X-Forwarded-For", source)])
        let expired = try await deployment.newcomer(kind: "expired")
        let refused = try await deployment.login(expired, headers: [("X-Forwarded-For", source)])
        try expectProblem(refused, "credential_expired")
        let wrong = try await deployment.client.post(
            deployment.path("users/login"),
            json: #"{"login": "nobody.canary@example.com", "password": "canary"}"#,
            headers: [("X-Forwarded-For", source)]
        )
        try expectProblem(wrong, "login_invalid")

        let found = try await logins(4, "source=\(source)")
        #expect(found.count == 4)
        #expect(found.map { $0["outcome"]?.string } == ["refused", "refused", "updated", "created"])
        #expect(found.map { $0["reason"]?.string } == ["login_invalid", "credential_expired", nil, nil])
        #expect(found.map { $0["method"]?.string } == ["password", "provider", "provider", "provider"])
        #expect(found.map { $0["provider"]?.string } == [nil, "facebook", "facebook", "facebook"])
        #expect(found.map { $0["user"]?.string } == [nil, nil, signedIn.objectID, signedIn.objectID])
        #expect(
            found.map { $0["request"]?.string }.prefix(2)
                == [wrong.header("X-Request-Id"), refused.header("X-Request-Id")]
        )
        #expect(found.last?["request"]?.string == signedIn.reply.header("X-Request-Id"))
        #expect(found.allSatisfy { $0["application"]?.string == "demo" && $0["source"]?.string == source })
        #expect(!"\(found)".lowercased().contains(Canary.mark))
    }

    @Test("each filter finds what it says, and a misspelt one is refused")
    func filters() async throws {
        let source = Self.address()
        let headers = [("X-Forwarded-For", source)]
        let (ann, bob) = (try await deployment.newcomer(), try await deployment.newcomer())
        let first = try await deployment.loggedIn(ann, headers: headers)
        _ = try await deployment.loggedIn(bob, to: deployment.documents[1], headers: headers)
        for _ in 0..<2 { _ = try await fail(from: source) }
        _ = try await fail("{}", from: source)
        _ = try await logins(5, "source=\(source)")
        let viewer = try await deployment.admin(.viewer)
        for (query, count) in [
            ("application=demo", 4), ("application=shop", 1), ("provider=facebook", 5), ("provider=twitter", 0),
            ("method=provider", 5), ("method=password", 0), ("outcome=created", 2), ("outcome=refused", 3),
            ("outcome=updated", 0), ("reason=credential_invalid", 2), ("reason=credential_missing", 1),
            ("user=\(first.objectID)", 1), ("since=2026-01-01T00:00:00Z", 5), ("since=4102444800000", 0),
            ("application=demo&provider=facebook&outcome=refused&reason=credential_missing", 1),
        ] {
            let found = try await viewer.all("logins?source=\(source)&\(query)", limit: 2)
            #expect(found.count == count, "\(query)")
        }
        #expect(try await viewer.all("logins?user=\(first.objectID)").count == 1)
        for query in [
            "application=Not%20one", "method=facebook", "provider=Facebook", "outcome=failed", "reason=expired",
            "source=", "user=1", "since=yesterday", "after=x", "after=-1", "cursor=x", "after=1&cursor=2", "limit=0",
            "limit=201", "password=1",
        ] {
            try expectProblem(try await viewer.send("GET", "logins?\(query)"), "malformed_request")
        }
    }

    @Test("pages stay put while people log in, and whoever follows misses nobody")
    func paging() async throws {
        let source = Self.address()
        for _ in 0..<6 { _ = try await fail(from: source) }
        let before = try await logins(6, "source=\(source)").map { $0["id"]?.integer }
        let viewer = try await deployment.admin(.viewer)
        let path = "logins?source=\(source)&limit=2"
        let first = try await viewer.get(path)
        for _ in 0..<5 { _ = try await fail(from: source) }
        let after = "logins?source=\(source)&after=\(try #require(before[0]))"
        var tail: [Int64?] = []
        try await eventually("all who came since are there") {
            let last = tail.last.flatMap { $0 }.map { "logins?source=\(source)&after=\($0)" } ?? after
            let part = try await viewer.get(last + "&limit=2")
            tail += part["items"]?.array?.map { $0.object?["id"]?.integer } ?? []
            return tail.count >= 5
        }
        #expect(tail.count == 5 && tail.compactMap { $0 } == tail.compactMap { $0 }.sorted())
        var pages = first["items"]?.array ?? []
        var next = first["next"]?.string
        while let cursor = next {
            let page = try await viewer.get("\(path)&cursor=\(cursor)")
            pages += page["items"]?.array ?? []
            next = page["next"]?.string
        }
        #expect(pages.map { $0.object?["id"]?.integer } == before)
        #expect(
            try await viewer.all("logins?source=\(source)", limit: 3).map { $0["id"]?.integer } == tail.reversed()
                + before
        )
        let nothing = try await viewer.get("logins?source=\(source)&after=\(try #require(tail.last ?? nil))")
        #expect(nothing["items"] == .array([]) && nothing["next"] == .null)
    }

    @Test("counts have all logins, by provider, outcome and reason")
    func counts() async throws {
        let viewer = try await deployment.admin(.viewer)
        func counted(_ query: String) async throws -> [String: Int64] {
            let counts = try await viewer.get("logins/counts?\(query)")
            var sums: [String: Int64] = [:]
            for bucket in counts["buckets"]?.array?.compactMap(\.object) ?? [] {
                let key =
                    "\(bucket["provider"]?.string ?? bucket["method"]?.string ?? "") \(bucket["outcome"]?.string ?? "")"
                sums[key, default: 0] += bucket["logins"]?.integer ?? 0
            }
            for reason in counts["reasons"]?.array?.compactMap(\.object) ?? [] {
                sums[reason["reason"]?.string ?? "", default: 0] += reason["logins"]?.integer ?? 0
            }
            return sums
        }
        let source = Self.address()
        let bob = try await deployment.newcomer()
        for _ in 0..<3 {
            _ = try await deployment.loggedIn(bob, to: deployment.documents[1], headers: [("X-Forwarded-For", source)])
        }
        _ = try await logins(3, "source=\(source)")
        for hours in ["&hours=1", "", "&hours=168"] {
            let shop = try await counted("application=shop" + hours)
            #expect(shop["facebook updated"] == 2, "\(shop)")
            #expect(shop["facebook created"] ?? 0 >= 1 && shop["facebook refused"] == nil, "\(shop)")
        }
        let before = try await counted("application=demo&hours=1")
        for _ in 0..<4 { _ = try await fail("{}", from: source) }
        try await eventually("they are counted") {
            let after = try await counted("application=demo&hours=1")
            return after["credential_missing"] == (before["credential_missing"] ?? 0) + 4
                && after["facebook refused"] == (before["facebook refused"] ?? 0) + 4
        }
        #expect(try await counted("hours=1")["facebook refused"] ?? 0 >= 4)
        for query in ["hours=0", "hours=169", "hours=x", "application=%20"] {
            try expectProblem(try await viewer.send("GET", "logins/counts?\(query)"), "malformed_request")
        }
    }

    @Test("while the log cannot be written people log in as ever, and afterwards it has them")
    func outage() async throws {
        let source = Self.address()
        try await deployment.database.whileLocked("lock table federation.login_log") {
            // The logins succeed while the log cannot be written, so they do not wait for the log.
            for _ in 0..<3 {
                _ = try await deployment.loggedIn(
                    try await deployment.newcomer(),
                    headers: [("X-Forwarded-For", source)]
                )
            }
            try await eventually("the service says so") {
                deployment.service.process.standardOutput.contains("logins could not be written down")
            }
        }
        let found = try await logins(3, "source=\(source)")
        #expect(found.count == 3)
    }

    @Test("rows go when their time is over, by the work in the background")
    func retention() async throws {
        let source = Self.address()
        _ = try await fail(from: source)
        let id = try #require(try await logins(1, "source=\(source)").first?["id"]?.integer)
        try await deployment.database.psql(
            "update federation.login_log set id = id - 31 * 86400000::bigint * 1024 where id = \(id)"
        )
        try await eventually("it is gone") {
            try await deployment.value("select count(*) from federation.login_log where source = '\(source)'") == "0"
        }
    }

    @Test("what was heard last is written when the service ends, and nothing where the log is off", arguments: [30, 0])
    func end(_ days: Int) async throws {
        let service = try await ServiceProcess.start(
            environment: deployment.commandEnvironment.merging([
                "FEDERATION_LOGIN_LOG_DAYS": "\(days)", "FEDERATION_MAINTENANCE_ENABLED": "false",
            ]) { _, new in new }
        )
        let reply = try await service.client.post(deployment.path("users/loginWithFacebook"), json: "{}")
        try expectProblem(reply, "credential_missing")
        #expect(try await service.process.terminate() == .exited(0))
        let request = try #require(reply.header("X-Request-Id"))
        let rows = "select count(*) from federation.login_log where request = '\(request)'"
        #expect(try await deployment.value(rows) == (days > 0 ? "1" : "0"))
    }

    @Test("whoever is erased is not in it any more, and their logins are")
    func erased() async throws {
        let source = Self.address()
        let ann = try await deployment.loggedIn(
            try await deployment.newcomer(),
            headers: [("X-Forwarded-For", source)]
        )
        let id = try #require(try await logins(1, "user=\(ann.objectID)").first?["id"]?.integer)
        try await deployment.admin(.owner).ask(
            "DELETE",
            "applications/demo/users/\(ann.objectID)?confirm=\(ann.objectID)"
        )
        try await eventually("the log has forgotten") {
            try await deployment.value(
                "select object_id is null and source is null from federation.login_log where id = \(id)"
            )
                == "t"
        }
    }

    @Test("the command line lists them, and follows")
    func commandLine() async throws {
        let source = Self.address()
        let shell = CommandLineOperator(database: deployment.database)
        for _ in 0..<2 { _ = try await fail(from: source) }
        _ = try await logins(2, "source=\(source)")
        let listed = try await shell.json("logins demo --source \(source) --outcome refused --since 1h --limit 1")
        #expect(listed["items"]?.array?.count == 1 && listed["next"]?.string != nil)
        let table = try await shell.succeed("logins --source \(source)")
        #expect(table.split(separator: "\n").count == 3 && table.contains("credential_invalid"), "\(table)")
        for (words, code) in [
            ("logins --outcome failed", 64), ("logins --follow --json", 64), ("logins --follow --cursor 1", 64),
            ("logins --json --json-lines", 64), ("logins --reason expired", 65),
        ] as [(String, Int32)] { try await shell.fail(words, with: code) }

        let following = try await ManagedProcess.start(
            try PackageLayout.executable("federation"),
            ["logins", "demo", "--source", source, "--follow", "--json-lines"],
            environment: shell.environment
        )
        func lines() -> [String?] {
            following.standardOutput.split(separator: "\n").map {
                JSON.object(String($0))?["request"]?.string
            }
        }
        try await eventually("what there is is shown") { lines().count == 2 }
        let reply = try await fail(from: source)
        try await eventually("what comes is shown") { lines().count == 3 }
        #expect(lines().last == reply.header("X-Request-Id"))
        try await following.kill()
    }
}

@Suite(
    "The log of logins in a flood",
    .serialized,
    .deployed(
        Document(mapping: #"{"email": "email"}"#),
        Document(application: "shop", keyVariable: "OTHER_API_KEY"),
        environment: ["FEDERATION_LOGIN_LOG_ROWS_PER_SECOND": "4"]
    )
)
struct LoginLogFloodTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("it has rows of some refused ones, all are counted, and neither success nor anybody else's is hidden")
    func flood() async throws {
        let started = ContinuousClock.now
        let ann = try await deployment.newcomer()
        _ = try await deployment.loggedIn(ann)
        _ = try await deployment.loggedIn(try await deployment.newcomer(), to: deployment.documents[1])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    for _ in 0..<20 {
                        let reply = try await deployment.login(body: #"{"accessToken": "not one"}"#)
                        try #require(reply.status == 401)
                    }
                }
            }
            // The successful login among the refused ones.
            for _ in 0..<10 {
                group.addTask { _ = try await deployment.loggedIn(ann, headers: [("User-Agent", "amid the flood")]) }
            }
            try await group.waitForAll()
        }
        let viewer = try await deployment.admin(.viewer)
        func sum(_ member: String) async throws -> Int64 {
            let counts = try await viewer.get("logins/counts?application=demo&hours=1")
            return counts["buckets"]?.array?.reduce(0) { $0 + ($1.object?[member]?.integer ?? 0) } ?? 0
        }
        func refusedRows() async throws -> Int64 {
            Int64(try await viewer.all("logins?application=demo&outcome=refused", limit: 200).count)
        }
        // A login may be counted in one round of the log and get its row in the next.
        try await eventually("all are counted, and each refused one is listed or not", every: .milliseconds(200)) {
            let isCounted = try await sum("logins") == 411
            guard isCounted else { return false }
            return try await sum("unlisted") + refusedRows() == 400
        }
        let successes = try await viewer.all("logins?application=demo&outcome=updated")
        #expect(successes.count == 10)
        #expect(successes.allSatisfy { $0["userAgent"]?.string == "amid the flood" && $0["session"]?.string != nil })
        let rows = try await refusedRows()
        let turns = Int64((ContinuousClock.now - started) / .seconds(1)) + 2
        #expect(rows >= 3 && rows <= 4 * turns && rows < 400, "\(rows) in \(turns) turns")
        #expect(try await sum("unlisted") == 400 - rows)
        func unlisted(_ query: String) async throws -> Int64? {
            try await viewer.get("logins?\(query)&limit=1")["unlisted"]?.object?["logins"]?.integer
        }
        #expect(try await unlisted("application=demo") == 400 - rows, "said where the log is read")
        #expect(try await unlisted("application=demo&outcome=updated") == 0)
        #expect(try await unlisted("application=demo&reason=credential_invalid") == 400 - rows)
        #expect(try await unlisted("application=demo&since=4102444800000") == 0)
        #expect(try await unlisted("application=shop") == 0)
        #expect(try await viewer.get("logins?after=0")["unlisted"] == nil)
        let printed = try await deployment.federation("logins", "demo")
        #expect(printed.standardError.contains("\(400 - rows) more since"), "\(printed.standardError)")
        #expect(try await !deployment.federation("logins", "shop").standardError.contains("more since"))
        #expect(try await viewer.all("logins?application=shop").count == 1)
    }
}
