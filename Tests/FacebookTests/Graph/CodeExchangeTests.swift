import Curl
import Domain
import Encodings
@testable import Facebook
import GraphSimulator
import Providers
import Testing

@Suite("The exchange of an authorization code")
struct CodeExchangeTests {
    private static let redirect = "https://app.example.com/callback?x=1&y=ü#é"
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    /// The base64url of the verifier's SHA-256: the example of RFC 7636, appendix B.
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    @Test("a code becomes an access token, asked for by one form whose URL says nothing")
    func exchange() async throws {
        try await withFacebook { facebook in
            let code = try facebook.simulator.code(redirectURI: Self.redirect, codeChallenge: Self.challenge)
            let token = try await facebook.exchange(code, Self.redirect, verifier: Self.verifier)
            #expect(facebook.simulator.token(token.reveal()) != nil)
            let requests = facebook.simulator.requests()
            try #require(requests.count == 1)
            let request = requests[0]
            #expect(request.method == "POST")
            #expect(request.uri == "/v25.0/oauth/access_token")
            #expect(
                request.parameters.map(\.name) == [
                    "grant_type", "client_id", "client_secret", "redirect_uri", "code", "code_verifier",
                ]
            )
            #expect(
                request.parameters.map(\.value) == [
                    "authorization_code", Facebook.app, Facebook.secret, Self.redirect, code, Self.verifier,
                ]
            )
        }
    }

    @Test("what is wrong with a code is said by our reasons, and what to do about it")
    func refusals() async throws {
        try await withFacebook { facebook in
            func expect(
                _ reason: Failure.Reason,
                _ word: String,
                of code: String,
                redirect: String = Self.redirect,
                verifier: String? = nil,
                app: String = Facebook.app,
                secret: String = Facebook.secret,
                sourceLocation: SourceLocation = #_sourceLocation
            ) async {
                let failure = await #expect(throws: Failure.self, sourceLocation: sourceLocation) {
                    try await facebook.exchange(code, redirect, verifier: verifier, app: app, secret: secret)
                }
                #expect(failure?.reason == reason, "\(failure as Any)", sourceLocation: sourceLocation)
                #expect(failure?.message.contains(word) == true, "\(failure as Any)", sourceLocation: sourceLocation)
            }
            let simulator = facebook.simulator
            let code = try simulator.code(redirectURI: Self.redirect)
            await expect(.credentialInvalid, "redirect URI", of: code, redirect: "https://app.example.com/callback")
            await expect(.providerMisconfigured, "app secret", of: code, secret: "another")
            await expect(.providerMisconfigured, "app id", of: code, app: "999")
            _ = try await facebook.exchange(code, Self.redirect)
            await expect(.credentialInvalid, "already been used", of: code)

            let bound = try simulator.code(redirectURI: Self.redirect, codeChallenge: Self.challenge)
            await expect(.credentialInvalid, "codeVerifier", of: bound)
            let wrong = String(repeating: "a", count: 43)
            await expect(.credentialInvalid, "codeVerifier", of: bound, verifier: wrong)

            let old = try simulator.code(redirectURI: Self.redirect)
            simulator.advanceClock(bySeconds: 601)
            await expect(.credentialExpired, "expired", of: old)
            await expect(.credentialInvalid, "unchanged", of: "AQDmadeup")

            simulator.update(app: Facebook.app) { $0.desktop = true }
            let last = try simulator.code(redirectURI: Self.redirect)
            await expect(.providerMisconfigured, "desktop", of: last)
        }
    }

    @Test(
        "each error of Facebook's has its reason, whether it carries its subcode or its text alone",
        arguments: [
            (100, 36009, "x", Failure.Reason.credentialInvalid, "already been used"),
            (100, nil, "This authorization code has been used.", .credentialInvalid, "already been used"),
            (100, 36007, "x", .credentialExpired, "expired"),
            (100, nil, "This authorization code has expired.", .credentialExpired, "expired"),
            (100, 36008, "x", .credentialInvalid, "redirect URI"),
            (
                100, nil,
                """
                Error validating verification code. Please make sure your redirect_uri is identical to the one you used in the OAuth \
                dialog request
                """, .credentialInvalid, "redirect URI"
            ),
            (100, nil, "Invalid code_verifier parameter", .credentialInvalid, "codeVerifier"),
            (100, nil, "Invalid verification code format.", .credentialInvalid, "unchanged"),
            (
                191, nil, "Given URL is not permitted by the application configuration", .providerMisconfigured,
                "redirect"
            ),
            (101, nil, "Error validating application. Invalid application ID.", .providerMisconfigured, "app id"),
            (1, nil, "Error validating client secret.", .providerMisconfigured, "app secret"),
            (
                1, nil, "The request is invalid because the app is configured as a desktop app", .providerMisconfigured,
                "app"
            ),
            (4, nil, "(#4) Application request limit reached", .providerRateLimited, "Retry-After"),
            (2, nil, "(#2) Service temporarily unavailable", .providerUnavailable, "again"),
            (4711, nil, "x", .providerBadReply, "again"),
            (
                1, nil, "code_verifier param is provided without a code_challenge in authorization request.",
                .credentialInvalid, "Log in with Facebook again"
            ),
            (1, nil, "Invalid code verifier. It should be a random string.", .credentialInvalid, "codeVerifier"),
            (nil, nil, "This authorization code has been used.", .credentialInvalid, "already been used"),
            (nil, nil, "Error validating verification code.", .credentialInvalid, "unchanged"),
            (nil, nil, "Error validating client secret.", .providerMisconfigured, "app secret"),
        ] as [(Int?, Int?, String, Failure.Reason, String)]
    )
    func table(code: Int?, subcode: Int?, text: String, reason: Failure.Reason, word: String) async throws {
        let row = ErrorRow(
            call: .inspection,
            status: 400,
            code: code,
            subcode: subcode,
            message: text,
            reason: reason
        )
        let graph = try FakeGraph { _ in .reply(400, row.body) }
        defer { graph.stop() }
        let failure = await graph.failedExchange()
        #expect(failure?.reason == reason)
        #expect(failure?.message.contains(word) == true, "\(failure as Any)")
        #expect(failure?.details["graphCode"] == code.map { .integer(Int64($0)) })
        #expect(graph.count == 1)
    }

    @Test(
        "that Facebook has lost the dialog's challenge is told apart, and is no moment's trouble, whatever it calls it",
        arguments: ["", #", "is_transient": true"#]
    )
    func challengeLost(more: String) async throws {
        let text = "code_verifier param is provided without a code_challenge in authorization request."
        let graph = try FakeGraph { _ in
            .reply(400, #"{"error":{"message":"\#(text)","type":"OAuthException","code":1\#(more)}}"#)
        }
        defer { graph.stop() }
        for _ in 0...CircuitBreaker.longestRun {
            let lost = await #expect(throws: ChallengeLost.self) {
                try await graph.client.exchange(
                    "AQDcode",
                    Self.redirect,
                    verifier: Self.verifier,
                    app: Facebook.app,
                    secret: Facebook.secret
                )
            }
            #expect(lost?.failure.retryAfter == nil)
        }
        try await withFacebook { facebook in
            facebook.simulator.update(app: Facebook.app) { $0.dropChallenge = true }
            func code() throws -> String {
                try facebook.simulator.code(redirectURI: Self.redirect, codeChallenge: Self.challenge)
            }
            await #expect(throws: ChallengeLost.self) {
                try await facebook.exchange(try code(), Self.redirect, verifier: Self.verifier)
            }
            try await facebook.exchange(try code(), Self.redirect)
        }
    }

    @Test("a code that another login has claimed is not sent, and the login that could not claim it harms nobody")
    func claim() async throws {
        let graph = try FakeGraph { FakeGraph.good($0) }
        defer { graph.stop() }
        let taken = Failure(.credentialInvalid, "taken")
        for _ in 0...CircuitBreaker.longestRun {
            let failure = await #expect(throws: Failure.self) {
                try await graph.client.exchange(
                    "AQDcode",
                    Self.redirect,
                    verifier: nil,
                    app: Facebook.app,
                    secret: Facebook.secret
                ) { () throws(Failure) in throw taken }
            }
            #expect(failure?.message == "taken")
        }
        #expect(graph.count == 0)
    }

    @Test(
        "F-07: whatever becomes of the connection or the reply, the code is sent once, and the client is told to start over",
        arguments: [
            (.interrupt(.request, .reset), .providerUnavailable), (.interrupt(.request, .close), .providerUnavailable),
            (.interrupt(.request, .hang), .providerTimeout), (.interrupt(.headers, .reset), .providerUnavailable),
            (.interrupt(.body, .close), .providerUnavailable), (.html502, .providerUnavailable),
            (.empty, .providerBadReply), (.bareFalse, .providerBadReply),
            (.json(["token_type": "bearer"]), .providerBadReply),
            (.json(["access_token": 5]), .providerBadReply), (.json(["access_token": "a\r\nb"]), .providerBadReply),
            (.redirect(to: "/v25.0/oauth/access_token"), .providerBadReply),
        ] as [(GraphSimulator.Fault.Effect, Failure.Reason)]
    )
    func once(effect: GraphSimulator.Fault.Effect, reason: Failure.Reason) async throws {
        try await withFacebook(callTimeout: .milliseconds(400)) { facebook in
            // Without this call, a stale connection of an earlier call could be the reason for a second request.
            _ = try? await facebook.exchange("AQDmadeup", Self.redirect)
            facebook.simulator.clearRequests()
            facebook.simulator.add(.init(effect))
            let code = try facebook.simulator.code(redirectURI: Self.redirect)
            let failure = await #expect(throws: Failure.self) { try await facebook.exchange(code, Self.redirect) }
            #expect(failure?.reason == reason, "\(failure as Any)")
            #expect(failure?.message.contains("Start the login with Facebook again") == true)
            #expect(failure?.retryAfter != nil)
            #expect(facebook.simulator.requests(path: "oauth/access_token").count == 1)
        }
    }

    @Test("what cannot be a code or a verifier is not sent")
    func notSent() async throws {
        try await withFacebook { facebook in
            for code in ["", "a b", "a\r\nb", "é", String(repeating: "a", count: 4097)] {
                await #expect(throws: Failure.self) { try await facebook.exchange(code, Self.redirect) }
            }
            for verifier in [
                "", "short", String(repeating: "a", count: 129), String(repeating: "a", count: 42) + "&",
            ] {
                await #expect(throws: Failure.self) {
                    try await facebook.exchange("AQDcode", Self.redirect, verifier: verifier)
                }
            }
            await #expect(throws: Failure.self) {
                try await facebook.exchange("AQDcode", Self.redirect, secret: "a b")
            }
            #expect(facebook.simulator.requests().isEmpty)
        }
    }

    @Test("an exchange waits for nobody whom the circuit breaker keeps away, and a refused code does not feed it")
    func breaker() async throws {
        let graph = try FakeGraph { $0.path.hasSuffix("access_token") ? .reset : FakeGraph.good($0) }
        defer { graph.stop() }
        for _ in 0..<CircuitBreaker.longestRun { _ = await graph.failedExchange() }
        #expect(graph.count == CircuitBreaker.longestRun)
        #expect(await graph.failedExchange()?.reason == .providerUnavailable)
        #expect(graph.count == CircuitBreaker.longestRun)

        let refusing = try FakeGraph { _ in
            .reply(400, #"{"error":{"code":100,"message":"Invalid verification code format."}}"#)
        }
        defer { refusing.stop() }
        for _ in 0...CircuitBreaker.longestRun {
            #expect(await refusing.failedExchange()?.reason == .credentialInvalid)
        }
    }

    @Test("T-110: neither the code nor the secret nor the verifier is in any failure")
    func canary() async throws {
        for status in [200, 400, 500] {
            let graph = try FakeGraph { _ in
                .reply(
                    status,
                    #"{"error":{"code":100,"message":"CANARY","type":"CANARY x"},"access_token":"CANARY\n"}"#
                )
            }
            defer { graph.stop() }
            let text = String(
                reflecting: await graph.failedExchange(code: "CANARY", verifier: "CANARY" + Self.verifier)
            )
            #expect(!text.contains("CANARY"))
        }
    }
}

