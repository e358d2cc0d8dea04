@testable import Observability
import Testing

@Suite("Of lines of one kind so many are written in a second, and the others are counted")
struct RepetitionsTests {
    private static let login = Repetitions.Kind(message: "login", outcome: "login_invalid")
    private static let other = Repetitions.Kind(message: "login", outcome: "credential_invalid")
    private static let start = ContinuousClock.now

    private static func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    @Test("each kind has a second of its own, which begins with its first line")
    func windows() {
        var repetitions = Repetitions(max: 2)
        #expect(repetitions.count(Self.login, at: Self.at(0)) == .written)
        #expect(repetitions.count(Self.login, at: Self.at(900)) == .written)
        #expect(repetitions.count(Self.login, at: Self.at(950)) == .leftOut(isFirst: true))
        #expect(repetitions.count(Self.login, at: Self.at(999)) == .leftOut(isFirst: false))
        #expect(repetitions.count(Self.other, at: Self.at(999)) == .written)
        #expect(repetitions.count(Self.login, at: Self.at(1000)) == .written, "the next second")
        #expect(repetitions.count(Self.login, at: Self.at(1999)) == .written)
        #expect(repetitions.count(Self.login, at: Self.at(1999)) == .leftOut(isFirst: false))
    }

    @Test("no count is lost: of however many lines, those that are written and those that are told add up")
    func sums() {
        var repetitions = Repetitions(max: 3)
        var written = 0
        var told = 0
        for step in 0..<5000 {
            if repetitions.count(Self.login, at: Self.at(step * 7)) == .written { written += 1 }
            if step % 11 == 0 { told += repetitions.takeLeftOut(at: Self.at(step * 7)).map(\.lines).reduce(0, +) }
        }
        told += repetitions.takeLeftOut(at: Self.at(5000 * 7)).map(\.lines).reduce(0, +)
        #expect(written + told == 5000)
        #expect(written <= 3 * (5000 * 7 / 1000 + 1))
    }

    @Test("what was left out is told by kind, once, and asked for once")
    func told() {
        var repetitions = Repetitions(max: 1)
        for kind in [Self.login, Self.other] {
            for _ in 0..<3 { _ = repetitions.count(kind, at: Self.at(0)) }
        }
        let leftOut = repetitions.takeLeftOut(at: Self.at(500))
        #expect(leftOut.map(\.kind) == [Self.other, Self.login])
        #expect(leftOut.map(\.lines) == [2, 2])
        #expect(repetitions.takeLeftOut(at: Self.at(500)).isEmpty)
        #expect(repetitions.count(Self.login, at: Self.at(600)) == .leftOut(isFirst: true))
        #expect(repetitions.takeLeftOut(at: Self.at(2000)).map(\.lines) == [1])
    }
}
