import Encodings

/// Recognizes credentials in texts by the names of their URL parameters, as in `…?access_token=…`.
enum CredentialMark {
    private static let names = [
        "access_token", "appsecret_proof", "client_secret", "fb_exchange_token", "id_token", "input_token",
        "oauth_token", "oauth_token_secret", "oauth_verifier", "refresh_token", "signed_request",
    ].map { Array($0.utf8) }

    /// The maximum number of layers of percent-encoding that are decoded.
    ///
    /// If a URL is a parameter value of another URL, this adds a layer.
    private static let maxEncodings = 4

    /// Returns whether a text contains the name of a credential parameter, followed by `=`.
    ///
    /// If a URL is a parameter value of another URL, it is percent-encoded. Therefore the text is also searched after
    /// each decoding of `%XX`, up to `maxEncodings` times.
    static func isCarried(by text: String) -> Bool {
        var bytes = Array(text.utf8)
        for _ in 0...maxEncodings {
            if hasName(bytes) { return true }
            guard let decoded = decoded(bytes) else { return false }
            bytes = decoded
        }
        return false
    }

    /// Returns whether the bytes are the name of a credential parameter, in upper or lower case.
    static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        names.contains { $0.count == bytes.count && $0.elementsEqual(bytes.lazy.map(\.asciiLowercased)) }
    }

    private static func hasName(_ bytes: [UInt8]) -> Bool {
        var start = bytes.startIndex
        for (index, byte) in bytes.enumerated() where !byte.isASCIIAlphanumeric && byte != UInt8(ascii: "_") {
            if byte == UInt8(ascii: "="), isName(bytes[start..<index]) { return true }
            start = index + 1
        }
        return false
    }

    /// Decodes one layer of percent-encoding; nil if the bytes contain no `%XX`.
    ///
    /// A `%` without two hexadecimal digits stays unchanged.
    private static func decoded(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.contains(UInt8(ascii: "%")) else { return nil }
        var result: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(Hexadecimal.value(of:)),
                let low = rest.dropFirst().first.flatMap(Hexadecimal.value(of:))
            {
                result.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result.count == bytes.count ? nil : result
    }
}
