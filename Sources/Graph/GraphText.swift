internal import Identity

/// A text that Graph wrote, to be compared with known phrases and never to be shown.
///
/// It is cut to a bound and compared as bytes, ASCII letters of either case being equal.
struct GraphText {
    private let bytes: [UInt8]
    private static let maxBytes = 1024

    init(_ text: String) {
        bytes = Array(text.utf8.prefix(Self.maxBytes))
    }

    /// Whether the phrase occurs.
    func says(_ phrase: String) -> Bool {
        end(of: phrase) != nil
    }

    /// The name that stands right behind a phrase, if one of plain ASCII and sensible length does.
    func name(after phrase: String) -> String? {
        guard let start = end(of: phrase) else { return nil }
        let name = bytes[start...].prefix { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }
        guard (1...64).contains(name.count) else { return nil }
        return String(decoding: name, as: UTF8.self)
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
