import FoundationEssentials
import Glibc
@testable import ServerTestSupport
import Testing
import TestSupport

extension FaultTests {
    @Suite("Nobody reads what an instance has to tell")
    struct Output {
        let faults: FaultDeployment

        init() throws { faults = try FaultDeployment.current }

        @Test("F-41: a log that nobody reads: logins go on as before, lost lines are counted, and it ends when told")
        func log() async throws {
            let visitors = try await faults.regulars(40)
            try await withUnreadLog { program, written in
                // All lines are logged, so that they exceed the buffer.
                let instance = try await Deployment.start(
                    on: faults.database,
                    simulator: faults.simulator,
                    program: program,
                    environment: ["FEDERATION_LOG_LEVEL": "trace"]
                )
                try await eventually("lines are dropped", within: .seconds(120)) {
                    _ = try await logIn(visitors, at: instance)
                    return try await instance.metric(Self.dropped, Self.reason) > 0
                }
                // The same instance, but with a reader.
                let twin = try await Deployment.start(
                    on: faults.database,
                    simulator: faults.simulator,
                    environment: ["FEDERATION_LOG_LEVEL": "trace"]
                )
                _ = try await logIn(visitors, at: twin)
                let (read, unread) = try await compare {
                    try await times(of: visitors, at: twin)
                } with: {
                    try await times(of: visitors, at: instance)
                }
                try await twin.service.process.kill()
                let dropped = Int(try await instance.metric(Self.dropped, Self.reason))
                noteMeasured(
                    "F-41",
                    "p99 of logins \(read.figure), with an unread log \(unread.figure), \(dropped) lines lost"
                )
                #expect(try await instance.service.process.terminate() == .exited(0), "with the log as it is")
                #expect(written().contains("message"), "what was written before is there to be read")
            }
            try await faults.checkInvariants()
        }

        @Test("F-41: scrapers that ask for metrics and do not read them: logins go on as before")
        func scrapers() async throws {
            let visitors = try await faults.regulars(40)
            try await faults.withInstance { instance in
                // Each of twenty connections requests more pages than all buffers on the way can hold.
                let ask = String(repeating: "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", count: 400)
                let (alone, beside) = try await compare {
                    try await times(of: visitors, at: instance)
                } with: {
                    let scrapers = (0..<20).map { _ in UnreadConnection(to: instance.service.management, sending: ask) }
                    defer { for scraper in scrapers { scraper.close() } }
                    let time = try await times(of: visitors, at: instance)
                    #expect(try await instance.service.management.get("/metrics").status == 200)
                    #expect(try await instance.service.management.get("/health/ready").status == 200)
                    return time
                }
                noteMeasured(
                    "F-41",
                    "p99 of logins \(alone.figure), beside twenty scrapers that do not read \(beside.figure)"
                )
            }
            try await faults.checkInvariants()
        }

        private static let dropped = "federation_log_lines_dropped_total"
        private static let reason = #"reason="reader_too_slow""#

        /// Expects that a duration under a fault is at most twice the usual one plus a second.
        ///
        /// Both are measured one after the other, up to three times: other load of the machine affects mostly both, and
        /// the fault's effect appears each time.
        private func compare(
            _ usual: () async throws -> Duration,
            with faulty: () async throws -> Duration
        ) async throws -> (usual: Duration, faulty: Duration) {
            var times: (usual: Duration, faulty: Duration) = (.zero, .zero)
            for _ in 0..<3 {
                times = (try await usual(), try await faulty())
                if times.faulty <= times.usual * 2 + .seconds(1) { return times }
            }
            #expect(times.faulty <= times.usual * 2 + .seconds(1))
            return times
        }

        /// Returns the 99th percentile of 400 logins, forty at a time.
        private func times(of visitors: [Visitor], at instance: Deployment) async throws -> Duration {
            var times: [Duration] = []
            for _ in 0..<20 where times.count < 400 { times += try await logIn(visitors, at: instance) }
            try #require(times.count >= 400, "more than half were refused")
            return times.percentile(99)
        }

        /// Returns the durations of the successful logins; a busy machine refuses some.
        private func logIn(_ visitors: [Visitor], at instance: Deployment) async throws -> [Duration] {
            let attempts = try await faults.logIn(visitors, at: instance)
            #expect(Set(attempts.problems.keys).isSubset(of: ["overloaded"]), "\(attempts.problems)")
            return attempts.filter { $0.signedIn != nil }.map(\.elapsed)
        }

        /// Provides a program that runs the service with its log in a pipe.
        ///
        /// The pipe is full after some lines: nobody reads it before the closure asks for its contents.
        private func withUnreadLog(_ body: (String, () -> String) async throws -> Void) async throws {
            let folder = "/tmp/federation-log-\(UUID())"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try #require(mkfifo(folder + "/log", 0o600) == 0)
            let pipe = open(folder + "/log", O_RDWR | O_NONBLOCK | O_CLOEXEC)
            try #require(pipe >= 0)
            defer { close(pipe) }
            let program = try PackageLayout.executable("federation")
            try await withProgram("exec '\(program)' \"$@\" >'\(folder)/log'") { path in
                try await body(path) {
                    var bytes = [UInt8](repeating: 0, count: 1 << 20)
                    let count = read(pipe, &bytes, bytes.count)
                    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
                }
            }
        }
    }
}
