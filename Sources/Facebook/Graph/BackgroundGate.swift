import Providers

/// The limit on background requests to Graph for one app, so that logins always come first.
///
/// Background requests never probe whether Graph works again: that is left to logins. Their failures do not open the
/// circuit breaker of logins: the gate counts failures of its own. Graph's statements about the app's rate limit slow
/// background requests down at one half of the limit and stop them at three quarters, long before Graph refuses
/// requests.
///
/// A pure state machine; times are arguments.
struct BackgroundGate: Sendable {
    typealias Instant = ContinuousClock.Instant

    private var pausedUntil: Instant?
    private var failures = 0
    private var usage: (percent: Int, seen: Instant)?

    /// Percent of the rate limit at which the pace becomes slow, and at which it becomes none.
    static let slowAt = 50
    static let stopAt = 75
    /// The time in which a statement about usage counts.
    ///
    /// The rate limit is for a rolling hour, and without requests no newer statement comes.
    static let usageCounts: Duration = .seconds(300)
    /// The longest pause; each failure doubles the pause.
    static let longestPause: Duration = .seconds(60)

    /// Returns the current pace.
    func pace(at now: Instant) -> BackgroundPace {
        if let pausedUntil, now < pausedUntil { return .none }
        guard let usage, usage.percent >= Self.slowAt else { return .full }
        return usage.percent >= Self.stopAt && now < usage.seen + Self.usageCounts ? .none : .slow
    }

    /// Records the usage in a response to any request.
    mutating func note(usage percent: Int, at now: Instant) {
        usage = (percent, now)
    }

    /// Records the outcome of a background request; nil for a valid response.
    mutating func note(_ signal: HealthSignal?, at now: Instant) {
        switch signal {
        case nil, .answered:
            failures = 0
        case .limited(let limit):
            pausedUntil = now + .seconds(limit.seconds ?? RateLimit.defaultSeconds)
        case .transient, .failed:
            failures = min(failures + 1, 10)
            pausedUntil = now + min(.milliseconds(250) * (1 << failures), Self.longestPause)
        case .untold:
            break
        }
    }
}
