import Vocabulary

/// A telephone number as ITU-T E.164 writes it: `+`, the country code, and the rest, 7 to 15 digits in all.
package struct PhoneNumber: Sendable, Hashable {
    /// `+41791234567`.
    package let text: String

    /// Reads what somebody has typed: spaces, hyphens and parentheses do not count.
    ///
    /// - Throws: What is wrong with it, for who has typed it; it does not repeat the text.
    package init(_ text: some StringProtocol) throws(InvalidPhoneNumber) {
        guard text.utf8.count <= 40 else { throw .tooLong }
        // Between the country code and the rest, a zero in parentheses is one that is left out behind `+`.
        guard !text.utf8.filter({ $0 != UInt8(ascii: " ") }).contains("(0)".utf8) else { throw .trunkPrefix }
        let bytes = text.utf8.filter { !$0.isOne(of: " -()") }
        guard !bytes.starts(with: "00".utf8) else { throw .internationalPrefix }
        guard bytes.first == UInt8(ascii: "+") else { throw .noCountryCode }
        let digits = bytes.dropFirst()
        guard digits.allSatisfy(\.isASCIIDigit) else { throw .character }
        guard digits.first != UInt8(ascii: "0") else { throw .noCountryCode }
        guard digits.count >= 7 else { throw .tooShort }
        guard digits.count <= 15 else { throw .tooLong }
        self.text = String(decoding: bytes, as: UTF8.self)
    }

    /// What reminds the owner of the number and tells nobody else: two digits of its beginning, at which the country
    /// code may end or not, and the last two.
    package var masked: String { "\(text.prefix(3)) •••• \(text.suffix(2))" }

    /// Whether the number begins with one of the prefixes; an empty list allows nobody.
    ///
    /// - Parameter prefixes: `+41`, or longer as `+4179`. What is no prefix (``isPrefix(_:)``) allows nobody, either.
    /// - Returns: Whether any prefix allows it.
    package func isAllowed(by prefixes: [String]) -> Bool {
        prefixes.contains { Self.isPrefix($0) && text.utf8.starts(with: $0.utf8) }
    }

    /// Whether a text is how numbers may begin: `+` and 1 to 15 digits, the first of them not 0.
    package static func isPrefix(_ text: String) -> Bool {
        let digits = text.utf8.dropFirst()
        return text.utf8.first == UInt8(ascii: "+") && (1...15).contains(digits.count)
            && digits.allSatisfy(\.isASCIIDigit) && digits.first != UInt8(ascii: "0")
    }
}

extension PhoneNumber: CustomStringConvertible, CustomReflectable {
    /// Never the number, which belongs into no log (decision D11).
    package var description: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Why a text is no telephone number that a message can be sent to.
package enum InvalidPhoneNumber: Error, CustomStringConvertible {
    case noCountryCode
    case internationalPrefix
    case trunkPrefix
    case character
    case tooShort
    case tooLong

    package var description: String {
        switch self {
        case .noCountryCode: "A phone number begins with + and the country code, like +41."
        case .internationalPrefix: "A phone number begins with + in place of 00."
        case .trunkPrefix: "A phone number has no (0) behind the country code."
        case .character: "A phone number has digits behind the +, and nothing else."
        case .tooShort: "A phone number has at least seven digits behind the +."
        case .tooLong: "A phone number has at most fifteen digits behind the +."
        }
    }
}
