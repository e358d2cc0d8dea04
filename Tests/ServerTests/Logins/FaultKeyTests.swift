import Testing
import TestSupport

@testable import ServerTestSupport

@Suite(
    "F-12: Facebook's keys are away, slow, empty or rotated",
    .serialized,
    .deployed(Document(mapping: #"{"email": "email"}"#))
)
struct FaultKeyTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private var simulator: SimulatorProcess { deployment.simulator }

    /// Lends an instance that has not fetched keys yet.
    private func withFreshInstance(_ body: (ServiceProcess) async throws -> Void) async throws {
        // The limit of calls to Facebook is short; the service itself gets time enough on a busy machine.
        let limits = [
            "FEDERATION_GRAPH_CALL_MILLISECONDS": "1500", "FEDERATION_LOGIN_MILLISECONDS": "30000",
            "FEDERATION_DATABASE_LEASE_MILLISECONDS": "10000",
        ]
        try await deployment.withSecondInstance(environment: limits, body)
    }

    private func login(_ ann: Visitor, _ members: String = "", at instance: ServiceProcess) async throws -> HTTPReply {
        try await deployment.login(idToken: try await deployment.idToken(of: ann, members), at: instance)
    }

    private func login(_ ann: Visitor, signedBy key: String, at instance: ServiceProcess) async throws -> HTTPReply {
        try await login(ann, #""signWith": "\#(key)""#, at: instance)
    }

    private func fault(_ effect: String) -> String {
        #"{"effect": \#(effect), "path": "\#(SimulatorProcess.keysPath)"}"#
    }

    @Test(
        "F-12: as long as the keys cannot be had the answer is temporary and tells when to come back, and then logins work",
        arguments: [
            (#""reset""#, "provider_unavailable"), (#""hang""#, "provider_timeout"),
            (#""html502""#, "provider_unavailable"), (#""delay", "milliseconds": 3000"#, "provider_timeout"),
            (#""reply", "status": 200, "json": {"keys": []}"#, "provider_bad_reply"),
            (#""reply", "status": 200, "json": {"keys": {}}"#, "provider_bad_reply"),
            (#""reply", "status": 200, "json": {}"#, "provider_bad_reply"),
            (#""truncated""#, "provider_bad_reply"), (#""huge""#, "provider_bad_reply"),
            (#""redirect", "status": 301, "location": "https://www.facebook.com/keys/""#, "provider_misconfigured"),
        ]
    )
    func noKeys(effect: String, reason: String) async throws {
        let ann = try await deployment.newcomer()
        try await withFreshInstance { instance in
            let count = try await simulator.requestCount {
                try await simulator.withFault(fault(effect)) {
                    for _ in 0..<5 {
                        let token = try await deployment.idToken(of: ann)
                        let reply = try await deployment.login(idToken: token, at: instance)
                        try expectProblem(reply, reason, "\(effect)")
                    }
                }
            }
            #expect(count <= 2, "Facebook is not asked at each login")
            // The refusals did not use up the token.
            let token = try await deployment.idToken(of: ann)
            try await eventually("the keys are asked for again") {
                try await deployment.login(idToken: token, at: instance).status == 200
            }
        }
    }

    @Test("F-12: known keys count while the host is away, and others are asked for once a minute")
    func away() async throws {
        let ann = try await deployment.newcomer()
        try await withFreshInstance { instance in
            #expect(try await login(ann, at: instance).status == 200)
            for effect in [#""reset""#, #""reply", "status": 200, "json": {"keys": []}"#, #""html502""#] {
                let count = try await simulator.requestCount {
                    try await simulator.withFault(fault(effect)) {
                        for _ in 0..<5 {
                            let unknown = try await login(ann, #""signWith": "unknown""#, at: instance)
                            try expectProblem(unknown, oneOf: ["provider_unavailable"], "\(effect)")
                            #expect(try await login(ann, at: instance).status == 200)
                        }
                    }
                }
                #expect(count <= 1)
            }
            // The request for the first unknown key failed, and the other keys came within the following minute.
            let lines = instance.process.standardOutput.split(separator: "\n").filter { $0.contains("signing keys") }
            #expect(lines.count == 1)
            #expect(lines.first?.contains(#""level":"warning""#) == true, "\(lines)")
            #expect(lines.first?.contains("provider_unavailable") == true, "\(lines)")
        }
    }

    @Test("F-12: a slow host slows the first login only, and many first logins ask once")
    func slow() async throws {
        let ann = try await deployment.newcomer()
        try await withFreshInstance { instance in
            var tokens: [String] = []
            for _ in 0..<20 { tokens.append(try await deployment.idToken(of: ann)) }
            let count = try await simulator.requestCount {
                try await simulator.withFault(fault(#""delay", "milliseconds": 700"#)) {
                    try await withThrowingTaskGroup(of: HTTPReply.self) { group in
                        for token in tokens {
                            group.addTask { try await deployment.login(idToken: token, at: instance) }
                        }
                        for try await reply in group { #expect(reply.status == 200, "\(reply.text)") }
                    }
                    #expect(try await login(ann, at: instance).status == 200)
                }
            }
            #expect(count == 1)
        }
    }

    @Test("F-12, T-26: after a rotation both published keys count at once, and the one that is gone does not")
    func rotated() async throws {
        let ann = try await deployment.newcomer()
        try await withFreshInstance { instance in
            let before = try await simulator.keys
            for key in before { #expect(try await login(ann, signedBy: key, at: instance).status == 200) }
            let after = try await simulator.rotateKeys()
            #expect(after.first == before.last)
            let count = try await simulator.requestCount {
                // The oldest key was fetched before the rotation, and keys are not fetched again for some minutes.
                for key in [before[0]] + after.reversed() {
                    let status = try await login(ann, signedBy: key, at: instance).status
                    #expect(status == 200)
                }
            }
            #expect(count == 1)
            let gone = try await login(ann, signedBy: before[0], at: instance)
            try expectProblem(gone, "credential_invalid")
            #expect(try await login(ann, at: instance).status == 200)
        }
    }
}
