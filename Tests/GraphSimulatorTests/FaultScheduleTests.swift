import Testing

@testable import GraphSimulator

@Suite("the schedule decides which request a fault strikes")
struct FaultScheduleTests {
    /// The values of `after`, `every` and `count`, and an `x` for each struck request of ten.
    static let rules: [(Int, Int, Int?, String)] = [
        (0, 1, nil, "xxxxxxxxxx"), (0, 1, 3, "xxx......."), (2, 1, nil, "..xxxxxxxx"), (0, 3, nil, "..x..x..x."),
        (2, 3, nil, "....x..x.."), (1, 2, 2, "..x.x....."), (0, 1, 0, ".........."),
    ]

    @Test("after, every and count", arguments: rules)
    func rule(_ after: Int, _ every: Int, _ count: Int?, _ struck: String) {
        var schedule = FaultSchedule()
        _ = schedule.add(Fault(.empty, after: after, every: every, count: count))
        let trace = (0..<10).map { _ in
            schedule.verdict(path: "me", app: nil, tokens: []).effect == nil ? "." : "x"
        }
        #expect(trace.joined() == struck)
    }

    @Test("a percentage is kept and repeats with its seed")
    func percent() {
        func trace(seed: UInt64) -> [Bool] {
            var schedule = FaultSchedule()
            _ = schedule.add(Fault(.empty, percent: 10, seed: seed))
            return (0..<10_000).map { _ in schedule.verdict(path: "me", app: nil, tokens: []).effect != nil }
        }
        let first = trace(seed: 7)
        #expect((900...1100).contains(first.count { $0 }))
        #expect(trace(seed: 7) == first)
        #expect(trace(seed: 8) != first)
    }

    /// The path of the fault, the path of the request, and whether they match.
    static let paths: [(String, String, Bool)] = [
        ("me", "me", true), ("me", "me/permissions", true), ("me", "me2", false), ("me", "debug_token", false),
        ("me/permissions", "me", false), ("oauth/access_token", "oauth/access_token", true),
    ]

    @Test("paths match whole components", arguments: paths)
    func path(_ wanted: String, _ path: String, _ matches: Bool) {
        var schedule = FaultSchedule()
        _ = schedule.add(Fault(.empty, path: wanted))
        #expect((schedule.verdict(path: path, app: nil, tokens: []).effect != nil) == matches)
    }

    @Test("what happens before a request is judged per connection, everything else per request")
    func connections() {
        var schedule = FaultSchedule()
        _ = schedule.add(Fault(.interrupt(.request, .hang)))
        _ = schedule.add(Fault(.interrupt(.accept, .reset), count: 1))
        #expect(schedule.verdictOnConnection()?.moment == .accept)
        #expect(schedule.verdictOnConnection() == nil)
        let verdict = schedule.verdict(path: "me", app: nil, tokens: [])
        guard case .interrupt(.request, .hang)? = verdict.effect else {
            Issue.record("the request-level fault did not strike")
            return
        }
    }
}
