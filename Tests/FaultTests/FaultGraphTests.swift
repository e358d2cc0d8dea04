@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("Graph is slow, silent, down or broken")
    struct Graph {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        @Test("F-01: with every call of Graph taking 1.5 s, logins succeed, and sessions are checked meanwhile")
        func slow() async throws {
            let visitors = try await faults.newcomers(20) + faults.regulars(20)
            let session = try await faults.instances[0].loggedIn(visitors[39])
            try await faults.simulator.withFault(#"{"effect": "delay", "milliseconds": 1500}"#) {
                async let pending = faults.logIn(visitors)
                try await expectSessionsAnswer(session.token)
                let answered = ContinuousClock.now
                let attempts = try await pending
                #expect(attempts.contains { $0.end > answered }, "sessions wait for logins")
                // The service waits for Graph for four seconds at most.
                faults.expectAllLoggedIn(attempts)
                noteMeasured("F-01", attempts.figure)
            }
            try await faults.checkInvariants()
        }

        @Test("F-02: while Graph hangs, sessions are checked and others log in")
        func hangBesideOthers() async throws {
            let regular = try await faults.regulars(1)[0]
            let session = try await faults.instances[0].loggedIn(regular)
            let victims = try await faults.newcomers(40)
            // Only the test ends the hanging requests.
            let limits = [
                "FEDERATION_LOGIN_MILLISECONDS": "60000", "FEDERATION_GRAPH_CALL_MILLISECONDS": "50000",
                "FEDERATION_GRAPH_CONNECT_MILLISECONDS": "50000",
            ]
            try await faults.withInstance(limits) { instance in
                for victim in victims {
                    try await faults.simulator.order(#"{"effect": "hang", "token": "\#(victim.token)"}"#)
                }
                let before = try await faults.simulator.counter("requests")
                async let pending = faults.logIn(victims, at: instance)
                try await eventually("all of them hang") {
                    try await faults.simulator.counter("requests") - before >= victims.count * 2
                }
                #expect(try await faults.isLive(session.token, at: instance))
                #expect(try await instance.service.management.get("/health/ready").status == 200)
                let others = Array(repeating: regular, count: 20)
                faults.expectAllLoggedIn(try await faults.logIn(others, at: instance))
                let answered = ContinuousClock.now
                try await faults.simulator.heal()
                try await faults.simulator.closeConnections()
                let attempts = try await pending
                #expect(attempts.allSatisfy { $0.end > answered }, "they have hung all the while")
                // The service retries the request, unless too many were lost in a row.
                #expect(Set(attempts.problems.keys).isSubset(of: ["provider_unavailable"]), "\(attempts.problems)")
            }
            try await faults.checkInvariants()
        }

        @Test("F-02: when Graph hangs, the login ends in time and writes nothing, and others log in")
        func hang() async throws {
            let regular = try await faults.regulars(1)[0]
            let session = try await faults.instances[0].loggedIn(regular)
            var victims: [Visitor] = []
            for moment in ["request", "headers", "body"] {
                for path in ["me", "debug_token"] {
                    let victim = try await faults.newcomers(1)[0]
                    try await faults.simulator.order(
                        #"{"effect": "hang", "at": "\#(moment)", "path": "\#(path)", "token": "\#(victim.token)"}"#
                    )
                    victims.append(victim)
                }
            }
            let hung = victims
            async let attempts = faults.logIn(hung)
            try await expectSessionsAnswer(session.token)
            faults.expectAllLoggedIn(try await faults.logIn([regular, regular]))
            faults.expectAllRefused(try await attempts, ["provider_timeout"])
            noteMeasured("F-02", "refused after at most \((try await attempts.map(\.elapsed).max() ?? .zero).figure)")
            try await expectAbsent(hung)
            try await faults.checkInvariants()
        }

        @Test(
            "F-02: when Graph hangs on new connections, the login ends in time and writes nothing",
            arguments: ["accept", "firstBytes"]
        )
        func hangOnConnections(moment: String) async throws {
            let victims = try await faults.newcomers(4)
            try await faults.simulator.withFault(#"{"effect": "hang", "at": "\#(moment)"}"#) {
                try await faults.simulator.closeConnections()
                faults.expectAllRefused(try await faults.logIn(victims), ["provider_timeout"])
                try await expectAbsent(victims)
            }
            // A hanging connection keeps hanging; only new connections show that the fault has ended.
            try await faults.simulator.closeConnections()
            try await faults.checkInvariants()
        }

        @Test(
            "F-03: when Graph is down, logins are refused at once and Graph is left alone, until it is back",
            arguments: [
                #"{"effect": "error", "code": 1, "status": 500}"#, #"{"effect": "html502"}"#,
                #"{"effect": "error", "code": 2, "status": 503, "is_transient": true}"#,
            ]
        )
        func down(fault: String) async throws {
            let visitors = try await faults.newcomers(8)
            let session = try await faults.instances[0].loggedIn(try await faults.regulars(1)[0])
            try await faults.simulator.withFault(fault) {
                var (attempts, checks): ([LoginAttempt], [Duration]) = ([], [])
                let asked = try await faults.simulator.requestCount {
                    for _ in 0..<25 {
                        attempts += try await faults.logIn(visitors)
                        checks += try await checkTimes(of: session.token, count: visitors.count)
                    }
                }
                faults.expectAllRefused(attempts, ["provider_unavailable"])
                // Two calls per login, each with a retry, would be four times the number of logins.
                #expect(asked <= attempts.count * 11 / 10, "calls for \(attempts.count) logins")
                // With the circuit breaker open, only a probe takes longer than the service's own work, such as a
                // session check. Both are measured alternately, under the same load.
                let (late, check) = (attempts.suffix(100).map(\.elapsed).percentile(50), checks.percentile(50))
                #expect(late < check * 20)
                noteMeasured("F-03", "\(asked) calls for \(attempts.count) logins, half refused within \(late.figure)")
                try await expectAbsent(visitors)
            }
            try await faults.checkInvariants()
        }

        @Test("F-04: of logins with one call in ten failing, 98.5 % succeed, with at most 15 % more calls")
        func flaky() async throws {
            let seed = UInt32.random(in: 1...1_000_000)
            print("F-04: seed \(seed)")
            let visitors = try await faults.regulars(20)
            let fault = #"{"effect": "error", "code": 2, "status": 500, "percent": 10, "seed": \#(seed)}"#
            try await faults.simulator.withFault(fault) {
                var attempts: [LoginAttempt] = []
                let asked = try await faults.simulator.requestCount {
                    for _ in 0..<30 { attempts += try await faults.logIn(visitors) }
                }
                let problems = attempts.problems
                #expect(Set(problems.keys).isSubset(of: ["provider_unavailable"]), "seed \(seed)")
                #expect(problems.values.reduce(0, +) * 1000 <= attempts.count * 15, "seed \(seed)")
                #expect(asked * 100 <= attempts.count * 2 * 115, "seed \(seed)")
                noteMeasured("F-04", "\(attempts.figure), \(asked) calls for \(attempts.count * 2)")
            }
            try await faults.checkInvariants()
        }

        @Test(
            "F-07: a connection that ends once is no failure of a login: the question is asked again, once",
            arguments: ["reset", "close"],
            ["accept", "firstBytes", "request", "headers", "body"]
        )
        func brokenOnce(manner: String, moment: String) async throws {
            let visitor = try await faults.newcomers(1)[0]
            try await faults.simulator.withFault(#"{"effect": "\#(manner)", "at": "\#(moment)", "count": 1}"#) {
                // Calls of an earlier login may still use the connections that this closes.
                try await faults.simulator.closeConnections()
                let asked = try await faults.simulator.requestCount {
                    faults.expectAllLoggedIn([try await faults.logIn(visitor, at: faults.instances[0])])
                }
                // A connection that ends before its request arrived does not count a request.
                #expect(asked == (["accept", "firstBytes"].contains(moment) ? 2 : 3))
            }
        }

        @Test(
            "F-07: connections that always end refuse the login and write nothing",
            arguments: ["accept", "firstBytes", "request", "headers", "body"]
        )
        func brokenAlways(moment: String) async throws {
            let visitors = try await faults.newcomers(4)
            try await faults.simulator.withFault(#"{"effect": "reset", "at": "\#(moment)"}"#) {
                try await faults.simulator.closeConnections()
                faults.expectAllRefused(try await faults.logIn(visitors), ["provider_unavailable"])
                try await expectAbsent(visitors)
            }
            try await faults.checkInvariants()
        }

        @Test(
            "F-13: with one of the two answers good and the other one not, nothing is written",
            arguments: ["me", "debug_token"],
            [
                #""effect": "error", "code": 1, "status": 500"#, #""effect": "error", "code": 190, "status": 400"#,
                #""effect": "error", "code": 100, "status": 400"#, #""effect": "error", "code": 10, "status": 403"#,
                #""effect": "error", "code": 4, "status": 400"#, #""effect": "html502""#, #""effect": "empty""#,
                #""effect": "false""#, #""effect": "reply", "status": 404, "body": """#,
                #""effect": "merge", "json": {"id": "42", "data": {"user_id": "43"}}"#,
            ]
        )
        func oneOfTwo(path: String, fault: String) async throws {
            let newcomer = try await faults.newcomers(1)[0]
            let regular = try await faults.regulars(1)[0]
            for visitor in [newcomer, regular] {
                let fault = #"{\#(fault), "path": "\#(path)", "token": "\#(visitor.token)"}"#
                try await faults.simulator.withFault(fault) {
                    let instance = faults.instances[0]
                    try await instance.expectNothingWritten {
                        let attempt = try await faults.logIn(visitor, at: instance)
                        #expect(attempt.problem != nil)
                    }
                }
                // A rate limit that an application met opens the circuit breaker for a second.
                try await eventually("the circuit breaker is closed again", every: .milliseconds(100)) {
                    try await faults.logIn(regular, at: faults.instances[0]).signedIn != nil
                }
            }
        }

        /// Expects valid session checks at both instances; such a check needs only the database.
        private func expectSessionsAnswer(_ token: String) async throws {
            for instance in faults.instances {
                #expect(try await instance.get("users/isvalidusertoken/\(token)").text == "true")
                #expect(try await instance.service.management.get("/health/ready").status == 200)
            }
        }

        /// Measures concurrent session checks, alternating between both instances.
        private func checkTimes(of token: String, count: Int) async throws -> [Duration] {
            try await withThrowingTaskGroup(of: Duration.self) { group in
                for index in 0..<count {
                    let instance = faults.instances[index % faults.instances.count]
                    group.addTask {
                        let start = ContinuousClock.now
                        let isLive = try await faults.isLive(token, at: instance)
                        #expect(isLive)
                        return ContinuousClock.now - start
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }

        private func expectAbsent(_ visitors: [Visitor]) async throws {
            let subjects = visitors.map { "'\($0.id)'" }.joined(separator: ", ")
            let rows = try await faults.database.psql(
                "select subject from demo.identities where subject in (\(subjects))"
            )
            #expect(rows.isEmpty, "a login that failed wrote something")
        }
    }
}
