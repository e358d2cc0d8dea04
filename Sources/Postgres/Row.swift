/// A value that is read from the next columns of a row: from one column, or from several.
package protocol RowValue: Sendable {
    /// Reads the value from the next columns; NULL is an error.
    init(from row: inout Row) throws(PostgresError)

    /// Reads the value from the next columns; nil if they are NULL.
    static func unlessNull(from row: inout Row) throws(PostgresError) -> Self?
}

extension PostgresValue {
    package init(from row: inout Row) throws(PostgresError) {
        guard let value = try row.cell(as: Self.self) else { throw row.failureOfLast(.null, wanted: Self.self) }
        self = value
    }

    package static func unlessNull(from row: inout Row) throws(PostgresError) -> Self? { try row.cell(as: Self.self) }
}

extension Optional: RowValue where Wrapped: RowValue {
    package init(from row: inout Row) throws(PostgresError) { self = try Wrapped.unlessNull(from: &row) }

    package static func unlessNull(from row: inout Row) throws(PostgresError) -> Wrapped?? { try Self(from: &row) }
}

/// One row of a result.
///
/// A row is read from its first column to its last, so the select list alone determines the order of the values.
package struct Row: Sendable {
    private let set: ResultSet
    private let index: Int
    /// The index of the column to read next.
    private var column = 0

    init(set: ResultSet, index: Int) {
        self.set = set
        self.index = index
    }

    /// Reads the next value, from one or several columns.
    package mutating func next<Value: RowValue>(_: Value.Type = Value.self) throws(PostgresError) -> Value {
        try Value(from: &self)
    }

    /// Reads one column that may be NULL.
    ///
    /// This overload is faster than the general one, for which Swift builds a conformance of `Optional` at run time.
    package mutating func next<Value: PostgresValue>(
        _: Value?.Type = Value?.self
    ) throws(PostgresError) -> Value? {
        try cell(as: Value.self)
    }

    /// Whether the next column is NULL; true also if there is no next column.
    package var isNullNext: Bool { column >= set.columnCount || set.cell(row: index, column: column) == nil }

    /// Skips the remaining columns, such as those of an outer join that found no row.
    package mutating func skipRest() { column = set.columnCount }

    /// Reads the next column; nil for NULL.
    fileprivate mutating func cell<Value: PostgresValue>(as: Value.Type) throws(PostgresError) -> Value? {
        let column = column
        guard column < set.columnCount else { throw set.failure(.absent, column: column, wanted: "\(Value.self)") }
        self.column += 1
        guard let cell = set.cell(row: index, column: column) else { return nil }
        do {
            return try Value.read(cell)
        } catch {
            let reason: DecodingFailure.Reason =
                switch error {
                case .wrongType: .wrongType
                case .malformed: .malformed
                }
            throw failureOfLast(reason, wanted: Value.self)
        }
    }

    /// Returns the error for the last column that was read.
    fileprivate func failureOfLast<Value>(_ reason: DecodingFailure.Reason, wanted: Value.Type) -> PostgresError {
        set.failure(reason, column: column - 1, wanted: "\(Value.self)")
    }

    /// Throws if a column has not been read, since the select list then does not match the code that reads the row.
    fileprivate func end() throws(PostgresError) {
        guard column == set.columnCount else { throw set.failure(.surplus, column: column, wanted: "nothing") }
    }
}

/// Methods that read whole rows. Every column must be read: a surplus column is an error.
extension ResultSet {
    /// Returns one value for each row.
    ///
    /// All columns of a row must belong to that value.
    package func all<Value: RowValue>(_: Value.Type) throws(PostgresError) -> [Value] {
        try all(by: { row throws(PostgresError) in try row.next(Value.self) })
    }

    /// Returns one tuple for each row; its values are read from the row's columns in order, as the given types.
    package func all<each Value: RowValue>(
        _: repeat (each Value).Type
    ) throws(PostgresError) -> [(repeat each Value)] {
        try all(by: { row throws(PostgresError) in try (repeat row.next((each Value).self)) })
    }

    /// Calls `make` for each row, with the values of its columns as arguments in order, and returns the results.
    ///
    /// `make` can be a memberwise initializer, for example.
    package func all<each Column: RowValue, Value>(
        into make: (repeat each Column) -> Value
    ) throws(PostgresError) -> [Value] {
        try all(by: { row throws(PostgresError) in make(repeat try row.next((each Column).self)) })
    }

    /// Returns the results of `read` for all rows.
    ///
    /// A row for which `read` returns nil is left out.
    package func all<Value>(by read: (inout Row) throws(PostgresError) -> Value?) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in rows {
            if let value = try row.whole(read) { values.append(value) }
        }
        return values
    }

    /// Returns one value from the first row; nil if there is no row.
    ///
    /// All columns of the row must belong to that value.
    package func first<Value: RowValue>(_: Value.Type) throws(PostgresError) -> Value? {
        try first(by: { row throws(PostgresError) in try row.next(Value.self) })
    }

    /// Returns the values of the first row's columns in order, read as the given types; nil if there is no row.
    package func first<each Value: RowValue>(
        _: repeat (each Value).Type
    ) throws(PostgresError) -> (repeat each Value)? {
        try first(by: { row throws(PostgresError) in try (repeat row.next((each Value).self)) })
    }

    /// Calls `make` with the values of the first row's columns as arguments in order, and returns the result.
    ///
    /// Nil if there is no row.
    package func first<each Column: RowValue, Value>(
        into make: (repeat each Column) -> Value
    ) throws(PostgresError) -> Value? {
        try first(by: { row throws(PostgresError) in make(repeat try row.next((each Column).self)) })
    }

    /// Returns the result of `read` for the first row; nil if there is no row, or if `read` returns nil.
    package func first<Value>(by read: (inout Row) throws(PostgresError) -> Value?) throws(PostgresError) -> Value? {
        try first?.whole(read)
    }
}

extension Row {
    /// Returns the result of `read` for this row; nil if `read` returns nil.
    ///
    /// Otherwise throws unless `read` has read all columns.
    fileprivate func whole<Value>(
        _ read: (inout Row) throws(PostgresError) -> Value?
    ) throws(PostgresError) -> Value? {
        var row = self
        guard let value = try read(&row) else { return nil }
        try row.end()
        return value
    }
}
