/// Why a JSON text was refused, and where.
///
/// The description never repeats what the text holds.
package struct JSONError: Error, Equatable, CustomStringConvertible {
    /// The rule that was broken.
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
    /// Offset in bytes from the start of the text.
    package let offset: Int

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
        return "the text \(text) (at byte \(offset))"
    }
}
