import Domain
import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Login by an authorization code of the client's own dialog",
    .serialized,
    .deployed(
        Document(
            options: #""redirectUris": ["https://app.example.com/cb", "fb1234567890://authorize"]"#,
            mapping: #"{"email": "email"}"#
        )
    )
)
struct CodeLoginTests {
    private static let redirect = "https://app.example.com/cb"

    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func login(_ code: String, _ redirect: String = redirect, more: String = "") async throws -> HTTPReply {
        try await deployment.login(body: #"{"code": "\#(code)", "redirectUri": \#(JSON.quoted(redirect))\#(more)}"#)
    }

    @Test("a person who comes by a code is the one who came by an access token")
    func samePerson() async throws {
        let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com", "first_name": "Ann"}"#)
        let first = try await deployment.loggedIn(ann)
        for redirect in [Self.redirect, "fb1234567890://authorize"] {
            let code = try await deployment.code(of: ann, redirectURI: redirect)
            let again = try deployment.signedIn(try await login(code, redirect))
            #expect(again.objectID == first.objectID)
            #expect(!again.created)
            #expect(again.user["email"] == first.user["email"])
        }
    }

    @Test("three calls, the code in the body of the first, and no secret in any URL but what debug_token wants there")
    func calls() async throws {
        let ann = try await deployment.newcomer()
        let code = try await deployment.code(of: ann, redirectURI: Self.redirect)
        let requests = try await deployment.simulator.requests {
            _ = try deployment.signedIn(try await login(code))
        }
        #expect(requests.map(\.path).sorted() == ["debug_token", "me", "oauth/access_token"])
        let exchange = try #require(requests.first { $0.path == "oauth/access_token" })
        #expect(exchange.method == "POST")
        #expect(exchange.uri == "/v25.0/oauth/access_token")
        #expect(exchange.values(of: "code") == [code])
        #expect(!requests.contains { $0.uri.contains(code) || $0.uri.contains("canary-secret") })
    }

    @Test("T-72: a redirect URI counts only to the byte, and with another one nobody is asked")
    func redirects() async throws {
        let code = try await deployment.code(of: try await deployment.newcomer(), redirectURI: Self.redirect)
        let requests = try await deployment.simulator.requests {
            try await deployment.expectNothingWritten {
                for redirect in [
                    "https://app.example.com/cb/", "https://app.example.com/cb?x=1", "https://app.example.com/CB",
                    "HTTPS://app.example.com/cb", "https://app.example.com:443/cb", "https://app.example.com/cb#",
                    " https://app.example.com/cb", "https://app.example.com@evil.example/cb", "//app.example.com/cb",
                    "https://app.example.com/%63b", "javascript:alert(1)", "https://app.example.com/cb\u{0301}",
                ] {
                    try expectProblem(try await login(code, redirect), "credential_invalid", "\(redirect)")
                }
                try expectProblem(try await deployment.login(body: #"{"code": "\#(code)"}"#), "credential_missing")
            }
        }
        #expect(requests.isEmpty)
        _ = try deployment.signedIn(try await login(code))
    }

    @Test("T-16: a used code, one of another app and one that has expired are refused, each alone and all together")
    func refused() async throws {
        let ann = try await deployment.newcomer()
        let used = try await deployment.code(of: ann, redirectURI: Self.redirect)
        _ = try deployment.signedIn(try await login(used))
        let foreign = try await deployment.simulator.control.post(
            "/codes",
            json: #"{"person": "\#(ann.key)", "app": "2345678901", "redirectUri": "\#(Self.redirect)"}"#
        )
        let foreignCode = try #require(JSON.object(foreign.text)?["code"]?.string)
        try await deployment.expectNothingWritten(except: ["demo.single_use"]) {
            try expectProblem(try await login(used), "credential_invalid")
            try expectProblem(try await login(foreignCode), "credential_invalid")
            try expectProblem(
                try await login(
                    try await deployment.code(of: ann, redirectURI: Self.redirect),
                    more: #", "appId": "1""#
                ),
                "provider_not_configured"
            )
            try expectProblem(try await login("made-up"), "credential_invalid")
        }
    }

    @Test("T-74: a code that was asked for with a challenge needs its verifier, and a wrong one has used it up")
    func verifier() async throws {
        let ann = try await deployment.newcomer()
        func code() async throws -> String {
            let reply = try await deployment.simulator.control.post(
                "/codes",
                json: """
                    {"person": "\(ann.key)", "app": "1234567890", "redirectUri": "\(Self.redirect)", "codeChallenge": "\(ProofKey.challenge)"}
                    """
            )
            return try #require(JSON.object(reply.text)?["code"]?.string)
        }
        let right = #", "codeVerifier": "\#(ProofKey.verifier)""#
        for verifier in ["", #", "codeVerifier": "\#(String(repeating: "a", count: 43))""#] {
            let code = try await code()
            try expectProblem(try await login(code, more: verifier), "credential_invalid")
            try expectProblem(try await login(code, more: right), "credential_invalid")
        }
        // A malformed verifier is not sent to Facebook, so the code is not used up.
        let last = try await code()
        try expectProblem(try await login(last, more: #", "codeVerifier": "short""#), "credential_invalid")
        _ = try deployment.signedIn(try await login(last, more: right))
    }

    @Test(
        "T-16: a code that came once is refused without asking Facebook again, on every instance, whatever became of it first",
        arguments: [
            nil, #""effect": "reset", "at": "request""#, #""effect": "error", "code": 2"#,
            #""effect": "error", "code": 100"#,
        ]
    )
    func replayed(fault: String?) async throws {
        try await withSecondInstance(of: deployment) { other in
            let ann = try await deployment.newcomer()
            let code = try await deployment.code(of: ann, redirectURI: Self.redirect)
            if let fault {
                let first = try await deployment.simulator.withFault(#"{\#(fault), "path": "oauth/access_token"}"#) {
                    try await login(code)
                }
                #expect(first.status >= 400)
            } else {
                _ = try deployment.signedIn(try await login(code))
            }
            let requests = try await deployment.simulator.requests {
                try await deployment.expectNothingWritten {
                    for client in [deployment.client, other] {
                        let reply = try await client.post(
                            deployment.path("users/loginWithFacebook"),
                            json: #"{"code": "\#(code)", "redirectUri": "\#(Self.redirect)"}"#,
                            headers: [("Idempotency-Key", "again")]
                        )
                        try expectProblem(reply, "credential_invalid")
                        #expect(reply.text.contains("has already been used"))
                    }
                }
            }
            #expect(requests.isEmpty)
        }
    }

    @Test("the hash of a code is all that is kept of it, for an hour")
    func kept() async throws {
        let code = try await deployment.code(of: try await deployment.newcomer(), redirectURI: Self.redirect)
        _ = try deployment.signedIn(try await login(code))
        let hash = "encode(sha256('\(code)'), 'hex')"
        let row = try await deployment.value(
            """
            select concat(encode(hash, 'hex') = \(hash), ' ', payload is null, ' ', owner is null, ' ', expires - used)
            from demo.single_use where kind = 'code' and hash = sha256('\(code)')
            """
        )
        #expect(row == "t t t 01:00:00")
    }

    @Test("F-07: when the connection breaks after the request, the exchange was seen once, and the login starts over")
    func reset() async throws {
        let ann = try await deployment.newcomer()
        for effect in [#""effect": "reset", "at": "request""#, #""effect": "reset", "at": "headers""#] {
            let code = try await deployment.code(of: ann, redirectURI: Self.redirect)
            let requests = try await deployment.simulator.requests {
                try await deployment.simulator.withFault(#"{\#(effect), "path": "oauth/access_token"}"#) {
                    let reply = try await login(code)
                    try expectProblem(reply, "provider_unavailable")
                    #expect(reply.text.contains("Start the login with Facebook again"))
                }
            }
            #expect(requests.count == 1)
        }
    }

    @Test("T-60: of 50 uses of one code at once over two instances one succeeds")
    func race() async throws {
        try await withSecondInstance(of: deployment) { other in
            for _ in 0..<2 {
                let ann = try await deployment.newcomer()
                let code = try await deployment.code(of: ann, redirectURI: Self.redirect)
                let body = #"{"code": "\#(code)", "redirectUri": "\#(Self.redirect)"}"#
                let replies = try await atOnce(50) { index in
                    try await (index.isMultiple(of: 2) ? deployment.client : other).post(
                        deployment.path("users/loginWithFacebook"),
                        json: body
                    )
                }
                #expect(replies.count { $0.status == 200 } == 1)
                for reply in replies where reply.status != 200 { try expectProblem(reply, "credential_invalid") }
                let sessions = try await deployment.value(
                    "select count(*) from demo.sessions join demo.identities using (object_id) where identities.subject = '\(ann.id)'"
                )
                #expect(sessions == "1")
            }
        }
    }
}

/// Lends the client of a second instance on the same database and the same simulator.
func withSecondInstance(
    of deployment: Deployment,
    environment: [String: String] = [:],
    _ body: (HTTPClient) async throws -> Void
) async throws {
    let service = try await ServiceProcess.start(
        environment: Deployment.environment(database: deployment.database)
            .merging(deployment.simulator.environment) { _, new in new }
            .merging(environment) { _, new in new }
    )
    do {
        try await body(service.client)
    } catch {
        try? await service.process.kill()
        throw error
    }
    #expect(try await service.process.terminate() == .exited(0))
}

/// Runs a closure many times concurrently.
func atOnce<Result: Sendable>(
    _ count: Int,
    _ body: @escaping @Sendable (Int) async throws -> Result
) async throws -> [Result] {
    try await withThrowingTaskGroup(of: Result.self) { group in
        for index in 0..<count { group.addTask { try await body(index) } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}
