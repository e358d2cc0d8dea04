@testable import AdministrationAPI
@testable import HTTP
import Testing

@Suite("Failed attempts, as a trace of events")
struct FailedAttemptsTests {
    @Test("four failures within a minute cost nothing, the fifth a second")
    func tolerated() {
        var trace = Trace()
        for count in 1...4 { #expect(trace.fail() == count) }
        #expect(trace.wait() == nil)
        #expect(trace.fail() == 5)
        #expect(trace.wait() == 1)
        trace.pass(.seconds(1))
        #expect(trace.wait() == nil)
    }

    @Test("each further failure doubles the wait, up to a minute")
    func doubles() {
        var trace = Trace()
        for _ in 1...4 { trace.fail() }
        for wait in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            trace.fail()
            #expect(trace.wait() == wait)
            trace.pass(.seconds(wait) - .milliseconds(1))
            #expect(trace.wait() == 1, "rounded up to a whole second")
            trace.pass(.milliseconds(1))
            #expect(trace.wait() == nil)
        }
    }

    @Test("failures that are a minute apart from the fifth are not counted")
    func window() {
        var trace = Trace()
        for _ in 1...4 { trace.fail() }
        trace.pass(.seconds(60))
        #expect(trace.fail() == 1)
        #expect(trace.wait() == nil)
        trace.pass(.seconds(59))
        for count in 2...4 { #expect(trace.fail() == count) }
        trace.pass(.seconds(1))
        #expect(trace.fail() == 4, "the minute slides")
        #expect(trace.wait() == nil)
        trace.fail()
        #expect(trace.wait() == 1)
    }

    @Test("a source that was slowed is forgotten ten minutes after its last failure, not earlier")
    func memory() {
        var trace = Trace()
        for _ in 1...8 { trace.fail() }
        trace.pass(.seconds(599))
        trace.fail()
        #expect(trace.wait() == 16)
        trace.pass(.seconds(600))
        #expect(trace.fail() == 1)
        #expect(trace.wait() == nil)
    }

    @Test("any number of failures at one time is counted, and no wait is longer than a minute")
    func flood() {
        var trace = Trace()
        for count in 1...5000 { #expect(trace.fail() == count) }
        #expect(trace.wait() == 60)
    }

    @Test("sources are counted apart")
    func sources() {
        var trace = Trace()
        for _ in 1...5 { trace.fail(.ipv4(1)) }
        #expect(trace.wait(.ipv4(1)) == 1)
        #expect(trace.wait(.ipv4(2)) == nil)
        #expect(trace.wait(.ipv6(1)) == nil)
        #expect(trace.wait(.unknown) == nil)
    }

    @Test("the table is bounded: who failed the longest time ago is forgotten first")
    func bounded() {
        var trace = Trace()
        for _ in 1...5 { trace.fail(.ipv4(0)) }
        for number in 1..<UInt32(FailedAttempts.maxSources) {
            trace.pass(.microseconds(1))
            trace.fail(.ipv4(number))
        }
        #expect(trace.attempts.count == FailedAttempts.maxSources)
        #expect(trace.wait(.ipv4(0)) == 1)
        trace.fail(.ipv6(1))
        #expect(trace.attempts.count == FailedAttempts.maxSources)
        #expect(trace.wait(.ipv4(0)) == nil)
        #expect(trace.fail(.ipv4(1)) == 2)
    }

    @Test("what is over makes room before anybody is forgotten")
    func room() {
        var trace = Trace()
        for number in 0..<UInt32(FailedAttempts.maxSources - 1) { trace.fail(.ipv4(number)) }
        for _ in 1...5 { trace.fail(.ipv6(1)) }
        trace.pass(.seconds(61))
        trace.fail(.ipv6(2))
        #expect(trace.attempts.count == 2)
        #expect(trace.fail(.ipv6(1)) == 6)
    }

    /// The state machine under test and its clock.
    private struct Trace {
        var attempts = FailedAttempts()
        private var now = ContinuousClock.now

        @discardableResult
        mutating func fail(_ source: FailedAttempts.Source = .ipv4(7)) -> Int {
            attempts.recordFailure(of: source, at: now)
        }

        func wait(_ source: FailedAttempts.Source = .ipv4(7)) -> Int? {
            attempts.wait(of: source, at: now)
        }

        mutating func pass(_ time: Duration) { now += time }
    }
}

@Suite("Tokens that counted")
struct KnownTokensTests {
    private let start = ContinuousClock.now

    @Test("a token is known for ten minutes from the last time that it counted")
    func memory() {
        var known = KnownTokens()
        known.insert([1], at: start)
        #expect(known.contains([1], at: start + .seconds(599)))
        #expect(!known.contains([1], at: start + .seconds(600)))
        known.insert([1], at: start + .seconds(599))
        #expect(known.contains([1], at: start + .seconds(600)))
        #expect(!known.contains([2], at: start))
    }

    @Test("one that does not count any more is forgotten at once")
    func removal() {
        var known = KnownTokens()
        known.insert([1], at: start)
        known.remove([1])
        #expect(!known.contains([1], at: start))
    }

    @Test("the set is bounded: the one seen the longest time ago goes first")
    func bounded() {
        var known = KnownTokens()
        for number in 0..<KnownTokens.max { known.insert(hash(number), at: start + .milliseconds(number)) }
        known.insert(hash(0), at: start + .seconds(5))
        known.insert([255, 255, 255], at: start + .seconds(6))
        #expect(known.count == KnownTokens.max)
        #expect(known.contains(hash(0), at: start + .seconds(6)))
        #expect(!known.contains(hash(1), at: start + .seconds(6)))
        #expect(known.contains(hash(2), at: start + .seconds(6)))
    }

    private func hash(_ number: Int) -> [UInt8] { [UInt8(truncatingIfNeeded: number >> 8), UInt8(number & 0xFF)] }
}
