import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("Operators and their tokens", .serialized, .deployed(Document(mapping: #"{"name": "name"}"#)))
struct AdministrationOperatorTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Creates an operator over REST.
    private func make(_ name: String, _ role: Role, _ rest: String = "") async throws -> AdminClient {
        let json = #"{"name": "\#(name)", "role": "\#(role)"\#(rest)}"#
        let made = try await deployment.admin().ask("POST", "operators", json)
        return deployment.admin(token: try #require(made["token"]?.string))
    }

    @Test("without any operator nothing but health is served, and there is no token to guess at")
    func nobody() async throws {
        try await withNewInstallation { installation in
            for path in ["/health/live", "/health/ready"] {
                #expect(try await installation.service.management.get(path).status == 200)
            }
            for route in AdminRoute.all {
                let reply = try await installation.admin(token: nil).elsewhere.send(route.method, route.path)
                try expectProblem(reply, "operator_token_invalid", "\(route)")
            }
            #expect(try await installation.value("select count(*) from federation.operators") == "0")
        }
    }

    @Test("a token is shown once, and the database, the log and every later reply have nothing of it")
    func shownOnce() async throws {
        let owner = try await deployment.admin()
        let made = try await owner.ask("POST", "operators", #"{"name": "once", "role": "viewer"}"#)
        let first = try #require(made["token"]?.string)
        #expect(first.wholeMatch(of: /fedop_[A-Za-z0-9_-]{43}/) != nil)
        let second = try #require(try await owner.ask("POST", "operators/once/tokens", "{}")["token"]?.string)
        #expect(first != second)
        for path in ["operators", "operators/once", "operator", "audit"] {
            let text = try await owner.get(path).text
            #expect(!text.contains("fedop_"), "\(path): \(text)")
            #expect(!text.contains("token_hash") && !text.contains("hash"), "\(path): \(text)")
        }
        let words = [first, second].map { "'\($0.dropFirst(6))'" }.joined(separator: ", ")
        #expect(try await deployment.database.psql("select * from canaries(\(words))") == [])
        let stored = try await deployment.value(
            "select count(*) from federation.operator_tokens where token_hash = sha256(convert_to('\(first)', 'UTF8'))"
        )
        #expect(stored == "1", "its SHA-256 is what is kept")
    }

    @Test(
        "another role counts from the next request on, in either direction, and so does the loss of a token or an operator"
    )
    func atOnce() async throws {
        let owner = try await deployment.admin()
        let ann = try await make("ann", .viewer)
        let change = ("PATCH", "applications/demo", #"{"name": "Ann's"}"#)
        try expectProblem(try await ann.send(change.0, change.1, change.2), "operator_forbidden")
        try await owner.ask("PATCH", "operators/ann", #"{"role": "owner"}"#)
        #expect(try await ann.send(change.0, change.1, change.2).status == 200)
        #expect(try await ann.get("operator")["role"]?.string == "owner")
        try await owner.ask("PATCH", "operators/ann", #"{"role": "viewer"}"#)
        try expectProblem(try await ann.send(change.0, change.1, change.2), "operator_forbidden")

        let other = try await owner.ask("POST", "operators/ann/tokens", "{}")
        let second = deployment.admin(token: try #require(other["token"]?.string))
        #expect(try await second.send("GET", "applications").status == 200)
        try await owner.ask("DELETE", "operators/ann/tokens/\(try #require(other["id"]?.string))")
        try expectProblem(try await second.elsewhere.send("GET", "applications"), "operator_token_invalid")
        #expect(try await ann.send("GET", "applications").status == 200, "the other token is none the worse")
        try await owner.ask("DELETE", "operators/ann")
        try expectProblem(try await ann.elsewhere.send("GET", "applications"), "operator_token_invalid")
        // A later operator with the same name inherits nothing.
        _ = try await make("ann", .owner)
        try expectProblem(try await ann.elsewhere.send("GET", "applications"), "operator_token_invalid")
    }

    @Test("a token ends when it was said to, and what makes no sense as a time is refused")
    func expiry() async throws {
        let owner = try await deployment.admin()
        let brief = try await make("brief", .viewer, #", "expiresInSeconds": 60"#)
        #expect(try await brief.send("GET", "applications").status == 200)
        let expires = try #require(
            try await owner.get("operators/brief")["tokens"]?.array?.first?.object?["expires"]?.integer
        )
        let now = try #require(try await deployment.value("select (extract(epoch from now()) * 1000)::bigint"))
        #expect((0...60_000).contains(expires - (Int64(now) ?? 0)))
        try await deployment.database.psql(
            "update federation.operator_tokens set expires = now() + interval '1 second' where operator = 'brief'"
        )
        #expect(try await brief.send("GET", "applications").status == 200, "until the moment comes")
        try await eventually("the token has ended", every: .milliseconds(100)) {
            try await brief.elsewhere.send("GET", "applications").status == 401
        }
        for wrong in ["0", "-1", "59", "1.5", #""60""#, "true", "1e400", "99999999999999999999", "9223372036854775807"]
        {
            let reply = try await owner.send(
                "POST",
                "operators",
                #"{"name": "never", "role": "viewer", "expiresInSeconds": \#(wrong)}"#
            )
            try expectProblem(reply, oneOf: ["document_invalid", "malformed_request"], "\(wrong)")
        }
        #expect(try await owner.send("GET", "operators/never").status == 404)
    }

    @Test("who fails again and again has to wait, is told how long, and nobody else has to")
    func slowed() async throws {
        let worker = try await deployment.admin(.viewer)
        #expect(try await worker.send("GET", "applications").status == 200)
        // The address is that of the operator at work.
        let guesser = deployment.admin(token: "fedop_" + String(repeating: "A", count: 43))
        var statuses: [Int] = []
        var failures: [(sent: ContinuousClock.Instant, answered: ContinuousClock.Instant)] = []
        for _ in 0..<12 {
            let sent = ContinuousClock.now
            let reply = try await guesser.send("GET", "applications")
            if reply.status == 401 { failures.append((sent, .now)) }
            try expectProblem(reply, oneOf: ["operator_token_invalid", "rate_limited"])
            statuses.append(reply.status)
            #expect(try await worker.send("GET", "applications").status == 200, "an operator at work is not locked out")
        }
        #expect(statuses.prefix(3).allSatisfy { $0 == 401 }, "\(statuses)")
        #expect(statuses.contains(429), "\(statuses)")
        // A wait of 1 s, 2 s, 4 s … follows each failure from the fifth on. Requests on a busy machine may outlast it.
        var wait = Duration.seconds(1)
        for (failure, next) in zip(failures.dropFirst(4), failures.dropFirst(5)) {
            #expect(next.answered - failure.sent >= wait, "\(statuses)")
            wait *= 2
        }
        try expectProblem(try await guesser.elsewhere.send("GET", "applications"), "operator_token_invalid")

        // The wait lasts as long as announced, and no longer.
        let seconds = try await eventually("it is told how long") {
            try await guesser.send("GET", "applications").header("Retry-After").flatMap { Int($0) }
        }
        #expect((1...60).contains(seconds))
        try await eventually("the wait is over", within: .seconds(seconds + 5), every: .milliseconds(200)) {
            try await guesser.send("GET", "applications").status == 401
        }
        #expect(deployment.service.process.standardOutput.contains("127.0.0.1"), "the log says who was slowed down")
    }

    @Test("names and roles that are none are refused, and nothing of them is made")
    func names() async throws {
        let owner = try await deployment.admin()
        let long = String(repeating: "a", count: 65)
        try await deployment.expectNothingWritten(except: ["federation.operator_tokens"]) {
            for name in ["", " ", "-a", "a b", "a/b", "a'b", "a\"b", "a\u{0}b", "\u{E4}", long, "a;drop table x"] {
                let reply = try await owner.send(
                    "POST",
                    "operators",
                    #"{"name": \#(JSON.quoted(name)), "role": "viewer"}"#
                )
                try expectProblem(reply, oneOf: ["document_invalid", "malformed_request"], "\(name)")
            }
            for role in [#""admin""#, #""OWNER""#, #""""#, "null", "7", #"["owner"]"#] {
                let reply = try await owner.send("POST", "operators", #"{"name": "roleless", "role": \#(role)}"#)
                try expectProblem(reply, oneOf: ["document_invalid", "malformed_request"], "\(role)")
            }
            try expectProblem(
                try await owner.send("POST", "operators", #"{"name": "owner", "role": "viewer"}"#),
                "conflict",
                "a name is given once"
            )
        }
    }

    @Test("the command line does the same: it makes, lists, changes and revokes, and prints a token once")
    func commandLine() async throws {
        let made = try #require(
            JSON.object(try await deployment.command("set", "operators/bea", "role=editor", "--json"))
        )
        let bea = deployment.admin(token: try #require(made["token"]?.string))
        #expect(try await bea.elsewhere.get("operator")["role"]?.string == "editor")
        for arguments in [
            ["list", "operators"], ["list", "operators", "--json"], ["get", "operators/bea", "--json"],
        ] {
            let said = try await deployment.federation(arguments)
            #expect(said.exitStatus == .exited(0), "\(said.standardError)")
            #expect(said.standardOutput.contains("bea"), "\(said.standardOutput)")
            #expect(!said.standardOutput.contains("fedop_"))
        }
    }
}
