import Dispatch
import Logging
import NIOConcurrencyHelpers
import Synchronization

/// A limit of log lines per second and kind, so that a client with endless refused requests does not fill the disk.
///
/// Lines beyond the limit are counted. A line tells how many were left out, at the latest a second after the first of
/// them. A kind is a message with its `outcome` or `reason`, which are all fixed texts of the service.
package final class NoticeLimit: Sendable {
    private let output: LineOutput
    private let repetitions: NIOLockedValueBox<Repetitions>
    private let queue = DispatchQueue(label: "log notices")
    private let leftOutInAll = Synchronization.Atomic<Int>(0)

    /// The number of lines left out since the start.
    package var leftOut: Int { leftOutInAll.load(ordering: .relaxed) }

    package init(output: LineOutput, perSecond: Int = 100) {
        self.output = output
        repetitions = NIOLockedValueBox(Repetitions(most: perSecond))
    }

    /// Whether a line of this kind may be written; counts the line in any case.
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

    /// Writes how many lines of each kind have been left out since the last report.
    package func report() {
        for (kind, lines) in repetitions.withLockedValue({ $0.takeLeftOut(at: .now) }) {
            var members = [("of", kind.message)]
            if let outcome = kind.outcome { members.append(("outcome", outcome)) }
            members.append(("lines", String(lines)))
            output.write(JSONLogHandler.line(level: .notice, message: "lines left out", members: members))
        }
    }
}

/// The number of lines of each kind in the current second; times are passed as arguments.
struct Repetitions: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct Kind: Hashable, Sendable {
        let message: String
        let outcome: String?
    }

    enum Verdict: Equatable {
        case written
        /// `isFirst`: the first line left out since `takeLeftOut`, which must be called again.
        case leftOut(isFirst: Bool)
    }

    private struct Count {
        let begin: Instant
        var written = 0
        var leftOut = 0
    }

    static let seconds = 1.0
    private let most: Int
    private var counts: [Kind: Count] = [:]
    private var isDue = false

    init(most: Int) {
        self.most = most
    }

    mutating func count(_ kind: Kind, at now: Instant) -> Verdict {
        var count = counts[kind] ?? Count(begin: now)
        if Self.isOver(count, at: now) { count = Count(begin: now, leftOut: count.leftOut) }
        defer { counts[kind] = count }
        guard count.written >= most else {
            count.written += 1
            return .written
        }
        count.leftOut += 1
        defer { isDue = true }
        return .leftOut(isFirst: !isDue)
    }

    /// Returns the kinds and numbers of the lines left out, sorted by kind, and resets the numbers.
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
