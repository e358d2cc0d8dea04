@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("PostgreSQL is slow, or holds on to what it was given", .faulty(ownServer: true))
    struct Shortage {
        let faults: FaultDeployment
        let cluster: PostgresCluster

        init() throws {
            faults = try FaultDeployment.current
            cluster = try #require(faults.cluster)
        }

        @Test("F-26: with every connection asleep in a statement, logins get 503 after the time to wait, and soon none")
        func exhausted() async throws {
            let sleepers = try await faults.regulars(20)
            let others = try await faults.regulars(20)
            let session = try #require(try await faults.logIn(others[0], at: faults.instances[0]).signedIn)
            // Only the test ends the statements, and only the limit of the wait for a connection ends a login.
            let limits = [
                "FEDERATION_DATABASE_STATEMENT_MILLISECONDS": "60000", "FEDERATION_LOGIN_MILLISECONDS": "60000",
            ]
            try await faults.withInstance(limits) { instance in
                try await whileSessions(of: sleepers, sleep: 60) {
                    async let asleep = faults.logIn(sleepers, at: instance)
                    try await eventually("all writes that there is room for sleep") {
                        try await instance.metric("federation_writes_in_flight") >= 4
                    }
                    for _ in 0..<2 {
                        let attempts = try await faults.logIn(others, at: instance)
                        // The wait is 1 s; the rest is for a busy machine.
                        faults.expectAllRefused(attempts, ["store_unavailable", "overloaded"])
                        note("F-26", "503 after at most", attempts.map(\.elapsed).max())
                    }
                    #expect(try await faults.isLive(session.token, at: instance), "sessions are checked meanwhile")
                    let end = ContinuousClock.now
                    // Wake one after the other: more than one login may wait to sleep on the same connection.
                    let waking = Task {
                        while !Task.isCancelled {
                            try await cancelSleeping()
                            try await Task.sleep(for: .milliseconds(10))
                        }
                    }
                    let ended = try await asleep
                    waking.cancel()
                    faults.expectAllRefused(ended, ["store_unavailable", "overloaded"], within: .seconds(60))
                    try await eventually("logins succeed again", within: FaultDeployment.inTime) {
                        try await faults.logIn(others[0], at: instance).signedIn != nil
                    }
                    note("F-26", "logins again after", ContinuousClock.now - end)
                }
            }
            try await faults.checkInvariants()
        }

        @Test("F-29a: with each write taking 0.5 s, four times too many logins cost no login that there is room for")
        func slow() async throws {
            let visitors = try await faults.regulars(40)
            try await whileSessions(sleep: 0.5) {
                // The capacity is the throughput of clients that wait for each response.
                let all = faults.instances
                let length = Duration.seconds(6)
                let start = ContinuousClock.now
                let served = try await withThrowingTaskGroup(of: Int.self) { group in
                    for (index, visitor) in visitors.enumerated() {
                        group.addTask {
                            var served = 0
                            while ContinuousClock.now - start < length {
                                let attempt = try await faults.logIn(visitor, at: all[index % all.count])
                                if attempt.signedIn != nil, ContinuousClock.now - start <= length { served += 1 }
                            }
                            return served
                        }
                    }
                    return try await group.reduce(0, +)
                }
                let capacity = Double(served) / (length / .seconds(1))
                try #require(capacity >= 4, "\(capacity) logins a second")
                let outcome = try await SteadyLoad.run(
                    perSecond: Int(capacity * 4),
                    visitors,
                    to: FaultDeployment.document,
                    at: all
                ) { _ in try await Task.sleep(for: .seconds(8)) }
                #expect(outcome.goodput >= 0.8 * capacity, "\(outcome.goodput) of \(capacity) logins a second")
                // If each login waited for its turn, three of four would still wait at the end of the load.
                #expect(outcome.endedMeanwhile * 2 >= outcome.count, "\(outcome.endedMeanwhile) of \(outcome.count)")
                // Twice the limit of a login, since a busy machine needs time to refuse.
                #expect(outcome.percentile(99) <= .seconds(10))
                #expect(outcome.slowest < FaultDeployment.inTime)
                let refusals = outcome.failed.filter { !$0.what.hasPrefix("503 ") }
                #expect(refusals.isEmpty, "\(refusals.prefix(3))")
                let share = Int(100 * outcome.goodput / capacity)
                noteMeasured(
                    "F-29a",
                    "at four times the capacity \(share) % of it, p99 of accepted \(outcome.percentile(99).figure)"
                )
            }
            try await faults.checkInvariants()
        }

        @Test("F-29b: a row that is locked, and a statement without end: 503 in time, on connections that go on")
        func limits() async throws {
            let victim = try await faults.regulars(1)[0]
            let others = try await faults.regulars(8)
            let lost = "federation_postgres_connections_lost_total"
            let instance = faults.instances[0]
            let before = try await instance.metric(lost)
            let lock = """
                select from demo.users where object_id = (
                    select object_id from demo.identities where subject = '\(victim.id)') for update
                """
            let (locks, statements) = (ended(by: "55P03", at: instance), ended(by: "57014", at: instance))
            try await faults.database.whileLocked(lock) {
                async let attempt = faults.logIn(victim, at: instance)
                faults.expectAllLoggedIn(try await faults.logIn(others, at: instance), "nobody else waits")
                faults.expectAllRefused([try await attempt], ["store_unavailable"])
                try await eventually("the limit of a lock is said to have ended it, not that of a statement") {
                    ended(by: "55P03", at: instance) > locks
                }
                note("F-29b", "503 at a locked row after", try await attempt.elapsed)
            }
            try await whileSessions(of: [victim], sleep: 60) {
                async let attempt = faults.logIn(victim, at: instance)
                faults.expectAllLoggedIn(try await faults.logIn(others, at: instance), "nobody else waits")
                faults.expectAllRefused([try await attempt], ["store_unavailable"])
                try await eventually("the limit of a statement is said to have ended it") {
                    ended(by: "57014", at: instance) > statements
                }
                note("F-29b", "503 at a statement without end after", try await attempt.elapsed)
            }
            faults.expectAllLoggedIn([try await faults.logIn(victim, at: instance)])
            #expect(try await instance.metric(lost) == before, "a limit ends a statement, not its connection")
            try await faults.checkInvariants()
        }

        @Test("F-38: every process of PostgreSQL stopped for 5 s under load: only 503, and soon none")
        func stopped() async throws {
            let regulars = try await faults.regulars(20)
            var recovery = Duration.zero
            let attempts = try await faults.underLoad {
                try await cluster.freeze()
                // Longer than any limit of a statement: busy connections are given up.
                try? await Task.sleep(for: .seconds(5))
                try await cluster.thaw()
                let start = ContinuousClock.now
                try await eventually("logins succeed again", within: .seconds(25)) {
                    try await faults.logIn(regulars).problems.isEmpty
                }
                recovery = ContinuousClock.now - start
            }
            let problems = attempts.problems
            #expect(Set(problems.keys).isSubset(of: ["store_unavailable", "overloaded"]), "\(problems)")
            #expect(!problems.isEmpty, "the fault was felt")
            #expect((attempts.map(\.elapsed).max() ?? .zero) < FaultDeployment.inTime)
            var after: [LoginAttempt] = []
            for _ in 0..<10 { after += try await faults.logIn(regulars) }
            let failed = after.count { $0.signedIn == nil }
            #expect(failed * 100 <= after.count, "\(after.problems) of \(after.count)")
            noteMeasured(
                "F-38",
                "PostgreSQL stopped for 5 s: logins again \(recovery.figure) later, \(failed) of \(after.count) failed"
            )
            try await faults.checkInvariants()
        }

        // MARK: - Faults

        /// Runs a closure while the write of each login, or of these users' logins, sleeps that long in PostgreSQL.
        private func whileSessions(
            of people: [Visitor]? = nil,
            sleep seconds: Double,
            _ body: () async throws -> Void
        ) async throws {
            let subjects = people.map { $0.map { "'\($0.id)'" }.joined(separator: ", ") }
            let isMeant =
                subjects.map {
                    "new.object_id in (select object_id from demo.identities where subject in (\($0)))"
                } ?? "true"
            try await faults.database.psql(
                """
                create function linger() returns trigger language plpgsql as $body$
                begin
                    if \(isMeant) then perform pg_sleep(\(seconds)); end if;
                    return new;
                end $body$;
                create trigger linger before insert on demo.sessions for each row execute function linger();
                """
            )
            do {
                try await body()
            } catch {
                try? await wake()
                throw error
            }
            try await wake()
        }

        /// Cancels sleeping statements and removes the trigger.
        private func wake() async throws {
            try await eventually("nothing sleeps") {
                try await cancelSleeping()
                return try await sleeping().isEmpty
            }
            try await faults.database.psql("drop function linger cascade")
        }

        private func cancelSleeping() async throws {
            for pid in try await sleeping() { try await cluster.psql("select pg_cancel_backend(\(pid))") }
        }

        /// Returns the backends that sleep in a login's statement.
        private func sleeping() async throws -> [Int32] {
            try await cluster.psql(
                "select pid from pg_stat_activity where application_name = 'federation' and wait_event = 'PgSleep'"
            ).compactMap { row in row.first.flatMap(\.self).flatMap { Int32($0) } }
        }

        /// Counts the PostgreSQL errors with a state in the log of an instance.
        private func ended(by state: String, at instance: Deployment) -> Int {
            instance.service.process.standardOutput.split(separator: "\n").count {
                $0.contains("PostgreSQL error \(state)")
            }
        }

        private func note(_ row: String, _ what: String, _ duration: Duration?) {
            noteMeasured(row, "\(what) \((duration ?? .zero).figure)")
        }
    }
}
