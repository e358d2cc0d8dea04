import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "How much a source, a network and an application may do",
    .serialized,
    .deployed(
        Document(hasServerKey: true, mapping: #"{"email": "email"}"#),
        Document(application: "game", mapping: #"{"email": "email"}"#),
        environment: [
            "FEDERATION_TRUSTED_PROXIES": "1",
            "FEDERATION_LIMIT_LOGIN_SOURCE": "1/h burst 3",
            "FEDERATION_LIMIT_LOGIN_NETWORK": "1/h burst 7",
            "FEDERATION_LIMIT_MAIL_APPLICATION": "1/h burst 5",
            "FEDERATION_LIMIT_QUERY_SOURCE": "1/h burst 2",
        ]
    )
)
struct RateLimitTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private var game: Document { deployment.documents[1] }

    private func from(_ source: String) -> [(String, String)] { [("X-Forwarded-For", source)] }

    @Test(
        "a source that has used up its burst asks no provider and writes nothing; others go on, and so do its sessions"
    )
    func source() async throws {
        let visitor = try await deployment.newcomer()
        var sessions: [LoginResult] = []
        for _ in 0..<3 { sessions.append(try await deployment.loggedIn(visitor, headers: from("192.0.2.1"))) }
        let asked = try await deployment.simulator.requestCount {
            try await deployment.expectNothingWritten {
                for _ in 0..<5 {
                    let reply = try await deployment.login(visitor, headers: from("192.0.2.1"))
                    let data = try expectProblem(reply, "rate_limited")
                    #expect(data["limit"]?.string == "login.source")
                    #expect((1...3600).contains(reply.header("Retry-After").flatMap { Int($0) } ?? 0))
                }
            }
        }
        #expect(asked == 0)
        #expect(try await deployment.isValid(sessions[2].token), "sessions are not counted")
        _ = try await deployment.loggedIn(visitor, headers: from("192.0.2.2"))
        _ = try await deployment.loggedIn(visitor, to: game, headers: from("192.0.2.1"))
    }

    @Test("T-85: whichever road it comes by, it is one limit, and a body that is none counts as well")
    func roads() async throws {
        let source = from("192.0.2.10")
        let paths = ["users/loginWithFacebook", "users/social/facebook/sdk/login", "users/nonce"]
        for path in paths {
            let reply = try await deployment.send("POST", path, "{}", headers: source)
            #expect(reply.status != 429, "\(path): \(reply.text)")
        }
        for path in paths + ["users/oauth/facebook/login", "users/oauth/facebook/reverse_auth", "register"] {
            try expectProblem(try await deployment.send("POST", path, "no JSON", headers: source), "rate_limited")
        }
        let start = try await deployment.send("GET", "users/oauth/facebook/start", headers: source)
        #expect(start.status == 429, "\(start.status) \(start.text)")
    }

    @Test("T-80: all addresses of a /64 are one source, however they are spelt, and all of a /48 have a limit together")
    func networks() async throws {
        func status(_ source: String) async throws -> Int {
            try await deployment.login(body: "{}", headers: from(source)).status
        }
        let spellings = ["2001:db8:1:1::1", "2001:0DB8:0001:0001:0:0:0:2", "[2001:db8:1:1:ffff::3]:443"]
        for spelling in spellings { #expect(try await status(spelling) == 400) }
        #expect(try await status("2001:db8:1:1:ffff::1") == 429)
        for network in 2...5 { #expect(try await status("2001:db8:1:\(network)::1") == 400) }
        let reply = try await deployment.login(body: "{}", headers: from("2001:db8:1:6::1"))
        #expect(try expectProblem(reply, "rate_limited")["limit"]?.string == "login.network")
        #expect(try await status("2001:db8:2:1::1") == 400)
    }

    @Test("an application's limit counts all of its sources, and no other application's")
    func application() async throws {
        func ask(_ number: Int, of document: Document?) async throws -> HTTPReply {
            try await deployment.send(
                "GET",
                "users/restorepassword/nobody%40example.com",
                to: document,
                headers: from("198.51.100.\(number)")
            )
        }
        for number in 1...5 { #expect(try await ask(number, of: nil).status != 429) }
        let reply = try await ask(6, of: nil)
        let data = try expectProblem(reply, "rate_limited")
        #expect(data["limit"]?.string == "mail.application")
        #expect(try await ask(6, of: game).status != 429)
    }

    @Test("a server of the application's is no source: everybody comes through it")
    func server() async throws {
        for round in 1...4 {
            let plain = try await deployment.send("GET", "data/Users/count", headers: from("192.0.2.30"))
            #expect((plain.status == 429) == (round > 2), "\(round): \(plain.status)")
            let server = try await deployment.send(
                "GET",
                "data/Users/count",
                key: Canary.serverAPIKey,
                headers: from("192.0.2.30")
            )
            #expect(server.status == 200, "\(server.text)")
        }
    }

    @Test("the administration counts whoever asks, with a token that counts, too")
    func administration() async throws {
        let environment = ["FEDERATION_LIMIT_ADMINISTRATION_SOURCE": "1/h burst 5"]
        try await withNewInstallation(environment: environment) { other in
            let admin = try await other.admin()
            for _ in 0..<5 { #expect(try await admin.send("GET", "log-level", nil).status == 200) }
            let data = try expectProblem(try await admin.send("GET", "log-level", nil), "rate_limited")
            #expect(data["limit"]?.string == "administration.source")
            #expect(try await other.service.management.get("/health/ready").status == 200)
        }
    }
}
