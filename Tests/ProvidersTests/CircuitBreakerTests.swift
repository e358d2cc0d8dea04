@testable import Providers
import Testing

@Suite("The circuit breaker, as a trace of events")
struct CircuitBreakerTests {
    private static let limited = CircuitBreaker.Outcome.limited(RateLimit(seconds: nil))

    @Test("F-03: eight failed logins in a row open the breaker, seven do not")
    func opens() throws {
        var trace = Trace()
        for _ in 0..<7 { try trace.login(.failed) }
        try trace.login(.answered)
        for _ in 0..<7 { try trace.login(.failed) }
        try trace.login(.failed)
        #expect(trace.admit() == .refused(.unavailable, retryAfter: 1))
    }

    @Test("F-11: bad tokens never open the breaker")
    func answered() throws {
        var trace = Trace()
        for _ in 0..<1000 { try trace.login(.answered) }
        #expect(trace.admit().isPass)
    }

    @Test("one probe at a time, at most one per second, and its answer closes the breaker")
    func probes() throws {
        var trace = Trace.opened()
        trace.wait(.milliseconds(999))
        #expect(trace.admit() == .refused(.unavailable, retryAfter: 1))
        trace.wait(.milliseconds(1))
        let probe = try #require(trace.admit().pass)
        #expect(probe.isProbe)
        trace.wait(.seconds(5))
        #expect(trace.admit() == .refused(.unavailable, retryAfter: 1))
        trace.record(.failed, probe)
        #expect(trace.admit() == .refused(.unavailable, retryAfter: 1))
        trace.wait(.seconds(1))
        let second = try #require(trace.admit().pass)
        trace.record(.answered, second)
        let pass = try #require(trace.admit().pass)
        #expect(!pass.isProbe)
        // The success has reset the run of failures.
        for _ in 0..<7 { try trace.login(.failed) }
        #expect(trace.admit().isPass)
    }

    @Test("a probe whose caller went away is released, and the next one comes a second after it began")
    func abandonedProbe() throws {
        var trace = Trace.opened()
        trace.wait(.seconds(1))
        let probe = try #require(trace.admit().pass)
        trace.wait(.milliseconds(400))
        trace.record(.abandoned, probe)
        #expect(!trace.admit().isPass)
        trace.wait(.milliseconds(600))
        #expect(try #require(trace.admit().pass).isProbe)
    }

