import Encodings

/// A text of Graph, to be compared with known phrases and never to be shown.
///
/// The text is truncated to a bound and compared as bytes, ignoring the case of ASCII letters.
struct GraphText {
    private let bytes: [UInt8]
    private static let maxBytes = 1024

    init(_ text: String) {
        bytes = Array(text.utf8.prefix(Self.maxBytes))
    }

    /// Returns whether the phrase occurs.
    func says(_ phrase: String) -> Bool {
        end(of: phrase) != nil
    }

    /// Returns the name right behind a phrase, if it is plain ASCII of 1 to 64 bytes.
    func name(after phrase: String) -> String? {
        guard let start = end(of: phrase) else { return nil }
        let name = bytes[start...].prefix { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }
        guard (1...64).contains(name.count) else { return nil }
        return String(decoding: name, as: UTF8.self)
    }

    /// Returns the name right before a phrase, if it is plain ASCII of 1 to 64 bytes.
    func name(before phrase: String) -> String? {
        guard let end = end(of: phrase) else { return nil }
        let before = bytes[..<(end - phrase.utf8.count)]
        let name = before.reversed().prefix { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }
        guard (1...64).contains(name.count) else { return nil }
        return String(decoding: name.reversed(), as: UTF8.self)
    }

    /// The number with which many texts begin: the 12 of `(#12) bio field is deprecated`.
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
