import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// A metrics page as parsed by a scraper.
private struct Page {
    /// The types by family name.
    private(set) var types: [String: String] = [:]
    /// The values by name and labels, such as `a_total{l="x"}`.
    private(set) var values: [String: Double] = [:]
    /// The label names by family name.
    private(set) var labels: [String: Set<String>] = [:]

    init(_ text: String) throws {
        var (family, hasHelp) = ("", false)
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3)
            if line.hasPrefix("# HELP ") {
                (family, hasHelp) = (String(words[2]), true)
            } else if line.hasPrefix("# TYPE ") {
                try #require(hasHelp && words[2] == family, "\(line)")
                types[family] = String(words[3])
            } else {
                let end = try #require(line.lastIndex(of: " "), "\(line)")
                let name = line.prefix { $0 != "{" && $0 != " " }
                try #require(name.hasPrefix(family), "\(line) stands below \(family)")
                let number = line[line.index(after: end)...]
                values[String(line[..<end])] = try #require(
                    number == "+Inf" ? .infinity : Double(number),
                    "\(line)"
                )
                let found = line[..<end].matches(of: /([a-z_]+)="/).map { String($0.output.1) }
                labels[family, default: []].formUnion(found.filter { $0 != "le" })
            }
        }
    }

    subscript(name: String) -> Double { values[name] ?? 0 }

    /// Returns the sum of all values whose name has this prefix and that have all these labels.
    func sum(_ name: String, _ labels: String...) -> Double {
        values.filter { key, _ in key.hasPrefix(name) && labels.allSatisfy(key.contains) }.map(\.value).reduce(0, +)
    }
}

