internal import CLibPQ

/// The rows that a statement returned.
///
/// Rows stay in the memory that libpq received them in, and are read from there.
package final class ResultSet: Sendable {
    /// By libpq's manual (chapter "Behavior in Threaded Programs") results are read-only once they are made, and any
    /// thread may read them; nothing in this class writes.
    nonisolated(unsafe) let result: OpaquePointer

    /// The number of rows.
    package let count: Int
    /// The number of columns.
    package let columnCount: Int

    /// Takes over `result` and frees it with itself.
    init(taking result: OpaquePointer) {
        self.result = result
        count = Int(PQntuples(result))
        columnCount = Int(PQnfields(result))
    }

    deinit {
        PQclear(result)
    }

    /// What the server says it has done, such as `INSERT 0 1`.
    package var commandTag: String { String(cString: PQcmdStatus(result)) }

    /// The number of rows that were inserted, updated, deleted or selected; nil for statements without such a number.
    package var affectedRows: Int? { Int(String(cString: PQcmdTuples(result))) }

    /// The rows in order.
    package var rows: Rows { Rows(set: self) }

    /// The first row, if there is one.
    package var first: Row? { count > 0 ? Row(set: self, index: 0) : nil }

    /// The position of the column of that name, the first one if there are several.
    package func column(named name: String) -> Int? {
        (0..<columnCount).first { index in
            guard var candidate = PQfname(result, Int32(index)) else { return false }
            for byte in name.utf8 {
                guard byte != 0, UInt8(bitPattern: candidate.pointee) == byte else { return false }
                candidate += 1
            }
            return candidate.pointee == 0
        }
    }

    /// The types of all columns.
    var columnTypes: [SQLType] { (0..<columnCount).map { SQLType(oid: PQftype(result, Int32($0))) } }

    /// The types of all columns, as SQL writes them; the server is asked, which alone knows what they are called.
    func typeNames(
        _ ask: (Statement) async throws(PostgresError) -> ResultSet
    ) async throws(PostgresError) -> [String] {
        guard columnCount > 0 else { return [] }
        let types = columnTypes.map { String($0.oid) }
        let names = try await ask(
            """
            select array(
                select format_type(oid::oid, null) from unnest(\(types)) with ordinality t (oid, number) order by number
            )
            """
        )
        return try names.first?.decode(0, as: [String].self) ?? []
    }

    /// The names of all columns.
    package var columnNames: [String] { (0..<columnCount).map(columnName) }

    fileprivate func columnName(_ column: Int) -> String {
        guard column >= 0, column < columnCount, let name = PQfname(result, Int32(column)) else { return "\(column)" }
        return String(cString: name)
    }

    /// The cell, or nil for NULL.
    ///
    /// Both indices have been checked.
    fileprivate func cell(row: Int, column: Int) -> Cell? {
        let (row, column) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
        let length = Int(PQgetlength(result, row, column))
        if length == 0, PQgetisnull(result, row, column) == 1 { return nil }
        return Cell(
            type: SQLType(oid: PQftype(result, column)),
            bytes: UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: length)
        )
    }

    fileprivate func failure(_ reason: DecodingFailure.Reason, column: Int, wanted: String) -> PostgresError {
        let found = column >= 0 && column < columnCount ? "\(SQLType(oid: PQftype(result, Int32(column))))" : "absent"
        return .decoding(DecodingFailure(reason: reason, column: columnName(column), found: found, wanted: wanted))
    }
}

extension ResultSet {
    /// The rows of a result, in order.
    package struct Rows: Sequence, Sendable {
        let set: ResultSet

        package func makeIterator() -> Iterator { Iterator(set: set) }

        package struct Iterator: IteratorProtocol {
            let set: ResultSet
            var index = 0

            package mutating func next() -> Row? {
                guard index < set.count else { return nil }
                defer { index += 1 }
                return Row(set: set, index: index)
            }
        }
    }

    /// The row at that position, counted from 0; nil if there is none.
    package func row(_ index: Int) -> Row? {
        index >= 0 && index < count ? Row(set: self, index: index) : nil
    }
}

/// One row of a result.
package struct Row: Sendable {
    fileprivate let set: ResultSet
    fileprivate let index: Int

    /// Reads the column at that position, counted from 0.
    ///
    /// NULL is an error.
    package func decode<Value: PostgresValue>(_ column: Int, as: Value.Type) throws(PostgresError) -> Value {
        guard let value = try read(column, Value.self) else {
            throw set.failure(.null, column: column, wanted: "\(Value.self)")
        }
        return value
    }

    /// Reads the column at that position, counted from 0.
    package func decode<Value: PostgresValue>(_ column: Int, as: Value?.Type) throws(PostgresError) -> Value? {
        try read(column, Value.self)
    }

    /// Reads the column of that name.
    ///
    /// NULL is an error.
    package func decode<Value: PostgresValue>(_ column: String, as: Value.Type) throws(PostgresError) -> Value {
        try decode(try position(column, Value.self), as: Value.self)
    }

    /// Reads the column of that name.
    package func decode<Value: PostgresValue>(_ column: String, as: Value?.Type) throws(PostgresError) -> Value? {
        try read(try position(column, Value.self), Value.self)
    }

    private func position<Value>(_ name: String, _: Value.Type) throws(PostgresError) -> Int {
        guard let position = set.column(named: name) else {
            throw .decoding(
                DecodingFailure(reason: .absent, column: name, found: "absent", wanted: "\(Value.self)")
            )
        }
        return position
    }

    private func read<Value: PostgresValue>(_ column: Int, _: Value.Type) throws(PostgresError) -> Value? {
        guard column >= 0, column < set.columnCount else {
            throw set.failure(.absent, column: column, wanted: "\(Value.self)")
        }
        guard let cell = set.cell(row: index, column: column) else { return nil }
        do {
            return try Value.read(cell)
        } catch {
            let reason: DecodingFailure.Reason =
                switch error {
                case .wrongType: .wrongType
                case .malformed: .malformed
                }
            throw set.failure(reason, column: column, wanted: "\(Value.self)")
        }
    }
}
