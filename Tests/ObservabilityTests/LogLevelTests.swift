import Dispatch
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

    @Test("after its time the configured level is back, unless somebody has asked anew")
    func ends() async {
        let level = LogLevel(.warning)
        level.set(.trace, for: 60_000, now: 0)
        level.set(.debug, for: 1, now: 0)
        await ended(level)
        #expect(level.state == .init(level: .warning, until: nil))
        level.set(.trace, for: 1, now: 0)
        level.set(.debug, for: 60_000, now: 5)
        await ended(level)
        #expect(level.state == .init(level: .debug, until: 60_005), "the end of the first is not that of the second")
    }

    /// Returns after changes that last a millisecond have ended: their ends are due earlier on the same queue.
    private func ended(_ level: LogLevel) async {
        await withCheckedContinuation { continuation in
            level.queue.asyncAfter(deadline: .now() + .milliseconds(100)) { continuation.resume() }
        }
    }
}
