import Curl
import Graph
import Identity
import Logging
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Federation

@Suite("Facebook's signing keys")
struct SigningKeysTests {
    @Test("keys that are to be refreshed beside a login and cannot be are a warning, one a try, and the login goes on")
    func failedRefresh() async throws {
        let simulator = try await SimulatorProcess.start()
        let log = Log()
        let age = NIOLockedValueBox(Duration.zero)
        let begin = ContinuousClock.now
        let graph = GraphClient(
            curl: try CurlClient(),
            configuration: try GraphConfiguration(
                baseURL: simulator.url,
                keysURL: simulator.url + "/.well-known/oauth/openid/jwks/"
            )
        )
        let keys = SigningKeys(
            graph: graph,
            logger: Logger(label: "test") { _ in log },
            now: { begin + age.withLockedValue { $0 } }
        )
        let listed = try await simulator.control.get("/keys")
        let object = try JSONParser.parse(listed.text, limits: .stored).object
        let id = try #require(object?["keys"]?.array?.first?.string)
        func login() async throws { _ = try await keys.key(id, until: .now + .seconds(20)) }

        try await login()
        age.withLockedValue { $0 = .seconds(13 * 3600) }
        let fault = #"{"effect": "html502", "path": ".well-known/oauth/openid/jwks"}"#
        try #require(try await simulator.control.post("/faults", json: fault).status == 201)
        for round in 1...2 {
            for _ in 0..<3 { try await login() }
            try await eventually("the failure is told") { log.lines.count >= round }
            // The pause after a failure is not over: whoever comes now does not ask.
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
}

/// Keeps what is logged.
private final class Log: LogHandler {
    private let kept = NIOLockedValueBox<[String]>([])
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    var lines: [String] { kept.withLockedValue { $0 } }

    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let members = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        kept.withLockedValue { $0.append("\(event.level) \(event.message) \(members)") }
    }
}
