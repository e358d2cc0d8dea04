import Dispatch
import Logging
import NIOConcurrencyHelpers
import Synchronization

/// Limits how many log lines of the same kind are written in a second.
///
/// So a client cannot fill the disk with an endless series of refused requests. The kind of a line is its message
/// together with its `outcome` or `reason`. All of these are fixed texts of the service. Lines beyond the limit are
/// left out and counted. About a second after the first of them, a line in the log states how many were left out.
package final class NoticeLimit: Sendable {
    private let output: LineOutput
    private let repetitions: NIOLockedValueBox<Repetitions>
    private let queue = DispatchQueue(label: "log notices")
    private let leftOutInAll = Synchronization.Atomic<Int>(0)

    /// The number of lines that were left out since the start.
    package var leftOut: Int { leftOutInAll.load(ordering: .relaxed) }

    package init(output: LineOutput, perSecond: Int = 100) {
        self.output = output
        repetitions = NIOLockedValueBox(Repetitions(max: perSecond))
    }

    /// Counts a line, and returns whether the limit allows to write the line.
    func admits(_ kind: Repetitions.Kind) -> Bool {
        switch repetitions.withLockedValue({ $0.count(kind, at: .now) }) {
        case .written: return true
        case .leftOut(isFirst: false):
            leftOutInAll.wrappingAdd(1, ordering: .relaxed)
            return false
        case .leftOut(isFirst: true):
            leftOutInAll.wrappingAdd(1, ordering: .relaxed)
            queue.asyncAfter(deadline: .now() + Repetitions.seconds) { self.report() }
            return false
        }
    }

    /// Writes to the log how many lines of each kind were left out since the last call of this method.
    package func report() {
        for (kind, lines) in repetitions.withLockedValue({ $0.takeLeftOut(at: .now) }) {
            var members = [("of", kind.message)]
            if let outcome = kind.outcome { members.append(("outcome", outcome)) }
            members.append(("lines", String(lines)))
            output.write(JSONLogHandler.line(level: .notice, message: "lines left out", members: members))
        }
    }
}

/// Counts the log lines of each kind within a second, and decides which of them exceed the limit.
///
/// The type has no clock: callers pass the current time.
struct Repetitions: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct Kind: Hashable, Sendable {
        let message: String
        let outcome: String?
    }

    enum Verdict: Equatable {
        case written
        /// The line exceeds the limit and is left out.
        ///
        /// If `isFirst` is true, this is the first such line since the last call of `takeLeftOut`. The caller must then
        /// call `takeLeftOut` again later.
        case leftOut(isFirst: Bool)
    }

    private struct Count {
        let begin: Instant
        var written = 0
        var leftOut = 0
    }

    static let seconds = 1.0
    private let max: Int
    private var counts: [Kind: Count] = [:]
    private var isDue = false

    init(max: Int) {
        self.max = max
    }

    mutating func count(_ kind: Kind, at now: Instant) -> Verdict {
        var count = counts[kind] ?? Count(begin: now)
        if Self.isOver(count, at: now) { count = Count(begin: now, leftOut: count.leftOut) }
        defer { counts[kind] = count }
        guard count.written >= max else {
            count.written += 1
            return .written
        }
        count.leftOut += 1
        defer { isDue = true }
        return .leftOut(isFirst: !isDue)
    }

    /// Returns the number of left-out lines of each kind, sorted by kind, and sets the numbers to 0.
    mutating func takeLeftOut(at now: Instant) -> [(kind: Kind, lines: Int)] {
        isDue = false
        let leftOut = counts.filter { $0.value.leftOut > 0 }.map { ($0.key, $0.value.leftOut) }
        counts = counts.filter { !Self.isOver($0.value, at: now) }
        for kind in counts.keys { counts[kind]?.leftOut = 0 }
        return leftOut.sorted { ($0.0.message, $0.0.outcome ?? "") < ($1.0.message, $1.0.outcome ?? "") }
    }

    private static func isOver(_ count: Count, at now: Instant) -> Bool {
        now - count.begin >= .seconds(seconds)
    }
}
