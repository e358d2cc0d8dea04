package import Store
import Vocabulary

/// What was heard of logins and is not written yet, within bounds: rows of some of them, and the numbers of all.
///
/// A value without a clock: when a turn is over, its caller says.
package struct LoginBuffer: Sendable {
    /// Rows that one turn takes in.
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
    ///   - mostInTurn: Rows that one turn takes in.
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

    private mutating func trim() {
        let excess = waiting.count - mostWaiting
        guard excess > 0 else { return }
        for record in waiting.prefix(excess) { leave(record) }
        waiting.removeFirst(excess)
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

/// The rows of one turn, so many at most.
///
/// Where there is no room for one more, the application with the most rows makes room, so that a flood at one hides
/// nobody else's; and within it a login that succeeded goes before one that was refused, which is what people look for.
struct LoginSample: Sendable {
    private let most: Int
    private var kept = 0
    private var applications: [ApplicationID: (refused: [LoginRecord], others: [LoginRecord])] = [:]

    init(most: Int) {
        self.most = most
    }

    /// Those that were kept, in the order of their time.
    var records: [LoginRecord] {
        applications.values.flatMap { $0.refused + $0.others }.sorted { $0.happened < $1.happened }
    }

    /// - Returns: The one that was left out.
    mutating func add(_ record: LoginRecord) -> LoginRecord? {
        guard kept >= most else {
            kept += 1
            keep(record)
            return nil
        }
        let own = rows(of: record.application)
        if let largest = applications.keys.max(by: { rows(of: $0) < rows(of: $1) }), rows(of: largest) > own + 1 {
            let leftOut =
                applications[largest]?.others.popLast() ?? applications[largest]?.refused.popLast()
            keep(record)
            return leftOut
        }
        guard record.outcome == .refused, let leftOut = applications[record.application]?.others.popLast() else {
            return record
        }
        keep(record)
        return leftOut
    }

    private func rows(of application: ApplicationID) -> Int {
        applications[application].map { $0.refused.count + $0.others.count } ?? 0
    }

    private mutating func keep(_ record: LoginRecord) {
        if record.outcome == .refused {
            applications[record.application, default: ([], [])].refused.append(record)
        } else {
            applications[record.application, default: ([], [])].others.append(record)
        }
    }
}
