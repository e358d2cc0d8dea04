import HTTP

/// Slows those down who send operator tokens that do not count.
///
/// From the fifth failure within a minute on, a source has to wait 1 s, 2 s, 4 s … up to a minute after each failure. A
/// success takes nothing back: whoever holds one token must not buy guesses with it. A pure state machine; times are
/// arguments.
struct FailedAttempts: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias Source = PeerAddress.Network

    private enum State {
        /// Failures of the minute before the last one, the oldest first. Goes to `slowed` with the fifth, and is
        /// forgotten when the minute is over.
        case counting([Instant], last: Instant)
        /// No attempt before `until`. Stays with every further failure, and is forgotten ten minutes after the last
        /// one.
        case slowed(failures: Int, until: Instant, last: Instant)
    }

    /// The failure that is the first to have a consequence.
    static let firstSlowed = 5
    static let window: Duration = .seconds(60)
    static let longestWait = 60
    /// Longer than the longest wait, else every wait would begin anew at one second.
    static let memory: Duration = .seconds(600)
    /// Beyond as many sources the one whose last failure is the longest ago is forgotten.
    static let mostSources = 4096

    private var states: [Source: State] = [:]

    /// How many sources are remembered.
    var count: Int { states.count }

    /// Whole seconds, at least one, that a source still has to wait; nil when it may try.
    func wait(of source: Source, at now: Instant) -> Int? {
        guard case .slowed(_, let until, _) = states[source], now < until else { return nil }
        let rest = (until - now).components
        return Int(rest.seconds) + (rest.attoseconds > 0 ? 1 : 0)
    }

    /// Notes a failure.
    ///
    /// - Returns: How many the source has had, as far as they are remembered.
    mutating func recordFailure(of source: Source, at now: Instant) -> Int {
        var failures = 1
        var state = State.counting([now], last: now)
        switch states[source] {
        case .counting(let earlier, _):
            let recent = earlier.filter { now - $0 < Self.window } + [now]
            failures = recent.count
            state = .counting(recent, last: now)
        case .slowed(let earlier, _, let last) where now - last < Self.memory:
            failures = earlier + 1
        default:
            if states.count >= Self.mostSources { makeRoom(at: now) }
        }
        if failures >= Self.firstSlowed {
            let wait = min(1 << min(failures - Self.firstSlowed, 6), Self.longestWait)
            state = .slowed(failures: failures, until: now + .seconds(wait), last: now)
        }
        states[source] = state
        return failures
    }

    private mutating func makeRoom(at now: Instant) {
        states = states.filter { !Self.isForgotten($0.value, at: now) }
        guard states.count >= Self.mostSources else { return }
        let oldest = states.min { Self.last($0.value) < Self.last($1.value) }
        if let oldest { states[oldest.key] = nil }
    }

    private static func isForgotten(_ state: State, at now: Instant) -> Bool {
        switch state {
        case .counting(_, let last): now - last >= window
        case .slowed(_, _, let last): now - last >= memory
        }
    }

    private static func last(_ state: State) -> Instant {
        switch state {
        case .counting(_, let last), .slowed(_, _, let last): last
        }
    }
}
