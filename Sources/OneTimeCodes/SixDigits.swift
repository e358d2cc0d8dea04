import Vocabulary

/// A code of six decimal digits, as it is computed here and as people type it.
struct SixDigits: Equatable {
    /// Six ASCII digits.
    let text: String

    /// The last six digits of a number.
    init(lastOf number: UInt64) {
        let digits = String(number % 1_000_000)
        text = String(repeating: "0", count: 6 - digits.utf8.count) + digits
    }

    /// What somebody has typed, with or without spaces, as in `123 456`; nil unless it is six ASCII digits.
    init?(typed text: String) {
        // Nobody types more than a space beside each digit, and nothing long is to be copied.
        guard text.utf8.count <= 13 else { return nil }
        let digits = text.utf8.filter { $0 != UInt8(ascii: " ") }
        guard digits.count == 6, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        self.text = String(decoding: digits, as: UTF8.self)
    }

    /// Whether they are the same, found out in a time that tells nothing.
    func isSame(as other: SixDigits) -> Bool { text.utf8.isEqualInConstantTime(to: other.text.utf8) }
}
