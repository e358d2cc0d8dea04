/// The parameters of an `Authorization: OAuth …` header (RFC 5849 §3.5.1), decoded.
struct OAuthHeader: Sendable {
    let parameters: [(name: String, value: String)]

    /// Nil unless it is well-formed and names nothing twice.
    init?(_ header: String) {
        guard header.utf8.count <= 8192, header.prefix(6).lowercased() == "oauth " else { return nil }
        var parameters: [(name: String, value: String)] = []
        for pair in header.dropFirst(6).split(separator: ",") {
            let pair = pair.drop { $0 == " " }
            guard let equals = pair.firstIndex(of: "=") else { return nil }
            let value = pair[pair.index(after: equals)...].drop { $0 == " " }
            guard value.count >= 2, value.first == "\"", value.last == "\"",
                let name = OAuthEncoding.decode(pair[..<equals]),
                let decoded = OAuthEncoding.decode(value.dropFirst().dropLast()),
                !parameters.contains(where: { $0.name.utf8.elementsEqual(name.utf8) })
            else { return nil }
            parameters.append((name, decoded))
        }
        self.parameters = parameters
    }

    subscript(name: String) -> String? {
        parameters.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }
}

/// The one way of OAuth 1.0a to write a byte (RFC 5849 §3.6).
enum OAuthEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0x0F)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Nil where anything is written another way.
    static func decode(_ text: some StringProtocol) -> String? {
        var decoded: [UInt8] = []
        var bytes = Array(text.utf8)[...]
        while let byte = bytes.popFirst() {
            if isUnreserved(byte) {
                decoded.append(byte)
            } else {
                guard byte == UInt8(ascii: "%"), let high = bytes.popFirst().flatMap(digits.firstIndex(of:)),
                    let low = bytes.popFirst().flatMap(digits.firstIndex(of:))
                else { return nil }
                decoded.append(UInt8(high << 4 | low))
            }
        }
        return String(validating: decoded, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
