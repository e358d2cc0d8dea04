import Glibc
@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("PostgreSQL crashes, stops, or loses a connection", .faulty(ownServer: true))
    struct Database {
        let faults: FaultDeployment
        let cluster: PostgresCluster

        init() throws {
            faults = try FaultDeployment.current
            cluster = try #require(faults.cluster)
        }

        @Test("F-20: kill -9 of one backend under load, which restarts the whole server: only 503, and soon none")
        func killedBackend() async throws {
            let attempts = try await faults.underLoad {
                for _ in 0..<3 {
                    // The fault is certain to matter when a login is inside PostgreSQL, where a lock holds it.
                    async let lock = try? faults.database.psql("begin; lock table demo.users; select pg_sleep(60)")
                    let pid = try await eventually("a login waits in PostgreSQL") { try await waiting().first }
                    cluster.killBackend(pid)
                    _ = await lock
                    // A killed backend stays listed until the server has restarted.
                    try await eventually("the server is back, and the service connected") {
                        let backends = try await backends()
                        return !backends.contains(pid) && !backends.isEmpty
                    }
                }
            }
            expectOnlyStoreFailures(attempts)
            noteMeasured("F-20", "three backends killed: \(attempts.figure)")
            try await faults.checkInvariants()
        }

        @Test("F-21: kill -9 of the server and restarts as in a crash, under load: no session that was given is lost")
        func crashes() async throws {
            let crashes = getenv("FEDERATION_TEST_LONG") == nil ? 4 : 20
            let attempts = try await faults.underLoad {
                for round in 0..<crashes {
                    if round.isMultiple(of: 2) {
                        try await cluster.killPostmaster()
                        try await cluster.start()
                    } else {
                        try await cluster.restart(.immediate)
                    }
                    try await eventually("logins succeed again") {
                        let visitor = try await faults.newcomers(1)[0]
                        return try await faults.logIn(visitor, at: faults.instances[round % 2]).signedIn != nil
                    }
                }
            }
            expectOnlyStoreFailures(attempts)
            try await faults.checkInvariants()
            noteMeasured("F-21", "\(crashes) crashes: \(attempts.figure), no session lost")
        }

        @Test(
            "F-22: a connection lost between COMMIT and its reply: an error or a session, and the same user next time"
        )
        func lostReply() async throws {
            try await withFaultyProxy(to: cluster.port) { proxy in
                let url = faults.database.url(throughPort: proxy.port)
                try await faults.withInstance(database: url) { instance in
                    for (round, visitor) in try await faults.newcomers(6).enumerated() {
                        // Prepare the login's statement on the connection that will break.
                        faults.expectAllLoggedIn([
                            try await faults.logIn(try await faults.newcomers(1)[0], at: instance)
                        ])
                        let found = "select upper(object_id::text) from demo.identities where subject = '\(visitor.id)'"
                        proxy.swallow(.toClient)
                        async let pending = faults.logIn(visitor, at: instance)
                        let written = try await eventually("the login is committed") {
                            try await instance.value(found)
                        }
                        try await proxy.cutAll(round.isMultiple(of: 2) ? .close : .reset)
                        try await proxy.heal()
                        let attempt = try await pending
                        #expect([nil, "store_unavailable"].contains(attempt.problem), "never sent again by itself")
                        let again = try await eventually("the login succeeds when repeated") {
                            try await faults.logIn(visitor, at: instance).signedIn
                        }
                        #expect(again.objectID == written)
                        #expect(!again.created)
                        let rows = try await faults.database.psql(found)
                        #expect(rows.count == 1)
                    }
                }
            }
            try await faults.checkInvariants()
        }

        @Test("F-23: with the server stopped, answers are 503 and quick, the process lives, and recovers by itself")
        func stopped() async throws {
            let visitors = try await faults.regulars(40)
            let session = try #require(try await faults.logIn(visitors[0], at: faults.instances[0]).signedIn)
            // Only the limit of the wait for a connection, one second, ends a login at this instance.
            try await faults.withInstance(["FEDERATION_LOGIN_MILLISECONDS": "60000"]) { patient in
                let instances = faults.instances + [patient]
                try await cluster.stop()
                let patiently = try await faults.logIn(visitors, at: patient)
                faults.expectAllRefused(patiently, ["store_unavailable"])
                for _ in 0..<2 {
                    let attempts = try await faults.logIn(visitors)
                    faults.expectAllRefused(attempts, ["store_unavailable"])
                    let slowest = attempts.map(\.elapsed).max() ?? .zero
                    noteMeasured("F-23", "forty logins at once refused after at most \(slowest.figure)")
                }
                for instance in instances {
                    let start = ContinuousClock.now
                    try expectProblem(
                        try await instance.get("users/isvalidusertoken/\(session.token)"),
                        "store_unavailable"
                    )
                    try expectProblem(
                        try await instance.get("users/\(session.objectID)", token: session.token),
                        "store_unavailable"
                    )
                    #expect(ContinuousClock.now - start < FaultDeployment.inTime)
                    #expect(try await instance.service.management.get("/health/live").status == 200)
                    #expect(try await instance.service.management.get("/health/ready").status == 503)
                }
                try await cluster.start()
                for instance in instances {
                    try await eventually("it is ready again") {
                        try await instance.service.management.get("/health/ready").status == 200
                    }
                }
            }
            try await faults.checkInvariants()
        }

        /// Expects that only store errors occurred while PostgreSQL was away, and that most logins succeeded otherwise.
        private func expectOnlyStoreFailures(_ attempts: [LoginAttempt]) {
            let problems = attempts.problems
            #expect(Set(problems.keys).isSubset(of: ["store_unavailable", "overloaded"]), "\(problems)")
            #expect(!problems.isEmpty, "the fault was felt")
            #expect(attempts.contains { $0.signedIn != nil })
            #expect(attempts.map(\.elapsed).max() ?? .zero < FaultDeployment.inTime)
        }

        /// Returns the backends in which a statement of the instances waits for a lock.
        private func waiting() async throws -> [Int32] {
            try await cluster.psql(
                """
                select pid from pg_stat_activity
                where application_name = 'federation' and datname = 'faults' and wait_event_type = 'Lock'
                """
            ).compactMap { row in row.first.flatMap(\.self).flatMap { Int32($0) } }
        }

        /// Returns the backends of the instances, the most recently busy first.
        private func backends() async throws -> [Int32] {
            try await cluster.psql(
                """
                select pid from pg_stat_activity where application_name = 'federation' and datname = 'faults'
                order by state_change desc
                """
            ).compactMap { row in row.first.flatMap(\.self).flatMap { Int32($0) } }
        }
    }
}