    @Test("logins that began before a change tell nothing about the time after it")
    func stragglers() throws {
        var trace = Trace()
        var early: [CircuitBreaker.Pass] = []
        for _ in 0..<1000 { early.append(try #require(trace.admit().pass)) }
        for pass in early[..<8] { trace.record(.failed, pass) }
        trace.wait(.milliseconds(500))
        for pass in early[8..<300] { trace.record(.failed, pass) }
        trace.record(.answered, early[300])
        trace.record(Self.limited, early[301])
        #expect(trace.admit() == .refused(.unavailable, retryAfter: 1))
        trace.wait(.milliseconds(500))
        let probe = try #require(trace.admit().pass)
        for pass in early[302..<600] { trace.record(.failed, pass) }
        trace.record(.answered, probe)
        for pass in early[600...] { trace.record(.failed, pass) }
        #expect(trace.admit().isPass)
    }

    @Test("nobody repeats a question as a probe, or once the breaker has opened")
    func repeats() throws {
        var trace = Trace()
        let early = try #require(trace.admit().pass)
        #expect(trace.breaker.allowsRepeats(early))
        for _ in 0..<8 { try trace.login(.failed) }
        #expect(!trace.breaker.allowsRepeats(early))
        trace.wait(.seconds(1))
        let probe = try #require(trace.admit().pass)
        #expect(!trace.breaker.allowsRepeats(probe))
    }

    @Test("an abandoned login neither lengthens a run nor ends it")
    func abandoned() throws {
        var trace = Trace()
        for _ in 0..<7 { try trace.login(.failed) }
        for _ in 0..<100 { try trace.login(.abandoned) }
        #expect(trace.admit().isPass)
        try trace.login(.failed)
        #expect(!trace.admit().isPass)
    }

    @Test("F-10: one rate limit of the app opens the breaker; probes go once per second, the advice stands")
    func rateLimit() throws {
        var trace = Trace()
        try trace.login(Self.limited)
        #expect(trace.admit() == .refused(.rateLimited, retryAfter: 60))
        var probes = 0
        for _ in 0..<100 {
            trace.wait(.milliseconds(100))
            if let pass = trace.admit().pass {
                probes += 1
                trace.record(Self.limited, pass)
            }
        }
        #expect(probes == 10)
        trace.wait(.seconds(1))
        try trace.login(.answered)
        #expect(trace.admit().isPass)
    }

    @Test(
        "F-10: the time that Graph names is honoured, up to a minute",
        arguments: [(0, 1, 1), (7, 7, 7), (60, 60, 60), (3600, 60, 3600)]
    )
    func retryAfter(seconds: Int, silence: Int, advice: Int) throws {
        var trace = Trace()
        try trace.login(.limited(RateLimit(seconds: seconds)))
        #expect(trace.admit() == .refused(.rateLimited, retryAfter: advice))
        trace.wait(.seconds(silence) - .milliseconds(1))
        #expect(!trace.admit().isPass)
        trace.wait(.milliseconds(1))
        #expect(trace.admit().isPass)
    }

    @Test("a probe that meets the other trouble changes the reason")
    func changeOfReason() throws {
        var trace = Trace.opened()
        trace.wait(.seconds(1))
        try trace.login(Self.limited)
        #expect(trace.admit() == .refused(.rateLimited, retryAfter: 60))
        trace.wait(.seconds(1))
        try trace.login(.failed)
        #expect(trace.admit() == .refused(.unavailable, retryAfter: 1))
    }

    /// Each call fails with the given chance and is retried as in `Exchange`, at most twice a login.
    @Test(
        "F-04: with a tenth of all calls failing the breaker stays closed and 99 of 100 logins succeed",
        arguments: [1, 2, 3]
    )
    func tenth(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        var trace = Trace()
        var succeeded = 0
        func fails() -> Bool { random.next() % 10 == 0 }
        for _ in 0..<100_000 {
            var failing = (fails(), fails())
            var repeats = 2
            while repeats > 0, failing.0 || failing.1 {
                repeats -= (failing.0 ? 1 : 0) + (failing.1 ? 1 : 0)
                failing = (failing.0 && fails(), failing.1 && fails())
            }
            let isGood = !failing.0 && !failing.1
            if isGood { succeeded += 1 }
            try trace.login(isGood ? .answered : .failed)
        }
        #expect(succeeded > 99_000)
    }

    @Test(
        "two answers together say the worse of both",
        arguments: [
            (nil, nil, .answered), (.answered, nil, .answered), (.transient, nil, .failed),
            (.failed, .answered, .failed),
            (.untold, nil, .abandoned), (.untold, .answered, .abandoned), (.untold, .failed, .failed),
            (.untold, .untold, .abandoned),
            (.limited(RateLimit(seconds: 1)), .failed, .limited(RateLimit(seconds: 1))),
            (.limited(RateLimit(seconds: 1)), .limited(RateLimit(seconds: 2)), .limited(RateLimit(seconds: 2))),
        ] as [(HealthSignal?, HealthSignal?, CircuitBreaker.Outcome)]
    )
    func outcomes(one: HealthSignal?, other: HealthSignal?, outcome: CircuitBreaker.Outcome) {
        #expect(CircuitBreaker.Outcome(one, other) == outcome)
        #expect(CircuitBreaker.Outcome(other, one) == outcome)
    }
}

/// A circuit breaker and its clock.
private struct Trace {
    var breaker = CircuitBreaker()
    private var now = ContinuousClock.now

    static func opened() -> Trace {
        var trace = Trace()
        for _ in 0..<CircuitBreaker.longestRun {
            if let pass = trace.admit().pass { trace.record(.failed, pass) }
        }
        return trace
    }

    mutating func wait(_ duration: Duration) { now += duration }

    mutating func admit() -> CircuitBreaker.Decision { breaker.admit(at: now) }

    mutating func record(_ outcome: CircuitBreaker.Outcome, _ pass: CircuitBreaker.Pass) {
        breaker.record(outcome, of: pass, at: now)
    }

    /// Records the outcome of a login that the breaker must admit.
    mutating func login(_ outcome: CircuitBreaker.Outcome) throws {
        record(outcome, try #require(admit().pass))
    }
}

extension CircuitBreaker.Decision {
    fileprivate var pass: CircuitBreaker.Pass? {
        guard case .pass(let pass) = self else { return nil }
        return pass
    }

    fileprivate var isPass: Bool { pass != nil }
}

private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
