internal import CLibPQ

/// The rows that a statement returned.
///
/// Rows are read from the memory in which libpq received them.
package final class ResultSet: Sendable {
    /// The libpq result.
    ///
    /// According to libpq's manual (chapter "Behavior in Threaded Programs"), any thread may read a result, which is
    /// read-only once it is made. Nothing in this class changes it.
    nonisolated(unsafe) let result: OpaquePointer

    package let count: Int
    package let columnCount: Int

    /// Takes ownership of a libpq result, which is freed with this object.
    init(taking result: OpaquePointer) {
        self.result = result
        count = Int(PQntuples(result))
        columnCount = Int(PQnfields(result))
    }

    deinit {
        PQclear(result)
    }

    /// The server's command tag, such as `INSERT 0 1`.
    package var commandTag: String { String(cString: PQcmdStatus(result)) }

    /// The number of rows that were inserted, updated, deleted or selected; nil if the statement did none of these.
    package var affectedRows: Int? { Int(String(cString: PQcmdTuples(result))) }

    package var rows: Rows { Rows(set: self) }

    package var first: Row? { count > 0 ? Row(set: self, index: 0) : nil }

    var columnTypes: [SQLType] { (0..<columnCount).map { SQLType(oid: PQftype(result, Int32($0))) } }

    /// Returns the names of the columns' types, in SQL's spelling.
    ///
    /// Runs a statement through `ask` for this, since libpq has only the numbers of the types.
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
        return try names.first([String].self) ?? []
    }

    package var columnNames: [String] { (0..<columnCount).map(columnName) }

    private func columnName(_ column: Int) -> String {
        guard column < columnCount, let name = PQfname(result, Int32(column)) else { return "\(column)" }
        return String(cString: name)
    }

    /// Returns the value of a column in a row; nil for NULL.
    ///
    /// The caller must have checked that both indices are in range.
    func cell(row: Int, column: Int) -> Cell? {
        let (row, column) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
        let length = Int(PQgetlength(result, row, column))
        if length == 0, PQgetisnull(result, row, column) == 1 { return nil }
        return Cell(
            type: SQLType(oid: PQftype(result, column)),
            bytes: UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: length)
        )
    }

    func failure(_ reason: DecodingFailure.Reason, column: Int, wanted: String) -> PostgresError {
        let found = column < columnCount ? "\(SQLType(oid: PQftype(result, Int32(column))))" : "absent"
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
}
