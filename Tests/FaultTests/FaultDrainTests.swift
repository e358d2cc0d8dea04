import Glibc
import Testing
import TestSupport

@testable import ServerTestSupport

extension FaultTests {
    @Suite("An instance is told to end")
    struct Drain {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        @Test("F-36: SIGTERM under load: no new connections, every accepted request gets its answer, exit 0")
        func terminate() async throws {
            let visitors = try await faults.newcomers(60)
            // The instance ends when all requests have responses, not at the drain's timeout.
            try await faults.withInstance(["FEDERATION_DRAIN_MILLISECONDS": "60000"]) { instance in
                try await faults.simulator.withFault(#"{"effect": "delay", "milliseconds": 1500}"#) {
                    let before = try await questions()
                    let idle = idleConnection(to: instance)
                    async let attempts = faults.logIn(visitors, at: instance)
                    async let slow = slowRequest(to: instance)
                    try await eventually("all of them are under way") {
                        try await questions() - before >= visitors.count * 2
                    }
                    let start = ContinuousClock.now
                    instance.service.process.send(signal: SIGTERM)
                    try await eventually("the listener closes") {
                        do {
                            _ = try await instance.service.client.get("/")
                            return false
                        } catch HTTPFailure.refused {
                            return true
                        }
                    }
                    #expect(instance.service.process.isRunning, "requests are under way")
                    faults.expectAllLoggedIn(try await attempts, "a request that was accepted was dropped")
                    let reply = try await slow
                    #expect(reply.contains("HTTP/1.1 400") && reply.contains("credential_missing"), "\(reply)")
                    #expect(await idle.value == .closed)
                    #expect(try await instance.service.process.waitForExit(within: .seconds(30)) == .exited(0))
                    let took = ContinuousClock.now - start
                    noteMeasured("F-36", "\(visitors.count) logins under way answered, ended after \(took.figure)")
                }
            }
            try await faults.checkInvariants()
        }

        /// Opens a connection that stays idle after one request, and returns how it ends.
        private func idleConnection(to instance: Deployment) -> Task<RawReply.End?, Never> {
            let request = "GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            return Task { try? await instance.client.exchange(request, within: .seconds(50)).end }
        }

        /// Sends a login without a credential whose body ends two seconds after its start.
        private func slowRequest(to instance: Deployment) async throws -> String {
            let head =
                "POST \(instance.path("users/loginWithFacebook")) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                + "Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{"
            let pieces = [Array(head.utf8), Array("}".utf8)]
            return try await instance.client.exchange(pieces, pause: .seconds(2), within: .seconds(50)).text
        }

        /// Returns the number of requests that Graph received; each login sends two.
        private func questions() async throws -> Int { try await faults.simulator.counter("requests") }
    }
}
