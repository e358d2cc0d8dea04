/// A writer of JSON text as bytes.
///
/// It escapes more than RFC 8259 requires: also DEL, the C1 controls and the line separators U+2028 and U+2029. So a
/// written value is one line in every terminal and log viewer (T-119).
package struct JSONWriter: Sendable {
    /// The text so far.
    package private(set) var bytes: [UInt8]
    private var needsComma = false

    package init(capacity: Int = 512) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Writes an object.
    ///
    /// The closure adds the members with `member`.
    package mutating func object(_ content: (inout JSONWriter) -> Void) {
        container(UInt8(ascii: "{"), UInt8(ascii: "}"), content)
    }

    /// Writes an array.
    ///
    /// The closure adds the elements with `value`, `object` and `array`.
    package mutating func array(_ content: (inout JSONWriter) -> Void) {
        container(UInt8(ascii: "["), UInt8(ascii: "]"), content)
    }

    /// Writes a key.
    ///
    /// The next call writes the value of this key.
    package mutating func key(_ key: String) {
        separate()
        quoted(key)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a key and a text or `null`.
    package mutating func member(_ key: String, _ text: String?) {
        self.key(key)
        string(text)
    }

    /// Writes a key and an integer or `null`.
    package mutating func member(_ key: String, _ number: Int64?) {
        self.key(key)
        integer(number)
    }

    package mutating func member(_ key: String, _ value: JSONValue) {
        self.key(key)
        self.value(value)
    }

    /// Writes a text or `null`.
    package mutating func string(_ text: String?) {
        guard let text else { return raw("null") }
        separate()
        quoted(text)
        needsComma = true
    }

    /// Writes an integer or `null`.
    package mutating func integer(_ number: Int64?) {
        guard let number else { return raw("null") }
        raw(String(number))
    }

    package mutating func bool(_ value: Bool) {
        raw(value ? "true" : "false")
    }

    /// Writes a value with all nested values.
    package mutating func value(_ value: JSONValue) {
        switch value {
        case .null: raw("null")
        case .bool(let value): bool(value)
        case .number(let number): raw(number.literal)
        case .string(let text): string(text)
        case .array(let elements): array { writer in for element in elements { writer.value(element) } }
        case .object(let object):
            self.object { writer in for member in object.members { writer.member(member.key, member.value) } }
        }
    }

    private mutating func container(_ open: UInt8, _ close: UInt8, _ content: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(open)
        needsComma = false
        content(&self)
        bytes.append(close)
        needsComma = true
    }

    private mutating func raw(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func quoted(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        if Self.mayNeedEscape(bytes[start...]) {
            bytes.removeSubrange(start...)
            for scalar in text.unicodeScalars { append(scalar) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether the text may contain a character to escape.
    ///
    /// C1 controls begin with 0xC2, line separators with 0xE2.
    private static func mayNeedEscape(_ text: ArraySlice<UInt8>) -> Bool {
        for byte in text
        where byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F || byte == 0xC2 || byte == 0xE2 {
            return true
        }
        return false
    }

    private mutating func append(_ scalar: Unicode.Scalar) {
        switch scalar.value {
        case 0x22: bytes.append(contentsOf: "\\\"".utf8)
        case 0x5C: bytes.append(contentsOf: "\\\\".utf8)
        case 0x20..<0x7F: bytes.append(UInt8(scalar.value))
        case 0x0A: bytes.append(contentsOf: "\\n".utf8)
        case 0x0D: bytes.append(contentsOf: "\\r".utf8)
        case 0x09: bytes.append(contentsOf: "\\t".utf8)
        case 0x00..<0x20, 0x7F..<0xA0, 0x2028, 0x2029:
            let digits = String(scalar.value, radix: 16)
            bytes.append(contentsOf: "\\u".utf8)
            bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count))
            bytes.append(contentsOf: digits.utf8)
        default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        }
    }
}

extension JSONValue {
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The value as JSON text in UTF-8.
    package var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }
}
