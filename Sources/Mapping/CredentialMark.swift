import Vocabulary

/// What opens something at a provider, by the name under which it stands: `…?access_token=…`.
enum CredentialMark {
    private static let names = [
        "access_token", "appsecret_proof", "client_secret", "fb_exchange_token", "id_token", "input_token",
        "oauth_token", "oauth_token_secret", "oauth_verifier", "refresh_token", "signed_request",
    ].map { Array($0.utf8) }

    /// How often an address may stand encoded inside another one.
    private static let mostEncodings = 4

    /// Whether a text gives one of the names a value, however often it is encoded: an address may be a value in another
    /// one.
    static func isCarried(by text: String) -> Bool {
        var bytes = Array(text.utf8)
        for _ in 0...mostEncodings {
            if hasName(bytes) { return true }
            guard let decoded = decoded(bytes) else { return false }
            bytes = decoded
        }
        return false
    }

    /// Whether it is one of the names, in any case.
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

    /// The bytes with one layer of `%XX` taken off, broken ones left; nil when there is none.
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
