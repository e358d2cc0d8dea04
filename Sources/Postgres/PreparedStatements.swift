/// The statements that one connection has prepared, by their text; the least recently used one makes room.
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

        /// Two ends and the length tell our statements apart; hashing kilobytes at each use would cost more than
        /// sending them.
        func hash(into hasher: inout Hasher) {
            hasher.combine(sql.utf8.count)
            sql.withUTF8 { bytes in
                hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes).prefix(16)))
                hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes).suffix(48)))
            }
        }

        static func == (left: Text, right: Text) -> Bool {
            left.sql.withUTF8 { left in
                right.sql.withUTF8 { right in
                    left.count == right.count
                        && (left.baseAddress == right.baseAddress || left.elementsEqual(right))
                }
            }
        }
    }

    private let capacity: Int
    private var entries: [Text: Entry] = [:]
    private var uses: UInt64 = 0
    private var lastNumber: UInt64 = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { entries.count }

    /// The name of the statement, if it has been prepared with the same types of values.
    mutating func use(_ statement: Statement) -> Name? {
        guard let index = entries.index(forKey: Text(sql: statement.sql)) else { return nil }
        let entry = entries.values[index]
        guard !entry.isStale, entry.matches(statement.binds) else { return nil }
        uses += 1
        entries.values[index].lastUse = uses
        return entries.values[index].name
    }

    /// Notes that the statement is being prepared, under a name that was never used before.
    ///
    /// `evicted` is the name of the one that had to go for it.
    mutating func add(_ statement: Statement) -> (name: Name, evicted: Name?) {
        let text = Text(sql: statement.sql)
        var evicted = entries.removeValue(forKey: text)?.name
        if entries.count >= capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            evicted = entries.removeValue(forKey: oldest.key)?.name
        }
        uses += 1
        lastNumber += 1
        let name = Name("s\(lastNumber)".utf8CString)
        entries[text] = Entry(name: name, types: statement.binds.map(\.sqlType.oid), lastUse: uses)
        return (name, evicted)
    }

    /// Forgets the statement, which the server does not have (any more).
    mutating func remove(_ statement: Statement) {
        entries.removeValue(forKey: Text(sql: statement.sql))
    }

    /// Has the statement prepared anew at its next use, which also frees the plan of now.
    mutating func expire(_ statement: Statement) {
        entries[Text(sql: statement.sql)]?.isStale = true
    }

    /// Has every statement prepared anew at its next use.
    mutating func expireAll() {
        for index in entries.values.indices { entries.values[index].isStale = true }
    }

    /// Forgets all, since the server has.
    mutating func removeAll() {
        entries.removeAll()
    }
}

extension String {
    /// The bytes of the text where they lie, or of a copy if they do not lie in one piece.
    fileprivate func withUTF8<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        return ContiguousArray(utf8).withUnsafeBufferPointer(body)
    }
}
