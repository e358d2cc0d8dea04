import Curl
import Domain
import Encodings
@testable import Facebook
import GraphSimulator
import Providers
import Testing

/// A timeout longer than any successful call takes, even on a busy machine.
private let timeout: Duration = .seconds(30)

@Suite("Checking the id and the secret of an app")
struct AppCheckTests {
    private static let secret = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    /// A time on 21 November 2026, when v21.0 is the oldest version.
    private static let now = 1_795_262_400

    /// Runs the check of an app against a simulator that has the app 1234567890.
    private func check(
        id: String = "1234567890",
        secret: String = secret,
        version: String = "v25.0",
        proof: ProofForm = .timed,
        clockIsOff seconds: Int64 = 0,
        callTimeout: Duration = timeout,
        _ prepare: (GraphSimulator) throws -> Void = { _ in },
        _ look: (GraphSimulator) throws -> Void = { _ in }
    ) async throws -> AppCheck {
        let simulator = try await GraphSimulator.start(
            GraphSimulator.Dataset(
                apps: [
                    GraphSimulator.App(id: "1234567890", secret: Self.secret, name: "Demo & Söhne"),
                    GraphSimulator.App(id: "2345678901", secret: "other", name: "Another"),
                ]
            ),
            clock: { Self.now }
        )
        do {
            try prepare(simulator)
            let client = GraphClient(
                curl: try CurlClient(),
                configuration: try GraphConfiguration(
                    baseURL: simulator.url,
                    callTimeout: callTimeout,
                    connectTimeout: timeout
                )
            )
            let check = try await client.check(
                id,
                secret,
                version: version,
                proof: proof,
                now: Int64(Self.now) + seconds
            )
            try look(simulator)
            await simulator.stop()
            return check
        } catch {
            await simulator.stop()
            throw error
        }
    }

    @Test(
        "a right app is called by its name, by two questions that carry the secret in no URL",
        arguments: ProofForm.allCases
    )
    func right(proof: ProofForm) async throws {
        let check = try await check(proof: proof) { simulator in
            simulator.update(app: "1234567890") { $0.requireProof = true }
        } _: { simulator in
            let requests = simulator.requests()
            #expect(requests.map(\.path) == ["1234567890", "debug_token"])
            #expect(requests.map(\.status) == [200, 200])
            for request in requests {
                #expect(request.uri.hasPrefix("/v25.0/"))
                #expect(!request.uri.contains(Self.secret))
                #expect(request.header("authorization") == "Bearer 1234567890|\(Self.secret)")
                #expect(request.parameter("appsecret_proof")?.utf8.count == 64)
                #expect((request.parameter("appsecret_time") != nil) == (proof == .timed))
            }
        }
        #expect(check.words == "right: Demo & Söhne")
        #expect(check.answeredVersion == "v25.0")
    }

