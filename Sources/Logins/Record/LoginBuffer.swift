package import Store
import Vocabulary

/// Logins that are not written yet, within bounds: rows of those that succeeded and of some that were refused, and the
/// numbers of all.
///
/// A value without a clock: when a turn is over, its caller says.
package struct LoginBuffer: Sendable {
    /// Rows of refused logins that one turn takes in.
    private let mostInTurn: Int
    /// Rows that wait, of several turns where the database is away.
    private let mostWaiting: Int
    private var turn: LoginSample
    private var waiting: [LoginRecord] = []
    private var counts: [LoginKind: LoginCount] = [:]
    /// Logins that are in no number any more, since too many numbers wait.
    private var uncounted: Int64 = 0

    /// What is written at once.
    package struct Batch: Sendable {
        package var records: [LoginRecord]
        package var counts: [LoginKind: LoginCount]

        package var isEmpty: Bool { records.isEmpty && counts.isEmpty }
    }

    /// - Parameters:
    ///   - mostInTurn: Rows of refused logins that one turn takes in.
    ///   - turnsWaiting: How many full turns wait for the database.
    package init(mostInTurn: Int, turnsWaiting: Int = 60) {
        self.mostInTurn = mostInTurn
        mostWaiting = mostInTurn * turnsWaiting
        turn = LoginSample(most: mostInTurn)
    }

    package mutating func add(_ record: LoginRecord) {
        count(LoginKind(record), LoginCount(logins: 1))
        if let leftOut = turn.add(record) { leave(leftOut) }
    }

    /// Ends a turn: the next one has room again, and what has waited for too long goes.
    ///
    /// - Returns: How many logins are in no number, since too many numbers wait.
    package mutating func endTurn() -> Int64 {
        waiting += turn.records
        turn = LoginSample(most: mostInTurn)
        trim()
        defer { uncounted = 0 }
        return uncounted
    }

    /// Takes out what has waited the longest.
    package mutating func take(most: Int) -> Batch {
        let records = Array(waiting.prefix(most))
        waiting.removeFirst(records.count)
        let counts = Dictionary(uniqueKeysWithValues: counts.prefix(most).map { ($0.key, $0.value) })
        for kind in counts.keys { self.counts[kind] = nil }
        return Batch(records: records, counts: counts)
    }

    /// Takes back what could not be written.
    package mutating func putBack(_ batch: Batch) {
        waiting = batch.records + waiting
        for (kind, number) in batch.counts { count(kind, number) }
        trim()
    }

    /// Gives up rows of a batch, whose numbers stay.
    package mutating func leave(_ batch: Batch) {
        for (kind, number) in batch.counts { count(kind, number) }
        for record in batch.records { leave(record) }
    }

    /// Leaves rows out until the others fit: the oldest refused logins first, then the oldest of all.
    private mutating func trim() {
        var excess = waiting.count - mostWaiting
        guard excess > 0 else { return }
        var kept: [LoginRecord] = []
        kept.reserveCapacity(mostWaiting)
        for record in waiting {
            if excess > 0, !record.isAlwaysListed {
                leave(record)
                excess -= 1
            } else {
                kept.append(record)
            }
        }
        for record in kept.prefix(excess) { leave(record) }
        waiting = Array(kept.dropFirst(excess))
    }

    private mutating func leave(_ record: LoginRecord) {
        count(LoginKind(record), LoginCount(unlisted: 1))
    }

    /// Numbers kept at once; a service has some dozens in a minute.
    static let mostCounts = 10_000

    private mutating func count(_ kind: LoginKind, _ number: LoginCount) {
        guard counts[kind] != nil || counts.count < Self.mostCounts else {
            uncounted += number.logins
            return
        }
        counts[kind, default: LoginCount()] = counts[kind, default: LoginCount()] + number
    }
}

/// The rows of one turn: all logins that succeeded, and a bounded number of refused ones.
///
/// A thousand refused logins in a second hide neither the one that succeeds among them nor those of others: where there
/// is no room for one more, the application with the most rows makes room, and within it the source with the most.
struct LoginSample: Sendable {
    private let most: Int
    private var kept = 0
    private var listed: [LoginRecord] = []
    private var refused: [ApplicationID: RefusedLogins] = [:]

    init(most: Int) {
        self.most = most
    }

    /// Those that were kept, in the order of their time.
    var records: [LoginRecord] {
        (listed + refused.values.flatMap(\.records)).sorted { $0.happened < $1.happened }
    }

    /// - Returns: The one that was left out.
    mutating func add(_ record: LoginRecord) -> LoginRecord? {
        guard !record.isAlwaysListed else {
            listed.append(record)
            return nil
        }
        let application = record.application
        guard kept >= most else {
            kept += 1
            refused[application, default: RefusedLogins()].keep(record)
            return nil
        }
        let own = refused[application]?.count ?? 0
        let largest = refused.max { $0.value.count < $1.value.count }
        if let largest, largest.value.count > own + 1 {
            refused[application, default: RefusedLogins()].keep(record)
            return refused[largest.key]?.leaveOneOut()
        }
        guard refused[application]?.hasLargerSource(than: record) == true else { return record }
        let leftOut = refused[application]?.leaveOneOut()
        refused[application]?.keep(record)
        return leftOut
    }
}

/// Refused logins of an application, by where they came from.
private struct RefusedLogins: Sendable {
    private(set) var count = 0
    private var sources: [String: [LoginRecord]] = [:]

    var records: [LoginRecord] { sources.values.flatMap { $0 } }

    mutating func keep(_ record: LoginRecord) {
        count += 1
        sources[record.network, default: []].append(record)
    }

    /// Whether another source has at least two rows more than the source of a login, and so makes room for it.
    func hasLargerSource(than record: LoginRecord) -> Bool {
        let own = sources[record.network]?.count ?? 0
        return sources.values.contains { $0.count > own + 1 }
    }

    /// Leaves out the newest login of the source that has the most.
    mutating func leaveOneOut() -> LoginRecord? {
        guard let largest = sources.max(by: { $0.value.count < $1.value.count })?.key,
            let record = sources[largest]?.popLast()
        else { return nil }
        count -= 1
        if sources[largest]?.isEmpty == true { sources[largest] = nil }
        return record
    }
}

extension LoginRecord {
    /// Whether the log always has a row of it: it succeeded, or the first of two factors was shown, which takes an
    /// account or a stolen password.
    fileprivate var isAlwaysListed: Bool {
        outcome != .refused || reason == .secondFactorRequired || reason == .secondFactorEnrolmentRequired
    }

    /// The source: an IPv4 address, or the /64 of an IPv6 address, all of which one person has.
    fileprivate var network: String {
        guard let source else { return "" }
        guard source.utf8.contains(UInt8(ascii: ":")) else { return source }
        let gap = source.firstRange(of: "::")
        let head = source[..<(gap?.lowerBound ?? source.endIndex)].split(separator: ":")
        let tail = gap.map { source[$0.upperBound...].split(separator: ":") } ?? []
        let zeros = Array(repeating: Substring("0"), count: max(8 - head.count - tail.count, 0))
        return (head + zeros + tail).prefix(4).joined(separator: ":")
    }
}
