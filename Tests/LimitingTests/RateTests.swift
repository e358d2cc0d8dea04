import Testing

@testable import Limiting

@Suite("Rates and policies")
struct RateTests {
    @Test(
        "the text of a rate",
        arguments: [
            ("100/s burst 1000", Rate(100, per: .second, burst: 1000)),
            ("60/min", Rate(60, per: .minute, burst: 60)),
            ("10/h burst 1", Rate(10, per: .hour, burst: 1)),
            ("1000000/s burst 1000000", Rate(1_000_000, per: .second, burst: 1_000_000)),
        ]
    )
    func reads(text: String, rate: Rate) {
        #expect(Rate(text) == rate)
        #expect(Rate(rate.description) == rate)
    }

    @Test(
        "what is no rate",
        arguments: [
            "", "off", "100", "/s", "100/", "100/d", "100/sec", "0/s", "-1/s", "+1/s", "1000001/s",
            "99999999999999999999/s",
            "1.5/s", "100/s burst", "100/s burst 0", "100/s burst 1000001", "100/s bursts 10", "100/s burst 10 20",
            "1/2/s",
            "١/s", "100 /s", "1e3/s",
        ]
    )
    func refuses(text: String) {
        #expect(Rate(text) == nil)
    }

    @Test("each policy has a name of its own, and operators have none of an application")
    func names() {
        let names = LimitPolicy.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.filter { $0.hasPrefix("administration.") } == ["administration.source"])
        for policy in LimitPolicy.all { #expect(LimitPolicies.standard[policy] == policy.standard) }
    }
}
