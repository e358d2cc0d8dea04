/// A limit on concurrent requests that adapts to the delay that the requests cause.
///
/// While the delay stays below a target, the limit grows each time it is reached. If even the shortest delay of an
/// interval exceeds the target, requests queue permanently, and the limit shrinks. A few slow requests among fast ones
/// change nothing. If the limit is not reached for long, it gradually returns to its initial value.
///
/// The algorithm is additive increase and multiplicative decrease. As in RFC 8289, its criterion is the standing queue.
///
/// This type reads no clock: the caller passes the time.
struct AdaptiveLimit: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The minimum and the maximum of the limit.
    let range: ClosedRange<Int>
    /// The initial value of the limit.
    ///
    /// The limit gradually returns to this value while fewer requests run than the limit allows.
    let rest: Int
    /// The highest delay of requests that is acceptable.
    ///
    /// If all delays in an interval are longer, the limit shrinks.
    let target: Duration
    /// The time between two changes of the limit, in which delays are observed.
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

    /// Records how many requests are under way.
    ///
    /// At the end of the interval, the limit can grow beyond its initial value only if the largest of these numbers has
    /// reached the limit.
    mutating func note(underWay: Int) {
        highest = max(highest, underWay)
    }

    /// Records the delay of a request, and adapts the limit at the end of each interval.
    mutating func observe(_ delay: Duration, at now: Instant) {
        least = min(least ?? delay, delay)
        guard let began else {
            self.began = now
            return
        }
        guard now - began >= interval, let least else { return }
        if least > target {
            // The new limit is based on the number of requests that was reached. If the limit is far above this number,
            // a decrease of the limit alone would long have no effect.
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
