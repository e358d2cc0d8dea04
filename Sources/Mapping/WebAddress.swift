import Encodings

/// Recognizes web addresses that are safe to show and to follow (RFC 3986).
///
/// Such an address has the scheme http or https, a host, and no user name before the host.
enum WebAddress {
    static func isOne(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.allSatisfy({ (0x21...0x7E).contains($0) && !$0.isOne(of: "\"<>\\`") }),
            let start = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[start...].starts(with: "://".utf8),
            ["https", "http"].contains(where: { bytes[..<start].lazy.map(\.asciiLowercased).elementsEqual($0.utf8) })
        else { return false }
        let authority = bytes[start...].dropFirst(3).prefix { !$0.isOne(of: "/?#") }
        guard let first = authority.first, first != UInt8(ascii: ":") else { return false }
        return authority.allSatisfy { $0.isASCIIAlphanumeric || $0.isOne(of: "-._~:[]") }
    }

    /// Returns whether a text looks like a web address, although its field need not contain one.
    ///
    /// Such a text has no spaces inside. It begins with any scheme and `//`, or with a scheme such as `javascript:` or
    /// `data:`, for which a browser runs or shows the rest of the text.
    static func isMeant(by text: String) -> Bool {
        // Browsers leave line breaks and tabs out of an address.
        var text = text.trimmed
        text.unicodeScalars.removeAll { "\t\r\n".unicodeScalars.contains($0) }
        guard !text.unicodeScalars.contains(where: \.properties.isWhitespace) else { return false }
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts[0].first, first.isASCIILetter,
            parts[0].allSatisfy({ $0.isASCIIAlphanumeric || $0.isOne(of: "+-.") })
        else { return false }
        return parts[1].starts(with: "//".utf8)
            || ["javascript", "data", "vbscript"].contains { parts[0].map(\.asciiLowercased).elementsEqual($0.utf8) }
    }
}
