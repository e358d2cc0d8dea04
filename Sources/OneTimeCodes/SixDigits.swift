import Encodings

/// A code of six decimal digits, computed or typed by a user.
struct SixDigits: Equatable {
    /// Six ASCII digits.
    let text: String

    /// Creates a code from the last six digits of a number.
    init(lastOf number: UInt64) {
        let digits = String(number % 1_000_000)
        text = String(repeating: "0", count: 6 - digits.utf8.count) + digits
    }

    /// Parses a user's input, with or without spaces, as in `123 456`; nil unless it is six ASCII digits.
    init?(typed text: String) {
        // Users type at most one space per digit, and a long text should not be copied.
        guard text.utf8.count <= 13 else { return nil }
        let digits = text.utf8.filter { $0 != UInt8(ascii: " ") }
        guard digits.count == 6, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        self.text = String(decoding: digits, as: UTF8.self)
    }

    /// Returns whether two codes are equal, in constant time.
    func isSame(as other: SixDigits) -> Bool { text.utf8.isEqualInConstantTime(to: other.text.utf8) }
}
