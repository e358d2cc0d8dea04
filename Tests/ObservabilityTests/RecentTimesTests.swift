import Metrics
import Testing

@testable import Observability

@Suite("What histograms have counted of late")
struct RecentTimesTests {
    private let registry = MetricRegistry([
        MetricFamily("part_seconds", .histogram([0.1, 0.2, 0.4]), "How long it took.", labels: ["part"])
    ])

    private func record(_ milliseconds: Int, _ part: String = "write") {
        Metrics.Timer(label: "part_seconds", dimensions: [("part", part)], factory: registry)
            .record(duration: .milliseconds(milliseconds))
    }

    private func count(_ times: RecentTimes, _ part: String = "write") -> Int {
        times.observations(of: "part_seconds").first { $0.labels == ["part": part] }?.observations.count ?? 0
    }

    @Test("what was counted before is left out, and so is a family that nobody has declared")
    func since() {
        record(50)
        let times = RecentTimes(registry, of: ["part_seconds", "nothing"], at: 1000)
        #expect(times.observations(of: "part_seconds").isEmpty && times.observations(of: "nothing").isEmpty)
        record(50)
        record(50, "read")
        #expect(count(times) == 1 && count(times, "read") == 1 && times.since == 1000)
    }

    @Test("they tell of an hour, and of all of it until then")
    func hour() {
        let times = RecentTimes(registry, of: ["part_seconds"], at: 0)
        for look in 1...RecentTimes.max - 1 {
            record(50)
            times.snapshot(at: Int64(look))
        }
        #expect(count(times) == RecentTimes.max - 1 && times.since == 0)
        record(50)
        times.snapshot(at: 100)
        // Observations before the second look are older than an hour.
        #expect(count(times) == RecentTimes.max - 1 && times.since == 1)
    }

    @Test(
        "a quantile lies between the bounds of where it falls, in proportion",
        arguments: [
            ([4, 0, 0, 0], 0.5, 0.05), ([0, 4, 0, 0], 0.5, 0.15), ([2, 2, 0, 0], 0.5, 0.1), ([2, 2, 0, 0], 0.75, 0.15),
            ([0, 0, 4, 0], 1, 0.4), ([0, 0, 0, 3], 0.5, 0.4), ([1, 0, 0, 3], 0.95, 0.4), ([0, 0, 0, 0], 0.5, nil),
        ] as [([Int], Double, Double?)]
    )
    func quantile(_ counts: [Int], _ share: Double, _ value: Double?) {
        let found = Observations(bounds: [0.1, 0.2, 0.4], counts: counts).quantile(share)
        #expect(found.map { ($0 * 1000).rounded() } == value.map { ($0 * 1000).rounded() })
    }
}
