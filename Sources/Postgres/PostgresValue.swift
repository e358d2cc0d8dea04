package import FoundationEssentials

/// A Swift type that can be bound to a statement and read from a column.
package protocol PostgresValue: RowValue {
    /// The SQL type of the NULL that is bound for a nil value of this type.
    static var nullType: Bind.NullType { get }

    var bind: Bind { get }

    /// Reads a value from a column that is not NULL.
    static func read(_ cell: Cell) throws(CellMismatch) -> Self
}

extension Bind {
    /// Binds an optional value.
    ///
    /// For nil, binds a NULL of the SQL type that belongs to `Value`.
    package init<Value: PostgresValue>(_ value: Value?) { self = value?.bind ?? .null(Value.nullType) }
}

/// The value of one column in one row, in libpq's memory.
///
/// A function that gets a cell as an argument must not keep it.
package struct Cell {
    let type: SQLType
    let bytes: UnsafeRawBufferPointer

    /// Reads the bytes as a big-endian integer.
    ///
    /// Throws unless there are exactly as many bytes as the integer type has.
    func integer<T: FixedWidthInteger>(_: T.Type) throws(CellMismatch) -> T {
        guard bytes.count == MemoryLayout<T>.size else { throw .malformed }
        return T(bigEndian: bytes.loadUnaligned(as: T.self))
    }
}

/// The reason why a column cannot be read as the requested type.
package enum CellMismatch: Error {
    case wrongType
    case malformed
}

extension String: PostgresValue {
    package static var nullType: Bind.NullType { .text }
    package var bind: Bind { .text(self) }

    package static func read(_ cell: Cell) throws(CellMismatch) -> String {
        switch cell.type {
        case .text, .varchar, .bpchar, .name, .unknown: String(decoding: cell.bytes, as: UTF8.self)
        default: throw .wrongType
        }
    }
}

extension Int64: PostgresValue {
    package static var nullType: Bind.NullType { .int64 }
    package var bind: Bind { .int64(self) }

    package static func read(_ cell: Cell) throws(CellMismatch) -> Int64 {
        switch cell.type {
        case .int8: try cell.integer(Int64.self)
        case .int4: Int64(try cell.integer(Int32.self))
        case .int2: Int64(try cell.integer(Int16.self))
        default: throw .wrongType
        }
    }
}

extension Int: PostgresValue {
    package static var nullType: Bind.NullType { .int64 }
    package var bind: Bind { .int64(Int64(self)) }

    package static func read(_ cell: Cell) throws(CellMismatch) -> Int {
        guard let value = Int(exactly: try Int64.read(cell)) else { throw .malformed }
        return value
    }
}

extension Double: PostgresValue {
    package static var nullType: Bind.NullType { .double }
    package var bind: Bind { .double(self) }

    package static func read(_ cell: Cell) throws(CellMismatch) -> Double {
        switch cell.type {
        case .float8: Double(bitPattern: try cell.integer(UInt64.self))
        case .float4: Double(Float(bitPattern: try cell.integer(UInt32.self)))
        default: throw .wrongType
        }
    }
}

extension Bool: PostgresValue {
    package static var nullType: Bind.NullType { .bool }
    package var bind: Bind { .bool(self) }

    package static func read(_ cell: Cell) throws(CellMismatch) -> Bool {
        guard cell.type == .bool else { throw .wrongType }
        return try cell.integer(UInt8.self) != 0
    }
}

extension UUID: PostgresValue {
    package static var nullType: Bind.NullType { .uuid }
    package var bind: Bind { .uuid(self) }

    package static func read(_ cell: Cell) throws(CellMismatch) -> UUID {
        guard cell.type == .uuid else { throw .wrongType }
        guard cell.bytes.count == MemoryLayout<uuid_t>.size else { throw .malformed }
        return UUID(uuid: cell.bytes.loadUnaligned(as: uuid_t.self))
    }
}

extension Timestamp: PostgresValue {
    package static var nullType: Bind.NullType { .timestamp }
    package var bind: Bind { .timestamp(self) }

    /// The microseconds from 1970 to 2000, where PostgreSQL's epoch begins.
    private static let offset: Int64 = 946_684_800_000_000

    package static func read(_ cell: Cell) throws(CellMismatch) -> Timestamp {
        guard cell.type == .timestamptz || cell.type == .timestamp else { throw .wrongType }
        let wire = try cell.integer(Int64.self)
        if wire == .max || wire == .min { return Timestamp(microseconds: wire) }
        let (value, overflow) = wire.addingReportingOverflow(offset)
        // The greatest number stands for infinity, not for a point in time.
        guard !overflow, value != .max else { throw .malformed }
        return Timestamp(microseconds: value)
    }

    /// The value in PostgreSQL's binary format.
    ///
    /// There the smallest integer means `-infinity`. A finite time that is too early for PostgreSQL must not become
    /// `-infinity`. So it becomes the second smallest integer, which PostgreSQL refuses as out of range.
    var wire: Int64 {
        if self == .infinity || self == .negativeInfinity { return microseconds }
        let (value, overflow) = microseconds.subtractingReportingOverflow(Timestamp.offset)
        return overflow ? .min + 1 : max(value, .min + 1)
    }
}

