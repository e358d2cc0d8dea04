/// A limit of concurrent requests that adapts to the delay that they cause.
///
/// While the delay stays below a target, the limit grows whenever it is reached. If even the shortest delay of an
/// interval exceeds the target, there is a standing queue, and the limit shrinks (additive increase, multiplicative
/// decrease, by the standing queue as in RFC 8289). A few slow requests among fast ones change nothing. If the limit is
/// not reached for long, it gradually returns to its rest value.
///
/// Pure; times are arguments.
struct AdaptiveLimit: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The bounds of the limit.
    let range: ClosedRange<Int>
    /// The initial value, to which the limit returns when it restricts no request.
    let rest: Int
    /// The delay that may last.
    let target: Duration
    /// The time for which delays are observed before the limit changes.
    let interval: Duration

    private(set) var limit: Int
    private var began: Instant?
    private var least: Duration?
    private var highest = 0

    init(_ range: ClosedRange<Int>, rest: Int, target: Duration, interval: Duration) {
        self.range = range
        self.rest = min(max(rest, range.lowerBound), range.upperBound)
        self.target = target
        self.interval = interval
        limit = self.rest
    }

    /// Notes the number of requests under way, so that the limit grows only when it is the restriction.
    mutating func note(underWay: Int) {
        highest = max(highest, underWay)
    }

    /// Notes a delay, and adapts the limit at the end of an interval.
    mutating func observe(_ delay: Duration, at now: Instant) {
        least = min(least ?? delay, delay)
        guard let began else {
            self.began = now
            return
        }
        guard now - began >= interval, let least else { return }
        if least > target {
            // Based on the number reached: a limit far above it would take long to have an effect.
            limit = max(min(limit, highest) * 3 / 4, range.lowerBound)
        } else if highest >= limit {
            limit = min(limit + max(limit / 8, 1), range.upperBound)
        } else if limit > rest {
            limit = max(limit - max(limit / 32, 1), rest)
        } else if least < target / 4 {
            limit = min(limit + max(limit / 32, 1), rest)
        }
        self.began = now
        self.least = nil
        highest = 0
    }
}
