extension JSONValue {
    /// The number of bytes in the value's text as PostgreSQL writes it from a jsonb column.
    ///
    /// Limits apply to this size, not to that of the input. In PostgreSQL's text, a space follows each comma and colon,
    /// and numbers have no exponents.
    package var storedBytes: Int {
        switch self {
        case .null, .bool(true): 4
        case .bool(false): 5
        case .number(let number): number.storedBytes
        case .string(let text): Self.storedBytes(of: text)
        case .array(let elements): Self.storedBytes(of: elements.map(\.storedBytes))
        case .object(let object):
            Self.storedBytes(of: object.members.map { Self.storedBytes(of: $0.key) + 2 + $0.value.storedBytes })
        }
    }

    /// Returns the size in bytes of an array or object, with brackets and separators, from the sizes of its parts.
    private static func storedBytes(of parts: [Int]) -> Int {
        parts.reduce(2 + 2 * max(parts.count - 1, 0), +)
    }

    /// Returns the size in bytes of a string, with its quotes and escapes.
    private static func storedBytes(of text: String) -> Int {
        text.utf8.reduce(2) { sum, byte in
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x08, 0x09, 0x0A, 0x0C, 0x0D: sum + 2
            case ..<0x20: sum + 6
            default: sum + 1
            }
        }
    }
}
