/// `name=value` pairs of a query or a form, written as bytes so that nothing in a value can become a part of the syntax.
struct Parameters {
    private(set) var bytes: [UInt8] = []

    /// Adds a parameter; its name is one of ours, its value may be anything.
    mutating func add(_ name: StaticString, _ value: String) {
        if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "="))
        Self.append(encoding: value, to: &bytes)
    }

    /// Adds the parameters of a proof.
    mutating func add(_ proof: AppSecretProof) {
        add("appsecret_proof", proof.value)
        if let time = proof.time { add("appsecret_time", String(time)) }
    }

    /// Leaves the unreserved characters of RFC 3986 §2.3 and writes every other byte as `%XX`.
    static func append(encoding text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes.append(UInt8(ascii: "%"))
                bytes.append(hexDigit(byte >> 4))
                bytes.append(hexDigit(byte & 0x0F))
            }
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
