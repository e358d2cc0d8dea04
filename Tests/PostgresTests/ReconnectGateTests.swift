import Testing

@testable import Postgres

@Suite("When to connect again")
struct ReconnectGateTests {
    private let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    @Test("one attempt goes ahead, and the others follow its success")
    func probing() {
        var gate = ReconnectGate()
        #expect(gate.begin(now: at(0)) == true)
        #expect(gate.begin(now: at(0)) == false)
        gate.succeeded()
        #expect(gate.begin(now: at(0)) == true)
        #expect(gate.begin(now: at(0)) == true)
    }

    @Test("each failure doubles the pause, up to two seconds")
    func backOff() {
        var gate = ReconnectGate()
        var pauses: [Duration] = []
        var now = at(0)
        for _ in 0..<8 {
            #expect(gate.begin(now: now) == true)
            gate.failed(now: now, chance: 0)
            guard let next = gate.nextAttempt else { break }
            #expect(gate.begin(now: next - .nanoseconds(1)) == false)
            pauses.append(next - now)
            now = next
        }
        #expect(pauses == [50, 100, 200, 400, 800, 1600, 2000, 2000].map { .milliseconds($0) })
    }

    @Test("chance shortens a pause by a half at most")
    func jitter() {
        var gate = ReconnectGate()
        _ = gate.begin(now: at(0))
        gate.failed(now: at(0), chance: 1)
        #expect(gate.nextAttempt == at(25))
    }

    @Test("a server that refuses sees at most ten attempts in any second, whatever chance says")
    func rate() {
        var gate = ReconnectGate()
        var attempts: [Int] = []
        for millisecond in 0..<10_000 where gate.begin(now: at(millisecond)) {
            attempts.append(millisecond)
            gate.failed(now: at(millisecond), chance: 1)
        }
        let max = (0..<9_000).map { start in attempts.count { $0 >= start && $0 < start + 1000 } }.max() ?? 0
        #expect(max <= 10)
        #expect(max > 1)
    }

    @Test("of several attempts that fail together the first one counts")
    func together() {
        var gate = ReconnectGate()
        gate.succeeded()
        for _ in 0..<8 { gate.failed(now: at(0), chance: 0) }
        #expect(gate.nextAttempt == at(50))
    }

    @Test("a connection that breaks after a while is replaced by one attempt at once")
    func losing() {
        var gate = ReconnectGate()
        gate.succeeded()
        gate.lost(age: .seconds(3), now: at(0), chance: 0)
        #expect(gate.begin(now: at(0)) == true)
        #expect(gate.begin(now: at(0)) == false)
    }

    @Test("a server that accepts and hangs up is not hammered")
    func flapping() {
        var gate = ReconnectGate()
        var now = at(0)
        var pauses: [Duration] = []
        for _ in 0..<4 {
            #expect(gate.begin(now: now) == true)
            gate.succeeded()
            gate.lost(age: .milliseconds(1), now: now, chance: 0)
            guard let next = gate.nextAttempt else { break }
            pauses.append(next - now)
            now = next
        }
        #expect(pauses == [50, 100, 200, 400].map { .milliseconds($0) })
    }

    @Test("an attempt that was given up says nothing")
    func withdrawing() {
        var gate = ReconnectGate()
        _ = gate.begin(now: at(0))
        gate.withdrawn()
        #expect(gate.begin(now: at(0)) == true)
    }
}
