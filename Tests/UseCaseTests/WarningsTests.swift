@testable import Accounts
@testable import Applications
import Logging
import Testing

@Suite("Warnings to operators")
struct WarningsTests {
    @Test("a warning is logged once an hour however often it is raised, and listed until it has not been for an hour")
    func memory() {
        let log = Log()
        let warnings = Warnings(logger: Logger(label: "test") { _ in log })
        let start = ContinuousClock.now
        #expect(warnings.texts(now: start) == [])
        for minutes in 0..<60 { warnings.raise("a", now: start + .seconds(60 * minutes)) }
        warnings.raise("b", now: start + .seconds(60))
        #expect(log.lines == ["warning a", "warning b"])
        #expect(warnings.texts(now: start + .seconds(3600)) == ["a", "b"])
        warnings.raise("a", now: start + .seconds(3600))
        #expect(log.lines == ["warning a", "warning b", "warning a"])
        #expect(warnings.texts(now: start + .seconds(3660)) == ["a"])
        #expect(warnings.texts(now: start + .seconds(7200)) == [])
    }

    @Test("one that stands is listed for as long as the process runs")
    func standing() {
        let warnings = Warnings(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let start = ContinuousClock.now
        warnings.raise("a", stands: true, now: start)
        #expect(warnings.texts(now: start + .seconds(1_000_000)) == ["a"])
    }
}
