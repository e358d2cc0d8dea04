import Testing

@testable import Limiting

@Suite("An adaptive limit")
struct AdaptiveLimitTests {
    private static func limit(_ range: ClosedRange<Int> = 10...1000, rest: Int = 1000) -> AdaptiveLimit {
        AdaptiveLimit(range, rest: rest, target: .milliseconds(100), interval: .milliseconds(500))
    }

    /// Feeds one of the delays every 50 ms for a time, with as many logins under way as the limit allows by default.
    private static func feed(
        _ limit: inout AdaptiveLimit,
        _ delays: [Duration],
        for time: Duration,
        from start: ContinuousClock.Instant,
        underWay: Int? = nil
    ) -> ContinuousClock.Instant {
        var now = start
        var position = 0
        while now < start + time {
            limit.note(underWay: underWay ?? limit.limit)
            limit.observe(delays[position % delays.count], at: now)
            position += 1
            now += .milliseconds(50)
        }
        return now
    }

    @Test("a delay that stands has it shrink to its bound, and no further")
    func shrinks() {
        var limit = Self.limit()
        let now = Self.feed(&limit, [.milliseconds(300)], for: .seconds(2), from: .now)
        #expect((200...500).contains(limit.limit))
        _ = Self.feed(&limit, [.milliseconds(300)], for: .seconds(60), from: now)
        #expect(limit.limit == 10)
    }

    @Test("it shrinks from what was reached, not from what it was")
    func fromReached() {
        var limit = Self.limit()
        _ = Self.feed(&limit, [.milliseconds(300)], for: .milliseconds(600), from: .now, underWay: 40)
        #expect(limit.limit == 30)
    }

    @Test("slow ones among quick ones change nothing")
    func outliers() {
        var limit = Self.limit()
        let delays: [Duration] = [.seconds(2), .seconds(2), .seconds(2), .milliseconds(5)]
        _ = Self.feed(&limit, delays, for: .seconds(60), from: .now)
        #expect(limit.limit == 1000)
    }

    @Test("it grows again when the delay is gone, where it is reached and where nobody comes near it")
    func grows() {
        for underWay in [nil, 1] {
            var limit = Self.limit()
            let now = Self.feed(&limit, [.milliseconds(300)], for: .seconds(60), from: .now)
            _ = Self.feed(&limit, [.milliseconds(1)], for: .seconds(90), from: now, underWay: underWay)
            #expect(limit.limit == 1000)
        }
    }

    @Test("it begins at its rest, grows beyond where it is reached, and returns when nobody comes near it")
    func rests() {
        var limit = Self.limit(rest: 40)
        #expect(limit.limit == 40)
        var now = Self.feed(&limit, [.milliseconds(1)], for: .seconds(60), from: .now, underWay: 39)
        #expect(limit.limit == 40)
        now = Self.feed(&limit, [.milliseconds(1)], for: .seconds(60), from: now)
        #expect(limit.limit == 1000)
        now = Self.feed(&limit, [.milliseconds(1)], for: .seconds(90), from: now, underWay: 39)
        #expect(limit.limit == 40)
        now = Self.feed(&limit, [.milliseconds(300)], for: .seconds(60), from: now)
        #expect(limit.limit == 10)
        _ = Self.feed(&limit, [.milliseconds(1)], for: .seconds(90), from: now, underWay: 1)
        #expect(limit.limit == 40)
    }

    @Test("its rest is within its range")
    func restInRange() {
        #expect(Self.limit(rest: 1).limit == 10)
        #expect(Self.limit(rest: 2000).limit == 1000)
    }

    @Test("a delay near the target leaves it as it is where nobody reaches it")
    func stays() {
        var limit = Self.limit()
        var now = Self.feed(&limit, [.milliseconds(300)], for: .seconds(2), from: .now)
        now = Self.feed(&limit, [.milliseconds(80)], for: .seconds(1), from: now, underWay: 1)
        let before = limit.limit
        #expect(before < 1000)
        _ = Self.feed(&limit, [.milliseconds(80)], for: .seconds(60), from: now, underWay: 1)
        #expect(limit.limit == before)
    }
}
