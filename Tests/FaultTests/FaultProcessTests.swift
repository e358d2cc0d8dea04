import Glibc
@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("An instance is killed, stopped, starved, or short of descriptors")
    struct Process {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        /// The number of kills; `scripts/test --all` kills as often as the fault matrix requires.
        private static let rounds = getenv("FEDERATION_TEST_LONG") == nil ? 8 : 50

        @Test("F-37: SIGKILL under load, again and again: ready at once, no session lost, no lock left behind")
        func killed() async throws {
            // The start time of an instance that has no other's locks to wait for.
            let usual = try await startTime()
            var slowest = Duration.zero
            for round in 0..<Self.rounds {
                let visitors = try await faults.newcomers(8)
                let began = ContinuousClock.now
                let instance = try await startInstance()
                let ready = ContinuousClock.now - began
                #expect(ready < usual * 3 + .seconds(2), "round \(round)")
                slowest = max(slowest, ready)
                let attempts = try await withThrowingTaskGroup(of: [LoginAttempt].self) { group in
                    for visitor in visitors {
                        group.addTask {
                            var attempts: [LoginAttempt] = []
                            while attempts.last?.problem != "broken" {
                                attempts.append(try await faults.logIn(visitor, at: instance))
                            }
                            return attempts
                        }
                    }
                    let enough = Duration.milliseconds(Int.random(in: 100...600))
                    try await Task.sleep(for: enough)
                    try await instance.service.process.kill()
                    return try await group.reduce(into: []) { $0 += $1 }
                }
                #expect(Set(attempts.problems.keys) == ["broken"], "\(attempts.problems)")
                instance.expectCleanOutput()
            }
            try await eventually("nothing of them is left in PostgreSQL") {
                try await faults.database.psql(
                    """
                    select 1 from pg_locks join pg_stat_activity using (pid)
                    where locktype = 'advisory' and datname = current_database()
                    union all select 1 from pg_stat_activity
                    where application_name = 'federation' and datname = current_database() and state like 'idle in%'
                    """
                ).isEmpty
            }
            try await faults.checkInvariants()
            noteMeasured(
                "F-37",
                "\(Self.rounds) times killed, ready again after at most \(slowest.figure), no session lost"
            )
        }

        @Test("F-38: stopped for 5 s, and on one processor that another program wants as well: it goes on by itself")
        func stopped() async throws {
            let visitors = try await faults.regulars(20)
            try await faults.withInstance { instance in
                faults.expectAllLoggedIn(try await faults.logIn(visitors, at: instance))
                async let meanwhile = faults.logIn(visitors, at: instance)
                instance.service.process.freeze()
                try? await Task.sleep(for: .seconds(5))
                instance.service.process.thaw()
                let thawed = ContinuousClock.now
                // Requests whose limits have passed by then are refused.
                let problems = try await meanwhile.problems
                let known: Set = ["provider_timeout", "provider_unavailable", "store_unavailable", "overloaded"]
                #expect(Set(problems.keys).isSubset(of: known), "\(problems)")
                try await eventually("logins succeed again", within: .seconds(25)) {
                    try await faults.logIn(visitors, at: instance).problems.isEmpty
                }
                let recovery = ContinuousClock.now - thawed
                let failed = try await failures(of: visitors, at: instance)
                #expect(failed.count * 100 <= failed.all, "\(failed)")
                noteMeasured(
                    "F-38",
                    "stopped for 5 s: logins again \(recovery.figure) later, \(failed.count) of \(failed.all) failed"
                )

                try await pin(instance)
                let hog = try await ManagedProcess.start("taskset", ["-c", "0", "sh", "-c", "while :; do :; done"])
                let starved = try await failures(of: visitors, at: instance)
                try await hog.kill()
                #expect(starved.count * 100 <= starved.all, "\(starved) beside a program that takes the processor")
                noteMeasured("F-38", "half of one processor: \(starved.count) of \(starved.all) logins failed")
                #expect(instance.service.process.isRunning)
            }
            try await faults.checkInvariants()
        }

        @Test("F-39: with 64 descriptors it does not start, and says why")
        func tooFewDescriptors() async throws {
            let program = try PackageLayout.executable("federation")
            let ended = try await run(
                "prlimit",
                ["--nofile=64:64", program, "serve"],
                environment: Deployment.environment(database: faults.database)
            )
            #expect(ended.exitStatus == .exited(78))
            let problem = "the limit of open files is 64, and the service needs at least 256"
            #expect(ended.standardError.contains(problem), "\(ended.standardError)")
        }

        @Test("F-39: with 256 descriptors and more clients than those: they wait, and it goes on in the same process")
        func descriptors() async throws {
            let visitors = try await faults.regulars(40)
            let program = try PackageLayout.executable("federation")
            try await withProgram("exec prlimit --nofile=256:256 '\(program)' \"$@\"") { program in
                let instance = try await startInstance(program)
                let process = instance.service.process
                var attempts: [LoginAttempt] = []
                try await faults.simulator.withFault(#"{"effect": "delay", "milliseconds": 300}"#) {
                    attempts = try await faults.logIn(
                        (0..<400).map { visitors[$0 % visitors.count] },
                        at: instance
                    )
                }
                let known: Set = ["provider_unavailable", "provider_timeout", "store_unavailable", "overloaded"]
                #expect(Set(attempts.problems.keys).isSubset(of: known), "\(attempts.problems)")
                #expect(process.isRunning)
                let open = try process.usage().openDescriptors
                #expect(open <= 256)
                try await eventually("logins succeed again") {
                    try await faults.logIn(visitors[0], at: instance).signedIn != nil
                }
                faults.expectAllLoggedIn(try await faults.logIn(visitors, at: instance))
                noteMeasured("F-39", "with 256 descriptors 400 at once: \(attempts.figure); \(open) open then")
                try await instance.end()
            }
            try await faults.checkInvariants()
        }

        // MARK: - Faults

        private func startInstance(_ program: String? = nil) async throws -> Deployment {
            try await Deployment.start(
                on: faults.database,
                simulator: faults.simulator,
                program: program,
                environment: ["FEDERATION_DATABASE_URL": faults.database.url]
            )
        }

        /// Measures the time until an instance is ready.
        private func startTime() async throws -> Duration {
            let began = ContinuousClock.now
            let instance = try await startInstance()
            let time = ContinuousClock.now - began
            try await instance.end()
            return time
        }

        /// Counts the failures of 200 logins.
        private func failures(
            of visitors: [Visitor],
            at instance: Deployment
        ) async throws -> (count: Int, all: Int) {
            var attempts: [LoginAttempt] = []
            while attempts.count < 200 { attempts += try await faults.logIn(visitors, at: instance) }
            return (attempts.count { $0.signedIn == nil }, attempts.count)
        }

        /// Moves all threads of an instance to the first processor.
        private func pin(_ instance: Deployment) async throws {
            let pinned = try await run("taskset", ["-a", "-c", "-p", "0", "\(instance.service.process.pid)"])
            try #require(pinned.exitStatus == .exited(0), "\(pinned.standardError)")
        }
    }
}
