import HTTP

/// Decides how long a source that has sent invalid operator tokens must wait before it may send another token.
///
/// At the fifth failure within a minute, a source must wait for one second. Each further failure doubles the wait, up
/// to a minute. A success resets nothing: a client with one valid token must not gain attempts to guess others. This is
/// a pure state machine, and times are arguments.
struct FailedAttempts: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias Source = PeerAddress.Network

    private enum State {
        /// The times of the failures within a minute, the oldest first. `last` is the newest of them.
        ///
        /// The fifth failure changes the state to `slowed`. A minute after the last failure, the state is discarded.
        case counting([Instant], last: Instant)
        /// No attempt is allowed before `until`.
        ///
        /// A further failure prolongs the wait. Ten minutes after the last failure, the state is discarded.
        case slowed(failures: Int, until: Instant, last: Instant)
    }

    /// The number of failures within a minute at which a source must wait for the first time.
    static let firstSlowed = 5
    static let window: Duration = .seconds(60)
    static let longestWait = 60
    /// The time after the last failure for which a source stays in the state `slowed`.
    ///
    /// It is longer than the longest wait. Otherwise the state would be discarded during a wait, and the next wait
    /// would be only one second again.
    static let memory: Duration = .seconds(600)
    /// The maximum number of remembered sources.
    ///
    /// A further source replaces the one whose last failure is the oldest.
    static let maxSources = 4096

    private var states: [Source: State] = [:]

    /// The number of remembered sources.
    var count: Int { states.count }

    /// Returns how many whole seconds a source must wait, at least one; nil if it may send a token now.
    func wait(of source: Source, at now: Instant) -> Int? {
        guard case .slowed(_, let until, _) = states[source], now < until else { return nil }
        let rest = (until - now).components
        return Int(rest.seconds) + (rest.attoseconds > 0 ? 1 : 0)
    }

    /// Records that a source has sent an invalid token.
    ///
    /// - Returns: The number of the source's failures, including this one but without those that are too old.
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
            if states.count >= Self.maxSources { makeRoom(at: now) }
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
        guard states.count >= Self.maxSources else { return }
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
