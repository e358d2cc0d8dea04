import Glibc

/// The prepared statements of one connection, by their text; the least recently used ones are evicted.
///
/// In the server's memory, a parsed and planned statement is about a hundred times as long as its text. So a limit for
/// the texts also bounds the server's memory.
struct PreparedStatements {
    /// The name of a statement, ended by a NUL as libpq requires.
    typealias Name = ContiguousArray<CChar>

    private struct Entry {
        let name: Name
        let types: [UInt32]
        var lastUse: UInt64
        /// Whether the tables that the plan uses have changed.
        ///
        /// The server still has the statement, but its plan must not be used any more.
        var isStale = false

        func matches(_ binds: [Bind]) -> Bool {
            guard types.count == binds.count else { return false }
            for (type, bind) in zip(types, binds) where type != bind.sqlType.oid { return false }
            return true
        }
    }

    /// The key by which a prepared statement is found: the statement's text and its affinity.
    ///
    /// Texts are compared by their bytes. Swift's own comparison takes canonically equivalent texts for equal.
    private struct Text: Hashable {
        let sql: String
        let affinity: Affinity?

        /// The number of bytes that count for each statement in addition to its text, since even the shortest takes
        /// memory.
        private static let least = 256

        var weight: Int { sql.utf8.count + Self.least }

        /// Hashes the affinity, and the length, beginning and end of the text, which are enough to tell statements
        /// apart.
        ///
        /// To hash kilobytes of text at each use would cost more time than to send them.
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
    /// The total size, in bytes, of the statement texts that the server has parsed and does not keep prepared.
    ///
    /// The statements were removed from this record, or were too long to be kept.
    private(set) var discarded = 0

    /// - Parameter capacity: The maximum total size of the texts of the prepared statements, in bytes.
    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { entries.count }

    /// Returns the name of the prepared statement that has the text, value types and affinity of `statement`.
    ///
    /// Nil if there is none, or if its plan is stale.
    mutating func use(_ statement: Statement, near affinity: Affinity? = nil) -> Name? {
        guard let index = entries.index(forKey: Text(sql: statement.sql, affinity: affinity)) else { return nil }
        let entry = entries.values[index]
        guard !entry.isStale, entry.matches(statement.binds) else { return nil }
        uses += 1
        entries.values[index].lastUse = uses
        return entries.values[index].name
    }

    /// Registers a statement that is about to be prepared, under a new name.
    ///
    /// `evicted` has the names of the statements that were removed to make room. Nil if the statement is too long to be
    /// kept prepared; the server then parses it for a single use.
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

    /// Removes a statement from this record of prepared statements.
    ///
    /// The server has dropped the statement, or never prepared it.
    mutating func remove(_ statement: Statement, near affinity: Affinity? = nil) {
        _ = discard(Text(sql: statement.sql, affinity: affinity))
    }

    /// Marks the statement as stale, so that its next use prepares it again.
    ///
    /// At that use, the server also frees the old plan.
    mutating func expire(_ statement: Statement, near affinity: Affinity? = nil) {
        entries[Text(sql: statement.sql, affinity: affinity)]?.isStale = true
    }

    /// Marks every statement as stale, so that its next use prepares it again.
    mutating func expireAll() {
        for index in entries.values.indices { entries.values[index].isStale = true }
    }

    /// Removes all statements from this record, since the server has dropped them.
    mutating func removeAll() {
        entries.removeAll()
        discarded += weight
        weight = 0
    }
}

extension String {
    /// Calls `body` with the UTF-8 bytes of the text; copies them only if they are not contiguous in memory.
    fileprivate func withUTF8<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        return ContiguousArray(utf8).withUnsafeBufferPointer(body)
    }
}
