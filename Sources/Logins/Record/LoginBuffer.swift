import Domain
package import Store

/// A bounded buffer of logins that are not written to the database yet.
///
/// The buffer contains rows of all successful logins and of some refused ones, and counts of all logins. Time is
/// divided into turns, and the number of rows of refused logins in each turn is limited. The buffer has no clock: its
/// owner ends each turn with `endTurn`.
package struct LoginBuffer: Sendable {
    /// The maximum number of rows of refused logins between two calls of `endTurn`.
    private let maxPerTurn: Int
    /// The maximum number of rows that wait to be written to the database.
    ///
    /// Rows of several turns wait while the database is unavailable.
    private let maxWaiting: Int
    private var turn: LoginSample
    private var waiting: [LoginRecord] = []
    private var counts: [LoginKind: LoginCount] = [:]
    /// The number of logins that `counts` does not include, because `counts` already has `maxCounts` entries.
    private var uncounted: Int64 = 0

    /// The rows and counts of logins that one write to the database takes from the buffer.
    package struct Batch: Sendable {
        package var records: [LoginRecord]
        package var counts: [LoginKind: LoginCount]

        package var isEmpty: Bool { records.isEmpty && counts.isEmpty }
    }

    /// - Parameters:
    ///   - maxPerTurn: The maximum number of rows of refused logins between two calls of `endTurn`.
    ///   - turnsWaiting: The number of full turns that may wait for the database.
    package init(maxPerTurn: Int, turnsWaiting: Int = 60) {
        self.maxPerTurn = maxPerTurn
        maxWaiting = maxPerTurn * turnsWaiting
        turn = LoginSample(max: maxPerTurn)
    }

    package mutating func add(_ record: LoginRecord) {
        count(LoginKind(record), LoginCount(logins: 1))
        if let leftOut = turn.add(record) { leave(leftOut) }
    }

    /// Ends a turn of the buffer: a period in which it accepts a limited number of refused logins.
    ///
    /// If too many rows wait for the database, drops some of them.
    ///
    /// - Returns: The number of logins since the last call that were not counted, because the buffer already has the
    ///   maximum number of counters.
    package mutating func endTurn() -> Int64 {
        waiting += turn.records
        turn = LoginSample(max: maxPerTurn)
        trim()
        defer { uncounted = 0 }
        return uncounted
    }

    /// Removes and returns the rows that have waited the longest, and counts: at most `max` of each.
    package mutating func take(max: Int) -> Batch {
        let records = Array(waiting.prefix(max))
        waiting.removeFirst(records.count)
        let counts = Dictionary(uniqueKeysWithValues: counts.prefix(max).map { ($0.key, $0.value) })
        for kind in counts.keys { self.counts[kind] = nil }
        return Batch(records: records, counts: counts)
    }

    /// Returns a batch to the buffer, after the database has not accepted it.
    package mutating func putBack(_ batch: Batch) {
        waiting = batch.records + waiting
        for (kind, number) in batch.counts { count(kind, number) }
        trim()
    }

    /// Drops the rows of a batch, and returns its counts to the buffer.
    package mutating func leave(_ batch: Batch) {
        for (kind, number) in batch.counts { count(kind, number) }
        for record in batch.records { leave(record) }
    }

    /// Drops the rows that exceed the maximum: first the oldest refused logins, then the oldest of the others.
    private mutating func trim() {
        var excess = waiting.count - maxWaiting
        guard excess > 0 else { return }
        var kept: [LoginRecord] = []
        kept.reserveCapacity(maxWaiting)
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

    /// The maximum number of counts in the buffer.
    ///
    /// A service has some dozens of counts in a minute.
    static let maxCounts = 10_000

    private mutating func count(_ kind: LoginKind, _ number: LoginCount) {
        guard counts[kind] != nil || counts.count < Self.maxCounts else {
            uncounted += number.logins
            return
        }
        counts[kind, default: LoginCount()] = counts[kind, default: LoginCount()] + number
    }
}

/// Rows of the logins in one turn of the buffer: all successful logins, and a limited number of refused ones.
///
/// When the limit is reached, the next refused login replaces a row of the application with the most rows; within that
/// application, a row of the source with the most rows. This requires that the application, or the source, of the
/// replaced row has at least two rows more than that of the new login. Otherwise, the new login is dropped. So a flood
/// of refused logins never hides a successful login, or the refused logins of other applications and sources.
struct LoginSample: Sendable {
    private let max: Int
    private var kept = 0
    private var listed: [LoginRecord] = []
    private var refused: [ApplicationID: RefusedLogins] = [:]

    init(max: Int) {
        self.max = max
    }

    /// The kept rows, in chronological order.
    var records: [LoginRecord] {
        (listed + refused.values.flatMap(\.records)).sorted { $0.happened < $1.happened }
    }

    /// Adds a row.
    ///
    /// - Returns: The row that was dropped to make room, if any. It may be the added row.
    mutating func add(_ record: LoginRecord) -> LoginRecord? {
        guard !record.isAlwaysListed else {
            listed.append(record)
            return nil
        }
        let application = record.application
        guard kept >= max else {
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

/// The refused logins of an application, grouped by source.
private struct RefusedLogins: Sendable {
    private(set) var count = 0
    private var sources: [String: [LoginRecord]] = [:]

    var records: [LoginRecord] { sources.values.flatMap { $0 } }

    mutating func keep(_ record: LoginRecord) {
        count += 1
        sources[record.network, default: []].append(record)
    }

    /// Returns whether the source with the most rows has at least two rows more than the source of a login.
    ///
    /// If so, the caller drops a row of that source to make room for the login.
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
    /// Whether the buffer keeps a row of this login even during a flood of logins.
    ///
    /// This applies to each successful login. It also applies to each login that lacks only the second factor: its
    /// sender has an account or a stolen password, so an attacker cannot send many of them.
    fileprivate var isAlwaysListed: Bool {
        outcome != .refused || reason == .secondFactorRequired || reason == .secondFactorEnrolmentRequired
    }

    /// The network of the client: an IPv4 address, or the /64 prefix of an IPv6 address, since one user has a whole
    /// /64.
    fileprivate var network: String {
        guard let source else { return "" }
        guard source.utf8.contains(UInt8(ascii: ":")) else { return source }
        let gap = source.firstRange(of: "::")
        let head = source[..<(gap?.lowerBound ?? source.endIndex)].split(separator: ":")
        let tail = gap.map { source[$0.upperBound...].split(separator: ":") } ?? []
        let zeros = Array(repeating: Substring("0"), count: Swift.max(8 - head.count - tail.count, 0))
        return (head + zeros + tail).prefix(4).joined(separator: ":")
    }
}