@Suite(
    "Metrics",
    .serialized,
    .deployed(
        Document(mapping: #"{"email": "email"}"#),
        environment: ["FEDERATION_MAINTENANCE_INTERVAL_MILLISECONDS": "100"]
    )
)
struct MetricsTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func text(of service: ServiceProcess? = nil, headers: [(String, String)] = []) async throws -> String {
        let reply = try await (service ?? deployment.service).management.get("/metrics", headers: headers)
        try #require(reply.status == 200, "\(reply.text)")
        #expect(reply.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
        #expect(reply.header("Cache-Control") == "no-store")
        return reply.text
    }

    private func page() async throws -> Page { try Page(try await text()) }

    /// Returns the number of logins with these labels that a closure adds, and expects no other logins.
    private func added(_ labels: String..., by body: () async throws -> Void) async throws -> Double {
        let before = try await page()
        try await body()
        let after = try await page()
        let name = "federation_logins_total"
        let all = after.sum(name) - before.sum(name)
        let these = after.values.filter { key, _ in key.hasPrefix(name) && labels.allSatisfy(key.contains) }
            .map { $0.value - before[$0.key] }.reduce(0, +)
        #expect(all == these, "\(labels): nothing else is counted")
        return these
    }

    @Test("logins are counted by application, provider, credential and outcome, each once")
    func logins() async throws {
        let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com"}"#)
        let token = #"application="demo",provider="facebook",credential="access_token""#
        #expect(try await added(token, #"outcome="created""#) { _ = try await deployment.loggedIn(ann) } == 1)
        #expect(
            try await added(token, #"outcome="updated""#) {
                for _ in 0..<3 { _ = try await deployment.loggedIn(ann) }
            } == 3
        )
        let expired = try await deployment.newcomer(kind: "expired")
        #expect(
            try await added(token, #"outcome="credential_expired""#) {
                try expectProblem(try await deployment.login(expired), "credential_expired")
            } == 1
        )
        #expect(
            try await added(#"credential="unclear",outcome="credential_missing""#) {
                try expectProblem(try await deployment.login(body: "{}"), "credential_missing")
            } == 1
        )
        let witness = try await deployment.newcomer()
        #expect(
            try await added(#"application="witness""#, #"outcome="created""#) {
                _ = try await deployment.login(witness, to: .witness)
            } == 1
        )
        _ = try await deployment.register("pat.canary@example.com")
        let password = #"provider="",credential="password""#
        #expect(
            try await added(password, #"outcome="updated""#) {
                _ = try await deployment.logIn("pat.canary@example.com")
            } == 1
        )
        #expect(
            try await added(password, #"outcome="login_invalid""#) {
                let body = #"{"login": "pat.canary@example.com", "password": "canary canary canary"}"#
                try expectProblem(try await deployment.send("POST", "users/login", body), "login_invalid")
            } == 1
        )
    }

    @Test("the parts of a login are timed, and the calls of its provider by how they end")
    func parts() async throws {
        let ann = try await deployment.newcomer()
        let before = try await page()
        _ = try await deployment.loggedIn(ann)
        let after = try await page()
        func counted(_ name: String) -> Double { after[name] - before[name] }
        for stage in ["provider", "verification", "mapping", "write"] {
            #expect(counted("federation_login_stage_seconds_count{stage=\"\(stage)\"}") == 1, "\(stage)")
        }
        for call in ["debug_token", "me"] {
            let name = "federation_provider_calls_seconds"
            let labels = "provider=\"facebook\",call=\"\(call)\",outcome=\"answered\""
            #expect(counted("\(name)_count{\(labels)}") == 1, "\(call)")
            let sum = counted("\(name)_sum{\(labels)}")
            #expect(sum > 0 && sum < 60, "\(sum) seconds")
        }
        try await deployment.simulator.withFault(#"{"effect": "reset"}"#) {
            try expectProblem(try await deployment.login(ann), "provider_unavailable")
        }
        let failed = try await page()
        #expect(
            failed.sum("federation_provider_calls_seconds_count", #"outcome="unreachable""#)
                > after.sum("federation_provider_calls_seconds_count", #"outcome="unreachable""#)
        )
    }

    @Test("the breaker of an app is seen to open and to close, and what Graph says of its usage is there")
    func links() async throws {
        let ann = try await deployment.newcomer()
        let app = #"application="demo",app="1234567890""#
        let breaker = #"federation_provider_breaker_open{provider="facebook",\#(app)}"#
        _ = try await deployment.loggedIn(ann)
        #expect(try await page()[breaker] == 0)
        try await deployment.simulator.withFault(#"{"effect": "rateLimit"}"#) {
            _ = try await deployment.login(ann)
            #expect(try await page()[breaker] == 1)
        }
        try await eventually("logins pass again") { try await deployment.login(ann).status == 200 }
        #expect(try await page()[breaker] == 0)
    }

    @Test("requests are timed by the template of their route; what a client makes up is in no label")
    func requests() async throws {
        let before = try await page()
        _ = try await deployment.login(body: "{")
        _ = try await deployment.client.get("/canary/\(UUID().uuidString)")
        _ = try await deployment.client.send("PROPFIND", "/canary/canary", headers: [], body: [])
        _ = try await deployment.client.send("PROPFIND", deployment.path("users/login"), headers: [], body: [])
        let after = try await page()
        func counted(_ method: String, _ route: String, _ status: Int) -> Double {
            let name = "federation_http_requests_seconds_count"
            let labels = "listener=\"public\",method=\"\(method)\",route=\"\(route)\",status=\"\(status)\""
            return after["\(name){\(labels)}"] - before["\(name){\(labels)}"]
        }
        #expect(counted("POST", "/{applicationId}/{apiKey}/users/loginWithFacebook", 400) == 1)
        #expect(counted("", "", 404) == 2 && counted("", "", 405) == 1)
        #expect(!after.values.keys.contains { $0.contains("PROPFIND") || $0.contains("NotFound") })
        #expect(after[#"federation_http_requests_in_flight{listener="management"}"#] == 1, "the scrape itself")
        #expect(after[#"federation_http_requests_in_flight{listener="public"}"#] == 0)
    }

    @Test("sessions, statements, the configuration and the work in the background are counted")
    func rest() async throws {
        let ann = try await deployment.loggedIn(try await deployment.newcomer())
        let before = try await page()
        #expect(try await deployment.isValid(ann.token))
        #expect(try await deployment.get("users/logout", token: ann.token).status == 200)
        #expect(try await !deployment.isValid(ann.token))
        var after = try await page()
        func counted(_ name: String) -> Double { after[name] - before[name] }
        #expect(counted(#"federation_session_checks_total{outcome="live"}"#) == 1)
        #expect(counted(#"federation_session_checks_total{outcome="none"}"#) == 1)
        #expect(counted("federation_sessions_signed_out_total") == 1)
        #expect(counted(#"federation_postgres_statements_total{pool="logins",outcome="done"}"#) >= 3)
        #expect(counted(#"federation_postgres_statement_seconds_count{pool="logins"}"#) >= 3)
        #expect(after[#"federation_postgres_connections{pool="logins",kind="pipelined"}"#] > 0)
        #expect(after["federation_configuration_revision"] > 0 && after["federation_applications"] == 2)
        #expect(after["federation_configuration_age_seconds"] < 300)
        #expect(after["process_resident_memory_bytes"] > 1_000_000 && after["process_open_fds"] > 3)
        #expect(after.sum("federation_build_info") == 1)
        try await eventually("a round of the work in the background has ended") {
            after = try await page()
            return counted(#"federation_maintenance_rounds_total{outcome="done"}"#) > 0
        }
        #expect(after["federation_maintenance_last_round_timestamp_seconds"] > 1_700_000_000)
    }

    @Test("T-110: no secret and nobody's value is on the page")
    func canaries() async throws {
        let ann = try await deployment.newcomer(#"{"email": "eve.canary@example.com", "name": "Canary"}"#)
        let session = try await deployment.loggedIn(ann)
        _ = try await deployment.isValid(session.token)
        _ = try await deployment.login(body: #"{"accessToken": "canary canary"}"#)
        _ = try await deployment.client.get("/canary/\(Canary.apiKey)/canary?canary=canary")
        _ = try await deployment.client.post("/canary/\(Canary.apiKey)/users/social/canary/login", json: "{}")
        _ = try await deployment.client.post(deployment.path("users/social/made-up/login"), json: "{}")
        let page = try await text()
        #expect(!page.lowercased().contains(Canary.mark))
        for value in [session.token, session.objectID, ann.id, ann.token, "made-up"] { #expect(!page.contains(value)) }
    }

    @Test("docs/metrics.md lists every metric with its type and labels, and no other")
    func documented() async throws {
        _ = try await deployment.loggedIn(try await deployment.newcomer())
        let page = try await page()
        let text = try String(contentsOfFile: PackageLayout.path("docs/metrics.md"), encoding: .utf8)
        var listed: [String: (type: String, labels: Set<String>)] = [:]
        for line in text.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|").map { $0.trimmingPrefix(" ") }
            try #require(cells.count >= 4, "\(line)")
            func words(_ cell: Substring) -> [String] {
                cell.matches(of: /`([a-z_]+)`/).map { String($0.output.1) }
            }
            let name = try #require(words(cells[0]).first)
            #expect(listed[name] == nil, "\(name) is listed twice")
            listed[name] = (cells[1].split(separator: " ").first.map(String.init) ?? "", Set(words(cells[2])))
        }
        #expect(Set(listed.keys) == Set(page.types.keys))
        for (name, type) in page.types { #expect(listed[name]?.type == type, "\(name)") }
        // A metric shows its labels once it has a value.
        for (name, labels) in page.labels { #expect(listed[name]?.labels == labels, "\(name)") }
        #expect(page.labels.count > 20, "most have happened")
    }

    @Test("it is there without a database")
    func withoutDatabase() async throws {
        let service = try await ServiceProcess.start(
            environment: [
                "FEDERATION_DATABASE_URL": "postgres://nobody@127.0.0.1:1/nothing",
                "FEDERATION_MASTER_KEY": Canary.masterKey, "FEDERATION_TRUSTED_PROXIES": "0",
            ],
            readyPath: "/health/live"
        )
        let page = try Page(try await text(of: service))
        #expect(page["federation_applications"] == 0)
        #expect(page.values["federation_configuration_age_seconds"] == nil)
        try await eventually("attempts to connect are counted") {
            let page = try Page(try await text(of: service))
            return page[#"federation_postgres_connects_total{pool="logins",what="failed"}"#] > 0
        }
        try await service.process.kill()
    }

    @Test("where the setting says so, it asks for the token of an operator")
    func operators() async throws {
        let service = try await ServiceProcess.start(
            environment: Deployment.environment(database: deployment.database)
                .merging(["FEDERATION_METRICS_ACCESS": "operator"]) { _, new in new }
        )
        let refused = try await service.management.get("/metrics")
        try expectProblem(refused, "operator_token_invalid")
        let wrong = try await service.management.get("/metrics", headers: [("Authorization", "Bearer fedop_x")])
        #expect(wrong.status == 401)
        let token = try await deployment.operators.token(of: .viewer, database: deployment.database)
        _ = try Page(try await text(of: service, headers: [("Authorization", "Bearer \(token)")]))
        try await service.process.kill()
    }

    @Test("a setting that is no word of it is told")
    func misconfigured() async throws {
        let process = try await runFederation(
            ["serve"],
            environment: Deployment.environment(database: deployment.database)
                .merging(["FEDERATION_METRICS_ACCESS": "everybody"]) { _, new in new }
        )
        #expect(process.exitStatus == .exited(78))
        #expect(process.standardError.contains("FEDERATION_METRICS_ACCESS must be open or operator"))
    }
}