extension Day: PostgresValue {
    package static var nullType: Bind.NullType { .day }
    package var bind: Bind { .day(self) }

    /// The days from 1970 to 2000, where PostgreSQL's epoch begins.
    private static let offset: Int32 = 10_957

    package static func read(_ cell: Cell) throws(CellMismatch) -> Day {
        guard cell.type == .date else { throw .wrongType }
        let wire = try cell.integer(Int32.self)
        if wire == .max || wire == .min { return Day(daysSince1970: wire) }
        let (value, overflow) = wire.addingReportingOverflow(offset)
        guard !overflow else { throw .malformed }
        return Day(daysSince1970: value)
    }

    /// The value in PostgreSQL's binary format; see ``Timestamp/wire``.
    var wire: Int32 {
        if self == .infinity || self == .negativeInfinity { return daysSince1970 }
        let (value, overflow) = daysSince1970.subtractingReportingOverflow(Day.offset)
        return overflow ? .min + 1 : max(value, .min + 1)
    }
}

extension JSONText: PostgresValue {
    package static var nullType: Bind.NullType { .json }
    package var bind: Bind { .json(self) }

    /// The version byte, which precedes the text in binary `jsonb`.
    static let version: UInt8 = 1

    package static func read(_ cell: Cell) throws(CellMismatch) -> JSONText {
        switch cell.type {
        case .json:
            return JSONText(String(decoding: cell.bytes, as: UTF8.self))
        case .jsonb:
            guard cell.bytes.first == version else { throw .malformed }
            return JSONText(String(decoding: cell.bytes.dropFirst(), as: UTF8.self))
        default:
            throw .wrongType
        }
    }
}

/// An element of an array that can be bound or read: a byte (SQL `bytea`) or a text (SQL `text[]`).
package protocol PostgresArrayElement: Sendable {
    /// The SQL type of the NULL that is bound for a nil array of this type.
    static var arrayNullType: Bind.NullType { get }

    static func bind(_ array: [Self]) -> Bind

    /// Reads an array from a column that is not NULL.
    static func readArray(_ cell: Cell) throws(CellMismatch) -> [Self]
}

extension Array: RowValue, PostgresValue where Element: PostgresArrayElement {
    package static var nullType: Bind.NullType { Element.arrayNullType }
    package var bind: Bind { Element.bind(self) }
    package static func read(_ cell: Cell) throws(CellMismatch) -> [Element] { try Element.readArray(cell) }
}

extension UInt8: PostgresArrayElement {
    package static var arrayNullType: Bind.NullType { .bytes }
    package static func bind(_ array: [UInt8]) -> Bind { .bytes(array) }

    package static func readArray(_ cell: Cell) throws(CellMismatch) -> [UInt8] {
        guard cell.type == .bytea else { throw .wrongType }
        return [UInt8](cell.bytes)
    }
}

extension String: PostgresArrayElement {
    package static var arrayNullType: Bind.NullType { .texts }
    package static func bind(_ array: [String]) -> Bind { .texts(array) }

    /// Reads an array of one dimension without NULLs.
    ///
    /// Format: the number of dimensions, a flag for NULLs, and the type of the elements; for each dimension, its length
    /// and lower bound; then the length and bytes of each element. All integers have four bytes.
    package static func readArray(_ cell: Cell) throws(CellMismatch) -> [String] {
        guard cell.type == .textArray || cell.type == .varcharArray else { throw .wrongType }
        var reader = ArrayReader(rest: cell.bytes[...])
        let dimensions = try reader.integer()
        _ = try reader.integer()
        _ = try reader.integer()
        if dimensions == 0 { return [] }
        guard dimensions == 1 else { throw .malformed }
        let count = try reader.integer()
        _ = try reader.integer()
        // Each element takes at least four bytes. The check keeps a false count from causing a large allocation.
        guard count >= 0, count <= reader.rest.count / 4 else { throw .malformed }
        var texts: [String] = []
        texts.reserveCapacity(count)
        for _ in 0..<count {
            let length = try reader.integer()
            texts.append(String(decoding: try reader.take(length), as: UTF8.self))
        }
        return texts
    }
}

/// A reader of an array's bytes, from the front.
private struct ArrayReader {
    var rest: Slice<UnsafeRawBufferPointer>

    mutating func take(_ count: Int) throws(CellMismatch) -> Slice<UnsafeRawBufferPointer> {
        guard count >= 0, count <= rest.count else { throw .malformed }
        let taken = rest.prefix(count)
        rest = rest.dropFirst(count)
        return taken
    }

    mutating func integer() throws(CellMismatch) -> Int {
        let bytes = UnsafeRawBufferPointer(rebasing: try take(4))
        return Int(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
    }
}
