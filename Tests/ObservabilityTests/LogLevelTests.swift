import Logging
import Testing

@testable import Observability

@Suite("The level of the log")
struct LogLevelTests {
    @Test("a change is seen by every logger that there is, a logger's own level by that one alone")
    func handlers() {
        let level = LogLevel(.info)
        let output = LineOutput(descriptor: -1, capacity: 0)
        var own = JSONLogHandler(level: level, output: output)
        let other = JSONLogHandler(level: level, output: output)
        level.set(.debug, for: 60_000, now: 1000)
        #expect(own.logLevel == .debug && other.logLevel == .debug)
        #expect(level.state == .init(level: .debug, until: 61_000))
        own.logLevel = .error
        #expect(own.logLevel == .error && other.logLevel == .debug)
    }

    @Test("after its time the configured level is back, unless somebody asked anew")
    func ends() async throws {
        let level = LogLevel(.warning)
        level.set(.trace, for: 60_000, now: 0)
        level.set(.debug, for: 1, now: 0)
        while level.current != .warning { try await Task.sleep(for: .milliseconds(1)) }
        #expect(level.state == .init(level: .warning, until: nil))
        level.set(.trace, for: 1, now: 0)
        level.set(.debug, for: 60_000, now: 0)
        // The end of the first one is on the same queue in front of this.
        level.set(.error, for: 1, now: 0)
        while level.current != .warning { try await Task.sleep(for: .milliseconds(1)) }
        level.set(.info, for: 60_000, now: 5)
        #expect(level.state == .init(level: .info, until: 60_005))
    }
}
