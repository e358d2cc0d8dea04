@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("Graph refuses")
    struct Refusals {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        @Test(
            "F-10: a rate limit of Graph's is passed on as 503 with a time to wait, and nothing is written",
            arguments: [
                #""code": 4"#, #""code": 4, "status": 403"#, #""code": 17"#, #""code": 32"#, #""code": 613"#,
                #""code": 4, "status": 429, "retryAfter": 2"#,
            ]
        )
        func rateLimit(limit: String) async throws {
            let visitors = try await faults.newcomers(4)
            try await faults.simulator.withFault(#"{"effect": "rateLimit", \#(limit)}"#) {
                try await faults.instances[0].expectNothingWritten {
                    faults.expectAllRefused(try await faults.logIn(visitors), ["provider_rate_limited"])
                }
            }
            try await faults.checkInvariants()
        }

        @Test("F-10: while the limit lasts, Graph is asked about one login a second by each instance")
        func storm() async throws {
            let visitors = try await faults.newcomers(8)
            try await faults.simulator.withFault(#"{"effect": "rateLimit", "code": 4}"#) {
                // The first logins meet the limit, as do those that run at the same time.
                faults.expectAllRefused(try await faults.logIn(visitors), ["provider_rate_limited"])
                let start = ContinuousClock.now
                let before = try await faults.simulator.counter("requests")
                var (logins, asked) = (0, 0)
                // A login sends two requests, so at least two probes: one of each instance, or two of one.
                try await eventually("a probe finds out whether the limit has ended, and another one") {
                    let attempts = try await faults.logIn(visitors)
                    faults.expectAllRefused(attempts, ["provider_rate_limited"])
                    logins += attempts.count
                    asked = try await faults.simulator.counter("requests") - before
                    return asked >= 4 && logins >= 200
                }
                let seconds = Int((ContinuousClock.now - start).components.seconds) + 1
                // The incomplete first second allows one more login.
                #expect(asked <= 2 * faults.instances.count * (seconds + 1), "\(logins) logins in \(seconds) s")
                #expect(asked < logins)
            }
            try await faults.checkInvariants()
        }

        @Test(
            "F-11: a bad token is the person's error: refused with 401, asked once, and the way stays open for others"
        )
        func badTokens() async throws {
            let regular = try await faults.regulars(1)[0]
            let victims = try await faults.newcomers(40)
            let instance = faults.instances[0]
            let fault = #"{"effect": "error", "code": 190, "subcode": 463, "status": 400, "path": "PATH"}"#
            for path in ["me", "debug_token"] {
                try await faults.simulator.order(fault.replacing("PATH", with: path))
            }
            try await instance.expectNothingWritten {
                let asked = try await faults.simulator.requestCount {
                    var attempts: [LoginAttempt] = []
                    for victim in victims { attempts.append(try await faults.logIn(victim, at: instance)) }
                    faults.expectAllRefused(attempts, ["credential_expired"])
                }
                #expect(asked == victims.count * 2, "no question is repeated, and none left out")
            }
            try await faults.simulator.heal()
            faults.expectAllLoggedIn([try await faults.logIn(regular, at: instance)])
            try await faults.checkInvariants()
        }
    }
}
