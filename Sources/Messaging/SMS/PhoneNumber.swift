import Encodings

/// A telephone number in the form of ITU-T E.164: `+`, the country code and the rest, 7 to 15 digits in total.
package struct PhoneNumber: Sendable, Hashable {
    /// The number, such as `+41791234567`.
    package let text: String

    /// Parses a telephone number that a user typed.
    ///
    /// Spaces, hyphens and parentheses are ignored.
    ///
    /// - Throws: ``InvalidPhoneNumber``, which the user may see. It does not contain the text.
    package init(_ text: some StringProtocol) throws(InvalidPhoneNumber) {
        guard text.utf8.count <= 40 else { throw .tooLong }
        // A zero in parentheses after the country code is a trunk prefix. It must be omitted after `+`.
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

    /// The number with only its first two and last two digits, such as `+41 •••• 67`.
    ///
    /// Only the owner of the number recognizes it. The first two digits need not be the whole country code.
    package var masked: String { "\(text.prefix(3)) •••• \(text.suffix(2))" }

    /// Returns whether the number begins with at least one of the prefixes.
    ///
    /// - Parameter prefixes: Prefixes such as `+41` or `+4179`. A text that is not a prefix (``isPrefix(_:)``) is
    ///   ignored.
    /// - Returns: Whether a prefix matches; false for an empty list.
    package func isAllowed(by prefixes: [String]) -> Bool {
        prefixes.contains { Self.isPrefix($0) && text.utf8.starts(with: $0.utf8) }
    }

    /// Returns whether a text is a valid prefix: `+` and 1 to 15 digits, the first of them not 0.
    package static func isPrefix(_ text: String) -> Bool {
        let digits = text.utf8.dropFirst()
        return text.utf8.first == UInt8(ascii: "+") && (1...15).contains(digits.count)
            && digits.allSatisfy(\.isASCIIDigit) && digits.first != UInt8(ascii: "0")
    }
}

extension PhoneNumber: CustomStringConvertible, CustomReflectable {
    /// A mask: numbers must not be logged (decision D11).
    package var description: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// An error in the text of a telephone number.
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
        case .internationalPrefix: "A phone number begins with + instead of 00."
        case .trunkPrefix: "A phone number has no (0) after the country code."
        case .character: "A phone number has only digits after the +."
        case .tooShort: "A phone number has at least seven digits after the +."
        case .tooLong: "A phone number has at most fifteen digits after the +."
        }
    }
}
