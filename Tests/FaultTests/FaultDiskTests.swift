@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite(
        "PostgreSQL's disk is full",
        .enabled("only root mounts a small file system") {
            try await run("unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).exitStatus == .exited(0)
        },
        .faulty(ownServer: true, disk: 192)
    )
    struct Disk {
        let faults: FaultDeployment
        let cluster: PostgresCluster

        init() throws {
            faults = try FaultDeployment.current
            cluster = try #require(faults.cluster)
        }

        @Test("F-28: no room for a row: logins get 503, nothing is there by half, sessions are checked; and then room")
        func tables() async throws {
            let session = try #require(try await logIn(try await faults.regulars(1)[0]).signedIn)
            let newcomers = try await faults.newcomers(400)
            try await cluster.fillDisk()
            // Free space inside the existing files is used first.
            var attempts: [LoginAttempt] = []
            for start in stride(from: 0, to: newcomers.count, by: 20) {
                attempts = try await faults.logIn(Array(newcomers[start..<start + 20]))
                if attempts.allSatisfy({ $0.signedIn == nil }) { break }
            }
            faults.expectAllRefused(attempts, ["store_unavailable"])
            for instance in faults.instances { #expect(try await faults.isLive(session.token, at: instance)) }
            try cluster.freeDisk()
            try await expectRecovery("no room for rows")
            try await faults.checkInvariants()
        }

        @Test("F-28: no room for the write-ahead log, by which PostgreSQL ends: no session that was given is lost")
        func log() async throws {
            let visitors = try await faults.regulars(20)
            try await cluster.fillDisk()
            try await eventually("the server ends, or comes to be without room for its log") {
                // Each switch needs a new file.
                do {
                    try await cluster.psql("select pg_switch_wal(), pg_logical_emit_message(true, 'fault', 'full')")
                    return false
                } catch {
                    return true
                }
            }
            faults.expectAllRefused(try await faults.logIn(visitors), ["store_unavailable", "overloaded"])
            try cluster.freeDisk()
            // If PostgreSQL could not even recover, its operator starts it.
            try await cluster.start()
            try await expectRecovery("no room for the log")
            try await faults.checkInvariants()
        }

        private func logIn(_ visitor: Visitor) async throws -> LoginAttempt {
            try await faults.logIn(visitor, at: faults.instances[0])
        }

        /// Expects that logins succeed within ten seconds after space was freed.
        private func expectRecovery(_ what: String) async throws {
            let start = ContinuousClock.now
            let visitor = try await faults.newcomers(1)[0]
            try await eventually("logins succeed again") { try await logIn(visitor).signedIn != nil }
            let recovery = ContinuousClock.now - start
            #expect(recovery <= .seconds(10))
            noteMeasured("F-28", "\(what): logins \(recovery.figure) after there was room again")
        }
    }
}
