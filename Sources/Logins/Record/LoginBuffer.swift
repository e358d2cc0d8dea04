import Domain
package import Store

/// A bounded buffer of logins that are not written yet.
///
/// It has rows of all successful logins and of some refused ones, and counts of all logins. A value without a clock:
/// its owner ends each turn.
package struct LoginBuffer: Sendable {
    /// The maximum number of rows of refused logins in one turn.
    private let mostInTurn: Int
    /// The maximum number of waiting rows, from several turns while the database is unavailable.
    private let mostWaiting: Int
    private var turn: LoginSample
    private var waiting: [LoginRecord] = []
    private var counts: [LoginKind: LoginCount] = [:]
    /// The number of logins missing from the counts, since too many counts wait.
    private var uncounted: Int64 = 0

    /// Rows and counts that are written at once.
    package struct Batch: Sendable {
        package var records: [LoginRecord]
        package var counts: [LoginKind: LoginCount]

        package var isEmpty: Bool { records.isEmpty && counts.isEmpty }
    }

    /// - Parameters:
    ///   - mostInTurn: The maximum number of rows of refused logins in one turn.
    ///   - turnsWaiting: The number of full turns that may wait for the database.
    package init(mostInTurn: Int, turnsWaiting: Int = 60) {
        self.mostInTurn = mostInTurn
        mostWaiting = mostInTurn * turnsWaiting
        turn = LoginSample(most: mostInTurn)
    }

    package mutating func add(_ record: LoginRecord) {
        count(LoginKind(record), LoginCount(logins: 1))
        if let leftOut = turn.add(record) { leave(leftOut) }
    }

    /// Ends a turn: frees room for the next turn, and drops the oldest rows beyond the bound.
    ///
    /// - Returns: The number of logins missing from the counts, since too many counts wait.
    package mutating func endTurn() -> Int64 {
        waiting += turn.records
        turn = LoginSample(most: mostInTurn)
        trim()
        defer { uncounted = 0 }
        return uncounted
    }

    /// Removes and returns the rows that have waited the longest, and counts.
    package mutating func take(most: Int) -> Batch {
        let records = Array(waiting.prefix(most))
        waiting.removeFirst(records.count)
        let counts = Dictionary(uniqueKeysWithValues: counts.prefix(most).map { ($0.key, $0.value) })
        for kind in counts.keys { self.counts[kind] = nil }
        return Batch(records: records, counts: counts)
    }

    /// Takes back a batch that could not be written.
    package mutating func putBack(_ batch: Batch) {
        waiting = batch.records + waiting
        for (kind, number) in batch.counts { count(kind, number) }
        trim()
    }

    /// Drops the rows of a batch, but keeps its counts.
    package mutating func leave(_ batch: Batch) {
        for (kind, number) in batch.counts { count(kind, number) }
        for record in batch.records { leave(record) }
    }

    /// Drops rows until the others fit: first the oldest refused logins, then the oldest of all.
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

    /// The maximum number of counts; a service has some dozens in a minute.
    static let mostCounts = 10_000

    private mutating func count(_ kind: LoginKind, _ number: LoginCount) {
        guard counts[kind] != nil || counts.count < Self.mostCounts else {
            uncounted += number.logins
            return
        }
        counts[kind, default: LoginCount()] = counts[kind, default: LoginCount()] + number
    }
}

/// The rows of one turn: all successful logins, and a bounded number of refused ones.
///
/// A thousand refused logins in a second hide neither the successful login among them nor the refused logins of others.
/// Without room for a further row, the application with the most rows makes room, and within it the source with the
/// most rows.
struct LoginSample: Sendable {
    private let most: Int
    private var kept = 0
    private var listed: [LoginRecord] = []
    private var refused: [ApplicationID: RefusedLogins] = [:]

    init(most: Int) {
        self.most = most
    }

    /// The kept rows, in chronological order.
    var records: [LoginRecord] {
        (listed + refused.values.flatMap(\.records)).sorted { $0.happened < $1.happened }
    }

    /// Adds a row.
    ///
    /// - Returns: The row that was dropped, if any.
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

/// The refused logins of an application, by source.
private struct RefusedLogins: Sendable {
    private(set) var count = 0
    private var sources: [String: [LoginRecord]] = [:]

    var records: [LoginRecord] { sources.values.flatMap { $0 } }

    mutating func keep(_ record: LoginRecord) {
        count += 1
        sources[record.network, default: []].append(record)
    }

    /// Returns whether another source has at least two rows more than the source of a login, and so makes room for it.
    func hasLargerSource(than record: LoginRecord) -> Bool {
        let own = sources[record.network]?.count ?? 0
        return sources.values.contains { $0.count > own + 1 }
    }

    /// Drops the newest login of the source with the most rows.
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
    /// Whether the log always has a row of the login.
    ///
    /// It has one of a successful login, and of a login whose first of two factors was shown: that takes an account or
    /// a stolen password.
    fileprivate var isAlwaysListed: Bool {
        outcome != .refused || reason == .secondFactorRequired || reason == .secondFactorEnrolmentRequired
    }

    /// The source: an IPv4 address, or the /64 of an IPv6 address, since one user has a whole /64.
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
