import Encodings

/// The text of an error from Graph.
///
/// The text is compared with known phrases and never shown, since it can quote the token.
///
/// A long text is truncated. The comparison is of bytes and ignores the case of ASCII letters.
struct GraphText {
    private let bytes: [UInt8]
    private static let maxBytes = 1024

    init(_ text: String) {
        bytes = Array(text.utf8.prefix(Self.maxBytes))
    }

    /// Returns whether the text contains the phrase.
    func says(_ phrase: String) -> Bool {
        end(of: phrase) != nil
    }

    /// Returns the name directly after a phrase, if the name is plain ASCII of 1 to 64 bytes.
    func name(after phrase: String) -> String? {
        guard let start = end(of: phrase) else { return nil }
        let name = bytes[start...].prefix { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }
        guard (1...64).contains(name.count) else { return nil }
        return String(decoding: name, as: UTF8.self)
    }

    /// Returns the name directly before a phrase, if the name is plain ASCII of 1 to 64 bytes.
    func name(before phrase: String) -> String? {
        guard let end = end(of: phrase) else { return nil }
        let before = bytes[..<(end - phrase.utf8.count)]
        let name = before.reversed().prefix { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }
        guard (1...64).contains(name.count) else { return nil }
        return String(decoding: name.reversed(), as: UTF8.self)
    }

    /// The number at the beginning of the text, such as 12 in `(#12) bio field is deprecated`.
    var number: Int64? {
        guard bytes.starts(with: "(#".utf8) else { return nil }
        let digits = bytes.dropFirst(2).prefix { $0.isASCIIDigit }
        guard (1...10).contains(digits.count), bytes.dropFirst(2 + digits.count).first == UInt8(ascii: ")") else {
            return nil
        }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    private func end(of phrase: String) -> Int? {
        let phrase = phrase.utf8.map(Self.folded)
        guard bytes.count >= phrase.count else { return nil }
        for start in 0...(bytes.count - phrase.count)
        where bytes[start..<(start + phrase.count)].elementsEqual(phrase, by: { Self.folded($0) == $1 }) {
            return start + phrase.count
        }
        return nil
    }

    private static func folded(_ byte: UInt8) -> UInt8 {
        byte.isASCIILetter ? byte | 0x20 : byte
    }
}
