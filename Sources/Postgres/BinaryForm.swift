internal import FoundationEssentials

/// Writes values in PostgreSQL's binary format.
///
/// All integers are big-endian. The formats are those that PostgreSQL's `*recv` functions read.
extension [UInt8] {
    /// Appends the bytes of a value; appends nothing for NULL.
    mutating func append(_ bind: Bind) {
        switch bind {
        case .text(let text): append(contentsOf: text.utf8)
        case .int64(let value): append(integer: value)
        case .double(let value): append(integer: value.bitPattern)
        case .bool(let value): append(value ? 1 : 0)
        case .uuid(let value): Swift.withUnsafeBytes(of: value.uuid) { append(contentsOf: $0) }
        case .bytes(let value): append(contentsOf: value)
        case .timestamp(let value): append(integer: value.wire)
        case .day(let value): append(integer: value.wire)
        case .json(let value):
            append(JSONText.version)
            append(contentsOf: value.text.utf8)
        case .texts(let values): append(array: values)
        case .null: break
        }
    }

    mutating func append(integer value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    /// Appends an SQL array of type `text[]`; ``Swift/String/readArray(_:)`` describes the format.
    private mutating func append(array texts: [String]) {
        append(integer: Int32(texts.isEmpty ? 0 : 1))
        append(integer: Int32(0))
        append(integer: SQLType.text.oid)
        if texts.isEmpty { return }
        append(integer: Int32(truncatingIfNeeded: texts.count))
        append(integer: Int32(1))
        for text in texts {
            append(integer: Int32(truncatingIfNeeded: text.utf8.count))
            append(contentsOf: text.utf8)
        }
    }
}
