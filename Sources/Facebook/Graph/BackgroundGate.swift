import Providers
import Upstream

/// Decides how much work in the background may ask Graph about one app, so that logins always come first.
///
/// Such work never tries whether Graph works again, which is a login's to do, and nothing that it meets opens the
/// circuit breaker of logins: it has a memory of its own for what went wrong. Graph's word on how much of the app's
/// allowance is used slows it down from one half on and stops it at three quarters, long before Graph refuses anybody.
///
/// A pure state machine; times are arguments.
struct BackgroundGate: Sendable {
    typealias Instant = ContinuousClock.Instant

    private var pausedUntil: Instant?
    private var failures = 0
    private var usage: (percent: Int, seen: Instant)?

    /// Percent of the allowance from which on the pace is slow, and at which it is none.
    static let slowAt = 50
    static let stopAt = 75
    /// How long a word on the usage counts: the allowance is of a rolling hour, and without questions no newer word
    /// comes.
    static let usageCounts: Duration = .seconds(300)
    /// The longest pause after failures, each of which doubles the one before.
    static let longestPause: Duration = .seconds(60)

    /// How fast to ask now.
    func pace(at now: Instant) -> BackgroundPace {
        if let pausedUntil, now < pausedUntil { return .none }
        guard let usage, usage.percent >= Self.slowAt else { return .full }
        return usage.percent >= Self.stopAt && now < usage.seen + Self.usageCounts ? .none : .slow
    }

    /// Takes in what Graph said of the usage, to whomever.
    mutating func note(usage percent: Int, at now: Instant) {
        usage = (percent, now)
    }

    /// Takes in what a question of the background came to; nil for an answer that was understood.
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
