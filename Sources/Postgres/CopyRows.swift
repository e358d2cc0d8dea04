/// Rows to copy into a table, in the binary format of PostgreSQL's COPY.
package struct CopyRows: Sendable {
    /// The bytes before the rows: the format's signature, the flags (all zero), and the length of the header extension
    /// (zero).
    private static let header: [UInt8] =
        Array("PGCOPY\n".utf8) + [0xFF] + Array("\r\n".utf8) + [UInt8](repeating: 0, count: 9)
    /// The bytes after the last row: the 16-bit number -1, where a further row would have its number of columns.
    static let end: [UInt8] = [0xFF, 0xFF]

    /// The header and the rows.
    private(set) var bytes = Self.header
    package private(set) var count = 0

    package init() {}

    /// Appends a row: one value for each copied column, each of exactly the column's type.
    package mutating func append(_ row: [Bind]) {
        count += 1
        bytes.append(integer: Int16(truncatingIfNeeded: row.count))
        for value in row {
            guard case .null = value else {
                append(value)
                continue
            }
            bytes.append(integer: Int32(-1))
        }
    }

    /// Appends a value, preceded by its length in bytes.
    private mutating func append(_ value: Bind) {
        let place = bytes.count
        bytes.append(integer: Int32(0))
        bytes.append(value)
        let length = Int32(truncatingIfNeeded: bytes.count - place - 4)
        withUnsafeBytes(of: length.bigEndian) { bytes.replaceSubrange(place..<place + 4, with: $0) }
    }
}
