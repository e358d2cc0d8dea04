/// The reason why a JSON text was refused, and the position of the error.
///
/// The description contains nothing of the text.
package struct JSONError: Error, Equatable, CustomStringConvertible {
    /// The violated rule.
    package enum Rule: Sendable, Equatable {
        case syntax
        case trailingText
        case byteOrderMark
        case invalidUTF8
        case loneSurrogate
        case nulCharacter
        case duplicateKey
        case keyNotASCII
        case keyTooLong
        case tooLarge
        case tooDeep
        case tooManyMembers
        case numberTooLong
        case numberOutOfRange
    }

    package let rule: Rule
    /// The offset in bytes from the start of the text.
    package let offset: Int
    /// The position as an editor shows it: line and column, each from 1.
    ///
    /// Nil for a text that is too large.
    package private(set) var place: Place?

    package struct Place: Sendable, Equatable {
        package let line: Int
        package let column: Int
    }

    package init(rule: Rule, offset: Int) {
        self.rule = rule
        self.offset = offset
    }

    /// Returns the error with its position as line and column.
    func placed(in bytes: [UInt8]) -> JSONError {
        var placed = self
        let before = bytes.prefix(offset)
        let lineBreak = UInt8(ascii: "\n")
        let line = before.suffix(from: before.lastIndex(of: lineBreak).map { $0 + 1 } ?? 0)
        placed.place = Place(
            line: before.count { $0 == lineBreak } + 1,
            // Continuation bytes of UTF-8 belong to the character before them.
            column: line.count { $0 & 0xC0 != 0x80 } + 1
        )
        return placed
    }

    package var description: String {
        let text =
            switch rule {
            case .syntax: "is not JSON"
            case .trailingText: "has text behind the JSON value"
            case .byteOrderMark: "begins with a byte order mark"
            case .invalidUTF8: "is not UTF-8"
            case .loneSurrogate: "has half of a surrogate pair"
            case .nulCharacter: "has a NUL character"
            case .duplicateKey: "names a key twice in one object"
            case .keyNotASCII: "has a key that is not ASCII"
            case .keyTooLong: "has a key that is too long"
            case .tooLarge: "is too large"
            case .tooDeep: "is nested too deep"
            case .tooManyMembers: "has too many members"
            case .numberTooLong: "has a number of too many digits"
            case .numberOutOfRange: "has a number that is no finite double"
            }
        let at = place.map { "line \($0.line), column \($0.column)" } ?? "byte \(offset)"
        return "the text \(text) (at \(at))"
    }
}
