import HTTP

/// The waiting times of sources that send invalid operator tokens.
///
/// From the fifth failure within a minute on, a source must wait 1 s, 2 s, 4 s … up to a minute after each failure. A
/// success resets nothing: the owner of one valid token must not gain guesses by it. This is a pure state machine;
/// times are arguments.
struct FailedAttempts: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias Source = PeerAddress.Network

    private enum State {
        /// The failures within a minute before the last one, the oldest first.
        ///
        /// The fifth failure changes the state to `slowed`; after the minute the state is deleted.
        case counting([Instant], last: Instant)
        /// No attempt is allowed before `until`.
        ///
        /// Each further failure keeps the state; it is deleted ten minutes after the last failure.
        case slowed(failures: Int, until: Instant, last: Instant)
    }

    /// The number of the first failure that causes a wait.
    static let firstSlowed = 5
    static let window: Duration = .seconds(60)
    static let longestWait = 60
    /// The lifetime of a wait after the last failure; below the longest wait, each wait would restart at one second.
    static let memory: Duration = .seconds(600)
    /// The maximum number of sources; a new one replaces the source with the oldest last failure.
    static let mostSources = 4096

    private var states: [Source: State] = [:]

    /// The number of remembered sources.
    var count: Int { states.count }

    /// Returns the remaining wait of a source in whole seconds, at least one; nil when it may try.
    func wait(of source: Source, at now: Instant) -> Int? {
        guard case .slowed(_, let until, _) = states[source], now < until else { return nil }
        let rest = (until - now).components
        return Int(rest.seconds) + (rest.attoseconds > 0 ? 1 : 0)
    }

    /// Records a failure.
    ///
    /// - Returns: The number of the source's remembered failures.
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
