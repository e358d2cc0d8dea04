/// How much may be under way at once, found by what it does to a delay.
///
/// As long as the delay stays under a target, the limit grows whenever it was reached. When even the least delay of an
/// interval was over the target, a queue stands that drains no more, and the limit shrinks (additive increase,
/// multiplicative decrease, by the standing queue as in RFC 8289). A few slow requests among fast ones change nothing.
/// Where nobody comes near it for long, what it had learnt of another time is forgotten, little by little.
///
/// Pure; moments are arguments.
struct AdaptiveLimit: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// What it never goes below, and never beyond.
    let range: ClosedRange<Int>
    /// Where it begins, and returns to when it is not in the way of anybody.
    let rest: Int
    /// The delay that may stand.
    let target: Duration
    /// How long delays are looked at before the limit changes.
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

    /// Notes how much is under way, so that the limit grows only where it is what stands in the way.
    mutating func note(underWay: Int) {
        highest = max(highest, underWay)
    }

    /// Notes a delay, and judges when an interval is over.
    mutating func observe(_ delay: Duration, at now: Instant) {
        least = min(least ?? delay, delay)
        guard let began else {
            self.began = now
            return
        }
        guard now - began >= interval, let least else { return }
        if least > target {
            // From what was reached: a limit far above it would take long to bite.
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