    @Test("a wrong secret, a wrong id, another app's secret, and none")
    func wrong() async throws {
        let wrongSecret = try await check(secret: "0a1b2c3d4e5f60718293a4b5c6d7e8f0")
        #expect(
            wrongSecret.words.hasPrefix("wrong: Facebook knows the app 1234567890 but does not accept this app secret.")
        )
        #expect(try await check(id: "2345678901").words.contains("does not accept this app secret"))
        let wrongID = try await check(id: "999")
        #expect(wrongID.words.hasPrefix("wrong: Facebook has no app with the id 999."))
        #expect(wrongID.answeredVersion == "v25.0")
        for unfit in ["", "two words", "line\nbreak", "sécret"] {
            let check = try await check(secret: unfit) { _ in
            } _: { simulator in
                #expect(simulator.requests().isEmpty)
            }
            #expect(check.words.hasPrefix("wrong: The secret of the Facebook app is missing or has invalid characters"))
            #expect(check.answeredVersion == nil)
        }
    }

    @Test("a desktop app, a deleted one, and a version that does not exist")
    func unusable() async throws {
        let desktop = try await check { simulator in simulator.update(app: "1234567890") { $0.desktop = true } }
        #expect(desktop.words.contains("\"Native or desktop app\""))
        let deleted = try await check { simulator in
            let text = "Error validating application. Application has been deleted."
            simulator.add(.init(.error(.init(code: 190, message: text))))
        }
        #expect(deleted.words.hasPrefix("wrong: The app 1234567890 has been deleted at Facebook."))
        let version = try await check(version: "v99.0")
        #expect(version.words.hasPrefix("wrong: Facebook does not have the Graph version v99.0."))
        #expect(version.answeredVersion == nil)
    }

    @Test("an app that shows itself but may not ask about tokens is not right")
    func inspection() async throws {
        let refused = try await check { simulator in
            let text = "(#100) You must provide an app access token, or a user access token that is an owner"
            simulator.add(.init(.error(.init(code: 100, message: text)), path: "debug_token"))
        }
        #expect(refused.words.contains("\"Native or desktop app\""))
        let unknown = try await check { simulator in
            simulator.add(.init(.error(.init(code: 200)), path: "debug_token"))
        }
        #expect(unknown.words.hasPrefix("wrong: Facebook refuses the app 1234567890 with error 200."))
    }

    @Test("a clock that is wrong is told from a secret that is wrong")
    func clock() async throws {
        let late = try await check(clockIsOff: -600)
        #expect(
            late.words.hasPrefix("wrong: Facebook accepts the secret of the app 1234567890, but not the timed proof")
        )
        #expect(try await check(proof: .classic, clockIsOff: -600).words == "right: Demo & Söhne")
        #expect(try await check(clockIsOff: -200).words == "right: Demo & Söhne")
    }

    @Test("a version that has ended is answered by another one, which is named")
    func endedVersion() async throws {
        let check = try await check(version: "v19.0")
        #expect(check.words == "right: Demo & Söhne")
        #expect(check.answeredVersion == "v21.0")
    }

    @Test(
        "when Graph does not answer, nothing is said of the app",
        arguments: [
            (GraphSimulator.Fault.Effect.error(.init(code: 2)), "provider_unavailable"),
            (.error(.init(code: 190, isTransient: true)), "provider_unavailable"),
            (.error(.init(code: 4)), "provider_rate_limited"), (.error(.init(code: 17)), "provider_rate_limited"),
            (.error(.init(code: 9999)), "provider_bad_reply"),
            (.interrupt(.request, .reset), "provider_unavailable"), (.interrupt(.request, .hang), "provider_timeout"),
            (.reply(status: 502, headers: [], body: Array("<html>".utf8)), "provider_unavailable"),
            (.reply(status: 200, headers: [], body: Array(#"{"id":"2345678901"}"#.utf8)), "provider_bad_reply"),
        ]
    )
    func unknown(effect: GraphSimulator.Fault.Effect, reason: String) async throws {
        for path in ["1234567890", "debug_token"] {
            let limit: Duration = reason == "provider_timeout" ? .milliseconds(500) : timeout
            let check = try await check(callTimeout: limit) { $0.add(.init(effect, path: path)) }
            #expect(check.words == "unknown: \(reason)", "\(path)")
        }
    }

    @Test("after the deadline nothing is asked, and a cancelled check says nothing of the app")
    func limits() async throws {
        let graph = try FakeGraph(callTimeout: timeout) { _ in .silence }
        defer { graph.stop() }
        #expect(try await graph.client.check(deadline: .zero).words == "unknown: provider_timeout")
        #expect(graph.count == 0)
        let check = Task { try await graph.client.check() }
        #expect(await eventually { graph.count == 1 })
        check.cancel()
        #expect(try await check.value.words == "unknown: overloaded")
    }

    @Test("checks that fail open no circuit breaker of logins, and one that is open stops no check")
    func breaker() async throws {
        let script = Script([
            "/v25.0/123": Array(repeating: .reply(500, ""), count: 20)
        ])
        let graph = try FakeGraph(callTimeout: timeout) { script.next($0) }
        defer { graph.stop() }
        for _ in 0..<20 { #expect(try await graph.client.check().words == "unknown: provider_unavailable") }
        #expect(await graph.evidence().words == "token, user")

        let broken = try FakeGraph(callTimeout: timeout) {
            $0.path.hasSuffix("/123") ? .reply(200, #"{"id":123,"name":"Demo"}"#) : .reply(500, "")
        }
        defer { broken.stop() }
        _ = await broken.logins(10, atOnce: 1)
        let before = broken.count
        #expect(await broken.evidence().words == "provider_unavailable, provider_unavailable")
        #expect(broken.count == before)
        #expect(try await broken.client.check().words == "unknown: provider_unavailable")
        #expect(broken.count == before + 2)
    }

    @Test(
        "a name that cannot be shown is left out",
        arguments: ["", "\u{1B}[31mred", "line\nbreak", "\u{202E}drawkcab", String(repeating: "x", count: 257)]
    )
    func name(name: String) async throws {
        let text = JSONValue.object(["id": .string("123"), "name": .string(name)]).text
        let graph = try FakeGraph(callTimeout: timeout) {
            $0.path.hasSuffix("/123") ? .reply(200, text) : FakeGraph.good($0)
        }
        defer { graph.stop() }
        #expect(try await graph.client.check().words == "right: ")
    }

    @Test("what a check learns of usage and version is known afterwards")
    func noting() async throws {
        let graph = try FakeGraph(callTimeout: timeout) { request in
            let body =
                request.path.hasSuffix("/123")
                ? #"{"id":"123","name":"Demo"}"# : #"{"data":{"is_valid":false,"scopes":[]}}"#
            return .reply(200, body, headers: ["facebook-api-version: v26.0", #"x-app-usage: {"call_count":50}"#])
        }
        defer { graph.stop() }
        let check = try await graph.client.check()
        #expect(check.words == "right: Demo")
        #expect(check.answeredVersion == "v26.0")
        let (app, application) = (try #require(ProviderAppID("123")), try #require(ApplicationID("demo")))
        #expect(graph.client.answeredVersion(of: app, application: application, asked: "v25.0") == "v26.0")
        #expect(graph.client.backgroundPace(of: app, application: application) == .slow)
    }

    @Test("T-110: the secret is in nothing that comes out", arguments: [190, 100, 101, 1, 2, 4, 104, 2500, 9999])
    func canary(code: Int) async throws {
        let graph = try FakeGraph(callTimeout: timeout) { request in
            let quoted = request.header("Authorization") ?? ""
            return .reply(
                400,
                #"{"error":{"code":\#(code),"message":"Malformed \#(quoted)","type":"\#(quoted)","fbtrace_id":"\#(quoted)"}}"#,
                headers: ["facebook-api-version: \(quoted)"]
            )
        }
        defer { graph.stop() }
        let text = String(reflecting: try await graph.client.check(secret: "SECRETCANARY"))
        #expect(!text.contains("CANARY"))
    }
}

extension GraphClient {
    fileprivate func check(
        _ id: String = "123",
        _ secret: String = "s3cret",
        version: String = "v25.0",
        proof: ProofForm = .timed,
        deadline: Duration = timeout,
        now: Int64 = 1_700_000_000
    ) async throws -> AppCheck {
        let app = ProviderApp(id: try #require(ProviderAppID(id)), secret: Secret(secret))
        return await check(
            app: app,
            settings: FacebookSettings(enabled: true, graphVersion: version, proof: proof, apps: []),
            application: try #require(ApplicationID("demo")),
            deadline: .now + deadline,
            now: now
        )
    }

    fileprivate func check(secret: String) async throws -> AppCheck { try await check("123", secret) }
}

extension AppCheck {
    fileprivate var words: String {
        switch outcome {
        case .right(let name): "right: \(name ?? "")"
        case .wrong(let problem, let failure):
            failure.reason == .providerMisconfigured && failure.message == problem
                ? "wrong: \(problem)" : "inconsistent"
        case .unknown(let failure): "unknown: \(failure.reason.rawValue)"
        }
    }
}
