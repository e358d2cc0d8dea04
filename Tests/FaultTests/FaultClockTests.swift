import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("The clock of one instance is wrong")
    struct Clock {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        @Test("F-29d: ten minutes and two days off, ahead and behind, while it runs: sessions go by the database's")
        func wrong() async throws {
            let straight = faults.instances[0]
            let visitor = try await faults.regulars(1)[0]
            let session = try #require(try await faults.logIn(visitor, at: straight).signedIn)
            try await FaultClock.with { clock in
                try await faults.withInstance(clock.environment) { skewed in
                    for offset: Int64 in [600, -600, 172_800, -172_800] {
                        try clock.set(offset)
                        let comment: Comment = "\(offset) s"
                        #expect(try await faults.isLive(session.token, at: skewed), comment)
                        try await eventually("its operator is told") {
                            let told = try await skewed.metric("federation_clock_offset_seconds")
                            return abs(told - Double(offset)) < 10
                        }

                        // The app secret proof contains the instance's time; Facebook accepts a proof for five minutes.
                        let refused = try await skewed.login(visitor)
                        try expectProblem(refused, "provider_misconfigured", comment)
                        #expect(refused.text.contains("the clock of the server"), comment)

                        // A login with an ID token gives a session of the usual lifetime, valid at both instances.
                        let token = try await idToken(of: try await faults.newcomers(1)[0])
                        let reply = try await skewed.login(body: #"{"idToken": "\#(token)"}"#)
                        switch offset {
                        case 600:
                            let signedIn = try skewed.signedIn(reply)
                            #expect(try await faults.isLive(signedIn.token, at: straight), comment)
                            #expect(try await lifetime(of: signedIn) == lifetime(of: session), comment)
                        case 172_800: try expectProblem(reply, "credential_expired", comment)
                        default: try expectProblem(reply, "credential_invalid", comment)
                        }
                        // An ID token that expired is refused here, too, if its age exceeds the clock's error.
                        let old = try await idToken(of: visitor, #", "iatOffset": -180000, "expOffset": -176400"#)
                        let late = try await skewed.login(body: #"{"idToken": "\#(old)"}"#)
                        try expectProblem(late, oneOf: ["credential_expired", "credential_invalid"], comment)
                        #expect(skewed.service.process.isRunning)
                    }
                    try clock.set(0)
                    try await eventually("it is as before") {
                        try await faults.logIn(visitor, at: skewed).signedIn != nil
                    }
                    noteMeasured("F-29d", "sessions live at both instances with one clock off by 600 s and 172,800 s")
                }
            }
            try await faults.checkInvariants()
        }

        private func idToken(of visitor: Visitor, _ members: String = "") async throws -> String {
            let reply = try await faults.simulator.control.post(
                "/id-tokens",
                json: #"{"person": "\#(visitor.key)"\#(members)}"#
            )
            try #require(reply.status == 201, "\(reply.text)")
            return try #require(JSON.object(reply.text)?["token"]?.string)
        }

        /// Returns the whole hours from now to the session's expiry.
        private func lifetime(of signedIn: LoginResult) async throws -> String? {
            try await faults.database.psql(
                """
                select round(extract(epoch from expires - now()) / 3600) from demo.sessions
                where token_hash = sha256(convert_to('\(signedIn.token)', 'UTF8'))
                """
            ).first?.first.flatMap(\.self)
        }
    }
}
