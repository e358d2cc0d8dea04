import Glibc

/// The statements that one connection has prepared, by their text; the least recently used ones make room.
///
/// What the server keeps of a statement, parsed, rewritten and planned, is about a hundred times as long as its text.
/// So the texts together are bounded, and with them the server's memory.
struct PreparedStatements {
    /// The name of a statement, ended by a NUL as libpq wants it.
    typealias Name = ContiguousArray<CChar>

    private struct Entry {
        let name: Name
        let types: [UInt32]
        var lastUse: UInt64
        /// The tables behind the plan have changed: it may not be used any more, but the server still has it.
        var isStale = false

        func matches(_ binds: [Bind]) -> Bool {
            guard types.count == binds.count else { return false }
            for (type, bind) in zip(types, binds) where type != bind.sqlType.oid { return false }
            return true
        }
    }

    /// A text, compared by its bytes: Swift's own comparison takes texts for equal that differ in composed characters.
    private struct Text: Hashable {
        let sql: String
        let affinity: Affinity?

        /// What the server keeps for the shortest statement counts as so many bytes of text.
        private static let least = 256

        var weight: Int { sql.utf8.count + Self.least }

        /// Affinity, two ends and the length tell our statements apart; hashing kilobytes at each use would cost more
        /// than sending them.
        func hash(into hasher: inout Hasher) {
            hasher.combine(affinity?.number)
            hasher.combine(sql.utf8.count)
            sql.withUTF8 { bytes in
                hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes).prefix(16)))
                hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes).suffix(48)))
            }
        }

        static func == (left: Text, right: Text) -> Bool {
            guard left.affinity == right.affinity else { return false }
            return left.sql.withUTF8 { left in
                right.sql.withUTF8 { right in
                    guard left.count == right.count else { return false }
                    guard left.count > 0, let bytes = left.baseAddress, let others = right.baseAddress else {
                        return true
                    }
                    return bytes == others || memcmp(bytes, others, left.count) == 0
                }
            }
        }
    }

    private let capacity: Int
    private var entries: [Text: Entry] = [:]
    private var weight = 0
    private var uses: UInt64 = 0
    private var lastNumber: UInt64 = 0
    /// Bytes of the texts that the server has parsed and that are not prepared any more, or never were.
    private(set) var discarded = 0

    /// - Parameter capacity: How many bytes the texts may have together.
    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { entries.count }

    /// The name of the statement, if it has been prepared with the same types of values.
    mutating func use(_ statement: Statement, near affinity: Affinity? = nil) -> Name? {
        guard let index = entries.index(forKey: Text(sql: statement.sql, affinity: affinity)) else { return nil }
        let entry = entries.values[index]
        guard !entry.isStale, entry.matches(statement.binds) else { return nil }
        uses += 1
        entries.values[index].lastUse = uses
        return entries.values[index].name
    }

    /// Notes that the statement is being prepared, under a name that was never used before.
    ///
    /// `evicted` are the names of those that had to go for it. Nil if it is too long to be prepared at all: it is for
    /// this one use.
    mutating func add(_ statement: Statement, near affinity: Affinity? = nil) -> (name: Name, evicted: [Name])? {
        let text = Text(sql: statement.sql, affinity: affinity)
        guard text.weight <= capacity else {
            discarded += text.weight
            return nil
        }
        var evicted: [Name] = []
        if let former = discard(text) { evicted.append(former) }
        while weight + text.weight > capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }),
            let name = discard(oldest.key)
        {
            evicted.append(name)
        }
        uses += 1
        lastNumber += 1
        let name = Name("s\(lastNumber)".utf8CString)
        entries[text] = Entry(name: name, types: statement.binds.map(\.sqlType.oid), lastUse: uses)
        weight += text.weight
        return (name, evicted)
    }

    private mutating func discard(_ text: Text) -> Name? {
        guard let entry = entries.removeValue(forKey: text) else { return nil }
        weight -= text.weight
        discarded += text.weight
        return entry.name
    }

    /// Forgets the statement, which the server does not have (any more).
    mutating func remove(_ statement: Statement, near affinity: Affinity? = nil) {
        _ = discard(Text(sql: statement.sql, affinity: affinity))
    }

    /// Has the statement prepared anew at its next use, which also frees the plan of now.
    mutating func expire(_ statement: Statement, near affinity: Affinity? = nil) {
        entries[Text(sql: statement.sql, affinity: affinity)]?.isStale = true
    }

    /// Has every statement prepared anew at its next use.
    mutating func expireAll() {
        for index in entries.values.indices { entries.values[index].isStale = true }
    }

    /// Forgets all, since the server has.
    mutating func removeAll() {
        entries.removeAll()
        discarded += weight
        weight = 0
    }
}

extension String {
    /// The bytes of the text where they lie, or of a copy if they do not lie in one piece.
    fileprivate func withUTF8<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        return ContiguousArray(utf8).withUnsafeBufferPointer(body)
    }
}
