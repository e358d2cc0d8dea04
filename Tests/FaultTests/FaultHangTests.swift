import Testing
import TestSupport

@testable import ServerTestSupport

extension FaultTests {
    @Suite("Graph hangs, and everybody logs in")
    struct Hang {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        // Measured: 151 to 154 MiB of the release build, of which an idle service has 58. The debug build's unoptimised
        // code has larger frames.
        private static let memoryLimit = (PackageLayout.drivesRelease ? 165 : 200) << 20

        @Test("F-02, F-39: 1000 logins while Graph hangs: each ends in time, nothing is written, all else works")
        func thousandInFlight() async throws {
            let visitors = try await faults.newcomers(1000)
            let session = try await faults.instances[0].loggedIn(try await faults.regulars(1)[0])
            // The limits are long enough that a busy machine serves all other requests first.
            let limits = [
                "FEDERATION_LOGIN_MILLISECONDS": "9000", "FEDERATION_GRAPH_CALL_MILLISECONDS": "6000",
                "FEDERATION_GRAPH_CONNECT_MILLISECONDS": "6000",
            ]
            try await faults.withInstance(limits) { instance in
                try await instance.expectNothingWritten {
                    try await faults.simulator.withFault(#"{"effect": "hang"}"#) {
                        async let attempts = faults.logIn(visitors, at: instance)
                        try await eventually("logins are in flight") { try await inFlight() >= 200 }
                        for _ in 0..<3 {
                            #expect(try await instance.get("users/isvalidusertoken/\(session.token)").text == "true")
                            #expect(try await instance.service.management.get("/health/ready").status == 200)
                            #expect(try await instance.service.management.get("/health/live").status == 200)
                        }
                        let answered = ContinuousClock.now
                        let ended = try await attempts
                        // Three times the limit of a login.
                        faults.expectAllRefused(
                            ended,
                            ["provider_timeout", "provider_unavailable"],
                            within: .seconds(27)
                        )
                        #expect(ended.allSatisfy { $0.end > answered }, "what is asked beside waits for logins")
                        let timedOut = ended.filter { $0.problem == "provider_timeout" }
                        #expect(timedOut.count >= 500, "those that had begun before the way closed")
                    }
                }
                let usage = try instance.service.process.usage()
                #expect(usage.peakResidentBytes <= Self.memoryLimit, "\(usage.peakResidentBytes >> 20) MB")
                noteMeasured("F-39", "1000 logins that hang take \(usage.peakResidentBytes >> 20) MB at the peak")
                try await faults.simulator.closeConnections()
                try await eventually("logins succeed again") {
                    try await faults.logIn(visitors[0], at: instance).signedIn != nil
                }
            }
            try await faults.checkInvariants()
        }

        /// Returns the number of logins that wait for Graph; each holds two connections.
        private func inFlight() async throws -> Int { try await faults.simulator.counter("openConnections") / 2 }
    }
}
