import Domain
@testable import Facebook
import Providers
import Testing

@Suite("Work in the background asks less before logins suffer")
struct BackgroundGateTests {
    private let start = ContinuousClock.now

    @Test(
        "the usage of the allowance decides the pace",
        arguments: [(0, BackgroundPace.full), (49, .full), (50, .slow), (74, .slow), (75, .none), (400, .none)]
    )
    func usage(percent: Int, pace: BackgroundPace) {
        var gate = BackgroundGate()
        gate.note(usage: percent, at: start)
        #expect(gate.pace(at: start + .seconds(1)) == pace)
    }

    @Test("where nothing is asked no newer word comes: after five minutes it tries slowly, and the next word counts")
    func stale() {
        var gate = BackgroundGate()
        gate.note(usage: 80, at: start)
        #expect(gate.pace(at: start + .seconds(299)) == .none)
        #expect(gate.pace(at: start + .seconds(300)) == .slow)
        gate.note(usage: 80, at: start + .seconds(300))
        #expect(gate.pace(at: start + .seconds(301)) == .none)
        gate.note(usage: 20, at: start + .seconds(600))
        #expect(gate.pace(at: start + .seconds(601)) == .full)
    }

    @Test("a rate limit stops it for as long as Graph says, or a minute")
    func limited() {
        var gate = BackgroundGate()
        gate.note(.limited(RateLimit(seconds: 300)), at: start)
        #expect(gate.pace(at: start + .seconds(299)) == .none)
        #expect(gate.pace(at: start + .seconds(300)) == .full)
        gate.note(.limited(RateLimit(seconds: nil)), at: start)
        #expect(gate.pace(at: start + .seconds(59)) == .none)
        #expect(gate.pace(at: start + .seconds(60)) == .full)
    }

    @Test("failures stop it for longer and longer, up to a minute, and an answer ends that")
    func failures() {
        var gate = BackgroundGate()
        var pauses: [Int] = []
        for _ in 0..<20 {
            gate.note(.failed, at: start)
            pauses.append((0...200).first { gate.pace(at: start + .milliseconds($0 * 500)) == .full } ?? -1)
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 120] + Array(repeating: 120, count: 12))
        gate.note(nil, at: start)
        gate.note(.transient, at: start)
        #expect(gate.pace(at: start + .milliseconds(500)) == .full)
    }

    @Test(
        "nothing that it meets is told to the circuit breaker of the logins, and while that is open it asks nothing"
    )
    func breaker() throws {
        let key = AppLink.Key(application: try #require(ApplicationID("demo")), app: try #require(ProviderAppID("1")))
        let link = AppLink(key)
        #expect(link.backgroundPace() == .full)
        for _ in 0..<100 { link.noteInBackground(.failed) }
        #expect(try !link.pass().isProbe, "one of many")
        #expect(link.backgroundPace() == .none)

        let other = AppLink(key)
        other.record(.limited(RateLimit(seconds: 30)), of: try other.pass())
        #expect(other.backgroundPace() == .none)
    }
}
