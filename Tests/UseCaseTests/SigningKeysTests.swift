@testable import Accounts
import Curl
import Domain
import Encodings
import Facebook
import Logging
import NIOConcurrencyHelpers
import SignedTokens
import Testing
import TestSupport

@Suite("Facebook's signing keys")
struct SigningKeysTests {
    private let age = NIOLockedValueBox(Duration.zero)
    private let log = Log()

    /// Returns the signing keys that a simulator publishes, with a clock that the test moves.
    private func keys(of simulator: SimulatorProcess) throws -> SigningKeys {
        let begin = ContinuousClock.now
        let graph = GraphClient(
            curl: try CurlClient(),
            configuration: try GraphConfiguration(
                baseURL: simulator.url,
                keysURL: simulator.url + "/.well-known/oauth/openid/jwks/"
            )
        )
        return SigningKeys(
            issuer: "Facebook",
            logger: Logger(label: "test") { [log] _ in log },
            now: { [age] in begin + age.withLockedValue { $0 } },
            fetch: { (deadline) throws(Failure) in try await graph.signingKeys(deadline: deadline) }
        )
    }

    /// Returns the ids of the published keys, the oldest first.
    private func published(by simulator: SimulatorProcess) async throws -> [String] {
        let listed = try await simulator.control.get("/keys")
        let object = try JSONParser.parse(listed.text, limits: .stored).object
        return try #require(object?["keys"]?.array).compactMap(\.string)
    }

    private static let fault = #"{"effect": "html502", "path": ".well-known/oauth/openid/jwks"}"#

    @Test("keys that are to be refreshed beside a login and cannot be are a warning, one a try, and the login goes on")
    func failedRefresh() async throws {
        let simulator = try await SimulatorProcess.start()
        let keys = try keys(of: simulator)
        let id = try #require(try await published(by: simulator).first)
        func login() async throws { _ = try await keys.key(id, until: .now + .seconds(20)) }

        try await login()
        age.withLockedValue { $0 = .seconds(6 * 60) }
        try #require(try await simulator.control.post("/faults", json: Self.fault).status == 201)
        for round in 1...2 {
            for _ in 0..<3 { try await login() }
            try await eventually("the failure is told") { log.lines.count >= round }
            // During the backoff after a failure no login fetches the keys.
            try await login()
            age.withLockedValue { $0 += .seconds(61) }
        }
        try #require(try await simulator.control.send("DELETE", "/faults").status < 300)
        try await login()
        try await eventually("the keys are fetched") {
            let requests = try await simulator.control.get("/requests")
            return try JSONParser.parse(requests.text, limits: .stored).array?.count == 4
        }
        #expect(log.lines.count == 2, "\(log.lines)")
        for line in log.lines {
            #expect(line.hasPrefix("warning signing keys could not be fetched"))
            #expect(line.contains("provider_unavailable"))
        }
        try await simulator.process.kill()
    }

    @Test(
        "F-12: a key that Facebook has withdrawn counts ten minutes at most, and on only while the keys cannot be had"
    )
    func withdrawn() async throws {
        let simulator = try await SimulatorProcess.start()
        let keys = try keys(of: simulator)
        let id = try #require(try await published(by: simulator).first)
        func login(seconds: Double = 20) async throws { _ = try await keys.key(id, until: .now + .seconds(seconds)) }

        try await login()
        try #require(try await simulator.control.post("/keys/rotate", json: "{}").status < 300)
        try #require(try await !published(by: simulator).contains(id))
        age.withLockedValue { $0 = .seconds(600) }
        try #require(try await simulator.control.post("/faults", json: Self.fault).status == 201)
        try await login()
        try #require(try await simulator.control.send("DELETE", "/faults").status < 300)
        // A response that is too late for the login removes no known key either.
        let slow = #"{"effect": "delay", "milliseconds": 60000, "path": ".well-known/oauth/openid/jwks"}"#
        try #require(try await simulator.control.post("/faults", json: slow).status == 201)
        age.withLockedValue { $0 += .seconds(61) }
        try await login(seconds: 0.5)
        try #require(try await simulator.control.send("DELETE", "/faults").status < 300)
        age.withLockedValue { $0 += .seconds(61) }
        let failure = await #expect(throws: Failure.self) { try await login() }
        #expect(failure?.reason == .credentialInvalid)
        try await simulator.process.kill()
    }
}