/// A simulator with one app and one user, and a client that uses it as Facebook.
private struct Facebook: Sendable {
    static let app = "1234567890"
    static let secret = "s3cret"

    let simulator: GraphSimulator
    let client: GraphClient

    @discardableResult
    func exchange(
        _ code: String,
        _ redirect: String,
        verifier: String? = nil,
        app: String = app,
        secret: String = secret
    ) async throws -> Secret {
        try await client.exchange(code, redirect, verifier: verifier, app: app, secret: secret)
    }
}

private func withFacebook(
    callTimeout: Duration = .seconds(30),
    _ body: (Facebook) async throws -> Void
) async throws {
    var dataset = GraphSimulator.Dataset()
    dataset.apps = [GraphSimulator.App(id: Facebook.app, secret: Facebook.secret)]
    dataset.people = [GraphSimulator.Person("ann", fields: ["first_name": "Ann"])]
    let simulator = try await GraphSimulator.start(dataset)
    let client = GraphClient(
        curl: try CurlClient(),
        configuration: try GraphConfiguration(baseURL: simulator.url, callTimeout: callTimeout)
    )
    do {
        try await body(Facebook(simulator: simulator, client: client))
    } catch {
        await simulator.stop()
        throw error
    }
    await simulator.stop()
}

extension GraphClient {
    fileprivate func exchange(
        _ code: String,
        _ redirect: String,
        verifier: String?,
        app: String,
        secret: String,
        claim: () throws(Failure) -> Void = {}
    ) async throws -> Secret {
        let id = try #require(ProviderAppID(app))
        let app = ProviderApp(id: id, secret: Secret(secret))
        let answer = try await exchange(
            AuthorizationCode(Secret(code), redirectURI: redirect, codeVerifier: verifier.map(Secret.init)),
            app: app,
            settings: FacebookSettings(enabled: true, graphVersion: "v25.0", proof: .timed, apps: [app]),
            application: try #require(ApplicationID("demo")),
            deadline: .now + .seconds(60)
        ) { () throws(Failure) in try claim() }
        switch answer {
        case .token(let token): return token
        case .challengeLost(let failure): throw ChallengeLost(failure: failure)
        }
    }
}

private struct ChallengeLost: Error {
    let failure: Failure
}

extension FakeGraph {
    /// Exchanges a code and returns the failure; nil when the exchange succeeds.
    fileprivate func failedExchange(code: String = "AQDcode", verifier: String? = nil) async -> Failure? {
        do {
            _ = try await client.exchange(
                code,
                "https://app.example.com/",
                verifier: verifier,
                app: "123",
                secret: "s3cret"
            )
            return nil
        } catch let lost as ChallengeLost {
            return lost.failure
        } catch {
            return error as? Failure
        }
    }
}
