import Domain
import Encodings
@testable import Limiting
import Testing
import TestSupport

@Suite("Token buckets")
struct TokenBucketsTests {
    private static let second: Int64 = 1_000_000_000

    @Test("a burst, then as fast as it fills, and full again after a pause")
    func burstAndRate() {
        var buckets = TokenBuckets()
        let rate = Rate(10, per: .second, burst: 5)
        func take(at now: Int64) -> Int64? { buckets.take(from: 7, policy: 0, by: rate, at: now) }
        for _ in 0..<5 { #expect(take(at: 100) == nil) }
        #expect(take(at: 100) == Self.second / 10)
        #expect(take(at: 100 + Self.second / 20) == Self.second / 20, "half of it is there")
        #expect(take(at: 100 + Self.second / 10) == nil)
        #expect(take(at: 100 + Self.second / 10) == Self.second / 10)
        for _ in 0..<5 { #expect(take(at: 100 + 10 * Self.second) == nil) }
        #expect(take(at: 100 + 10 * Self.second) != nil)
    }

    @Test("whoever is refused is not set back by it")
    func refusalsCostNothing() {
        var buckets = TokenBuckets()
        let rate = Rate(1, per: .minute, burst: 1)
        #expect(buckets.take(from: 1, policy: 0, by: rate, at: 0) == nil)
        for _ in 0..<1000 { #expect(buckets.take(from: 1, policy: 0, by: rate, at: 1) == 60 * Self.second - 1) }
        #expect(buckets.take(from: 1, policy: 0, by: rate, at: 60 * Self.second) == nil)
    }

    @Test("over any time nobody gets more than burst and rate", arguments: [1, 2, 3])
    func neverMore(seed: UInt64) {
        var buckets = TokenBuckets()
        var numbers = SeededRandom(seed)
        let rate = Rate(50, per: .second, burst: 20)
        var now: Int64 = 0
        var taken: [Int64] = []
        for _ in 0..<20_000 {
            now += Int64(numbers.next() % 20_000_000)
            if buckets.take(from: -3, policy: 0, by: rate, at: now) == nil { taken.append(now) }
        }
        #expect(taken.count > 5000)
        for (index, end) in taken.enumerated() {
            let first = taken.partitioningIndex { $0 > end - Self.second }
            #expect(index - first + 1 <= 50 + 20)
        }
    }

    @Test("the largest of all rates and moments trap nothing")
    func extremes() {
        var buckets = TokenBuckets()
        let rate = Rate(1, per: .hour, burst: 1_000_000)
        for now in [0, 1, Int64.max / 2, .max] {
            for _ in 0..<3 { _ = buckets.take(from: .max, policy: 0, by: rate, at: now) }
        }
        for key in [Int.min, -1, 0, .max] { _ = buckets.take(from: key, policy: 0, by: rate, at: 5) }
    }

    @Test("the number of buckets is bounded; those that are known go on, and newcomers share one")
    func bound() {
        var buckets = TokenBuckets(max: 100)
        let rate = Rate(1, per: .minute, burst: 2)
        for key in 0..<100 { #expect(buckets.take(from: key, policy: 0, by: rate, at: 0) == nil) }
        let newcomers = (1000..<2000).count { buckets.take(from: $0, policy: 0, by: rate, at: 1) == nil }
        #expect(newcomers == 32, "sixteen times what one may")
        #expect(buckets.count == 101)
        #expect(buckets.take(from: 5, policy: 0, by: rate, at: 2) == nil, "a known one has its second")
        #expect(buckets.take(from: 5, policy: 0, by: rate, at: 2) != nil)
        // Full buckets are removed to make room.
        let later = 3 * 60 * Self.second
        #expect(buckets.take(from: 3000, policy: 0, by: rate, at: later) == nil)
        #expect(buckets.count == 1)
    }

    @Test("newcomers of one policy use up nothing of another's")
    func newcomersOfPolicies() {
        var buckets = TokenBuckets(max: 1)
        let rate = Rate(1, per: .hour, burst: 1)
        #expect(buckets.take(from: 0, policy: 0, by: rate, at: 0) == nil)
        let first = (1..<100).count { buckets.take(from: $0, policy: 0, by: rate, at: 1) == nil }
        let second = (1..<100).count { buckets.take(from: $0, policy: 1, by: rate, at: 1) == nil }
        #expect(first == 16 && second == 16)
    }
}

@Suite("A rate limiter")
struct RateLimiterTests {
    private static func limiter(_ rates: [LimitPolicy: Rate]) -> RateLimiter {
        var policies = LimitPolicies.standard
        for policy in LimitPolicy.all { policies[policy] = rates[policy] }
        return RateLimiter(policies)
    }

    private static func taken(
        _ limiter: RateLimiter,
        _ operation: LimitedOperation,
        _ source: LimitedSource?,
        in application: String = "demo",
        of tries: Int
    ) -> Int {
        (0..<tries).count { _ in
            (try? limiter.take(operation, of: ApplicationID(application), from: source)) != nil
        }
    }

    @Test("sources, applications and operations have buckets of their own")
    func separate() {
        let limiter = Self.limiter([
            LimitPolicy(.login, .source): Rate(1, per: .hour, burst: 3),
            LimitPolicy(.password, .source): Rate(1, per: .hour, burst: 2),
        ])
        let ann = LimitedSource(address: 1, network: nil)
        let bob = LimitedSource(address: 2, network: nil)
        #expect(Self.taken(limiter, .login, ann, of: 10) == 3)
        #expect(Self.taken(limiter, .login, bob, of: 10) == 3)
        #expect(Self.taken(limiter, .login, ann, in: "other", of: 10) == 3)
        #expect(Self.taken(limiter, .password, ann, of: 10) == 2)
        #expect(Self.taken(limiter, .mail, ann, of: 10) == 10, "not limited")
        #expect(limiter.refused[LimitPolicy(.login, .source)] == 21)
    }

    @Test("an IPv6 source has its /64, all of a /48 have theirs together")
    func networks() {
        let limiter = Self.limiter([
            LimitPolicy(.login, .source): Rate(1, per: .hour, burst: 3),
            LimitPolicy(.login, .network): Rate(1, per: .hour, burst: 7),
        ])
        let all = (0..<100).map { LimitedSource(address: 0xABCD_0000 + $0, network: 0xABCD) }
        #expect(all.reduce(0) { $0 + Self.taken(limiter, .login, $1, of: 5) } == 7)
        #expect(Self.taken(limiter, .login, LimitedSource(address: 0xBBBB_0000, network: 0xBBBB), of: 5) == 3)
    }

    @Test("where nobody knows the source, and for servers, the application's limit alone counts")
    func unknownSource() {
        let limiter = Self.limiter([
            LimitPolicy(.login, .source): Rate(1, per: .hour, burst: 3),
            LimitPolicy(.login, .application): Rate(1, per: .hour, burst: 20),
        ])
        #expect(Self.taken(limiter, .login, nil, of: 50) == 20)
        #expect(Self.taken(limiter, .login, LimitedSource(address: 1, network: nil), of: 50) == 0)
    }

    @Test("a refusal says which limit it was and when to come again")
    func refusal() throws {
        let limiter = Self.limiter([LimitPolicy(.login, .source): Rate(2, per: .hour, burst: 1)])
        let source = LimitedSource(address: 1, network: nil)
        try limiter.take(.login, of: ApplicationID("demo"), from: source)
        let failure = #expect(throws: Failure.self) {
            try limiter.take(.login, of: ApplicationID("demo"), from: source)
        }
        #expect(failure?.reason == .rateLimited)
        #expect((1799...1800).contains(failure?.retryAfter ?? 0))
        guard case .string("login.source")? = failure?.details["limit"] else {
            Issue.record("no name of the limit")
            return
        }
    }
}

extension Array {
    /// Returns the first position from which on all elements fit.
    func partitioningIndex(where fits: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if fits(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
