/// Percent-encoding (`%XX`) in paths, queries and forms: RFC 3986 §2.1.
package enum PercentEncoding {
    /// Returns the decoded text; nil for an invalid escape, for bytes that are not UTF-8, and for NUL.
    ///
    /// No text of the service contains NUL. In a query, `+` is a space, as browsers and most libraries write it.
    package static func decode(_ text: Substring, plusIsSpace: Bool = false) -> String? {
        var decoded: [UInt8] = []
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = bytes.next().flatMap(Hexadecimal.value(of:)),
                    let low = bytes.next().flatMap(Hexadecimal.value(of:))
                else { return nil }
                decoded.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: decoded.append(UInt8(ascii: " "))
            default: decoded.append(byte)
            }
        }
        guard !decoded.contains(0) else { return nil }
        return String(validating: decoded, as: UTF8.self)
    }

    /// Returns a text encoded for one segment of a path or for one value of a query.
    package static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        append(text, to: &encoded)
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Returns parameters as a query, such as `a=1&b=c%20d`, in their order.
    package static func query(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
    }

    /// Appends a text.
    ///
    /// The unreserved characters of RFC 3986 §2.3 stay unchanged, and every other byte becomes `%XX`.
    package static func append(_ text: String, to encoded: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.append(byte)
            default:
                encoded.append(UInt8(ascii: "%"))
                encoded.append(digit(byte >> 4))
                encoded.append(digit(byte & 0x0F))
            }
        }
    }

    /// Returns a digit in upper case, as RFC 3986 §2.1 recommends.
    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
