/// Path and query of a request, written as bytes so that nothing in a value can become a part of the syntax.
struct Target {
    private var bytes: [UInt8]
    private var hasQuery = false

    /// Begins with a path that was checked before, and adds segments, encoded.
    init(_ base: String, _ segments: String...) {
        bytes = Array(base.utf8)
        for segment in segments where !segment.utf8.isEmpty {
            bytes.append(UInt8(ascii: "/"))
            append(encoding: segment)
        }
    }

    /// Adds a parameter; its name is one of ours, its value may be anything.
    mutating func add(_ name: StaticString, _ value: String) {
        bytes.append(hasQuery ? UInt8(ascii: "&") : UInt8(ascii: "?"))
        hasQuery = true
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "="))
        append(encoding: value)
    }

    /// Adds the parameters of a proof.
    mutating func add(_ proof: AppSecretProof) {
        add("appsecret_proof", proof.value)
        if let time = proof.time { add("appsecret_time", String(time)) }
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Leaves the unreserved characters of RFC 3986 §2.3 and writes every other byte as `%XX`.
    private mutating func append(encoding text: String) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes.append(UInt8(ascii: "%"))
                bytes.append(Self.hexDigit(byte >> 4))
                bytes.append(Self.hexDigit(byte & 0x0F))
            }
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
