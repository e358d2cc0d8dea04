import Providers

/// Limits background requests to Graph for one app, so that logins come first.
///
/// Background requests never probe whether Graph works again. Only logins do. The gate counts failures of background
/// requests itself: they do not open the circuit breaker for logins. At half of the app's rate limit, as Graph reports
/// it, background requests become slow. At three quarters they stop, long before Graph refuses requests.
///
/// The gate is a pure state machine: times are arguments.
struct BackgroundGate: Sendable {
    typealias Instant = ContinuousClock.Instant

    private var pausedUntil: Instant?
    private var failures = 0
    private var usage: (percent: Int, seen: Instant)?

    /// The percentage of the rate limit at which background requests become slow.
    static let slowAt = 50
    /// The percentage of the rate limit at which background requests stop.
    static let stopAt = 75
    /// The time for which a reported usage of `stopAt` or more stops background requests.
    ///
    /// After that time, background requests continue slowly, since only the response to a request reports a new usage.
    static let usageCounts: Duration = .seconds(300)
    /// The longest pause after failures in a row.
    ///
    /// Each failure doubles the pause.
    static let longestPause: Duration = .seconds(60)

    /// Returns how fast background work may send requests now.
    func pace(at now: Instant) -> BackgroundPace {
        if let pausedUntil, now < pausedUntil { return .none }
        guard let usage, usage.percent >= Self.slowAt else { return .full }
        return usage.percent >= Self.stopAt && now < usage.seen + Self.usageCounts ? .none : .slow
    }

    /// Records the used share of the app's rate limit, in percent, as a response reports it.
    ///
    /// The response may be to a request of a login or of background work.
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
