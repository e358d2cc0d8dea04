extension JSON {
    /// The text as Facebook writes it: no spaces, `/` and `@` and `%` and `<` escaped, everything beyond ASCII as
    /// lowercase `\uXXXX`.
    public var graphText: String { String(decoding: graphBytes, as: UTF8.self) }

    var graphBytes: [UInt8] {
        var writer = JSONWriter(escaping: .graph)
        writer.write(self)
        return writer.bytes
    }

    /// The text as the control API writes it: no spaces, only the escapes that JSON demands.
    var plainBytes: [UInt8] {
        var writer = JSONWriter(escaping: .plain)
        writer.write(self)
        return writer.bytes
    }
}

/// Writes JSON text without spaces.
private struct JSONWriter {
    enum Escaping {
        case graph
        case plain
    }

    private let escaping: Escaping
    private(set) var bytes: [UInt8] = []

    init(escaping: Escaping) {
        self.escaping = escaping
        bytes.reserveCapacity(512)
    }

    mutating func write(_ value: JSON) {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let number): bytes.append(contentsOf: String(number).utf8)
        case .double(let number): bytes.append(contentsOf: String(number).utf8)
        case .string(let text): write(text)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                write(element)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                write(member.name)
                bytes.append(UInt8(ascii: ":"))
                write(member.value)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        if escaping == .plain || text.utf8.allSatisfy({ $0 < 0x80 }) {
            for byte in text.utf8 { write(ascii: byte) }
        } else {
            for unit in text.utf16 {
                if unit < 0x80 {
                    write(ascii: UInt8(truncatingIfNeeded: unit))
                } else {
                    writeEscape(unit, digits: "0123456789abcdef")
                }
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func write(ascii byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
        case 0x08: bytes.append(contentsOf: "\\b".utf8)
        case 0x09: bytes.append(contentsOf: "\\t".utf8)
        case 0x0A: bytes.append(contentsOf: "\\n".utf8)
        case 0x0C: bytes.append(contentsOf: "\\f".utf8)
        case 0x0D: bytes.append(contentsOf: "\\r".utf8)
        case ..<0x20: writeEscape(UInt16(byte), digits: "0123456789abcdef")
        case UInt8(ascii: "/") where escaping == .graph: bytes.append(contentsOf: "\\/".utf8)
        // Facebook writes these three with uppercase digits: \u0040, \u0025, \u003C.
        case UInt8(ascii: "@") where escaping == .graph, UInt8(ascii: "%") where escaping == .graph,
            UInt8(ascii: "<") where escaping == .graph:
            writeEscape(UInt16(byte), digits: "0123456789ABCDEF")
        default: bytes.append(byte)
        }
    }

    private mutating func writeEscape(_ unit: UInt16, digits: StaticString) {
        bytes.append(contentsOf: "\\u".utf8)
        digits.withUTF8Buffer { digits in
            for shift in [12, 8, 4, 0] as [UInt16] { bytes.append(digits[Int(unit >> shift & 0xF)]) }
        }
    }
}
