import Domain
import Encodings

/// Reads fixed-width numbers and literals from the start of an ASCII text, and removes what it has read.
struct DigitReader {
    private var rest: Substring.UTF8View

    init(_ text: String) {
        rest = text.utf8[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Reads the given number of ASCII digits, at most nine; nil if the text does not begin with so many.
    mutating func number(of digits: Int) -> Int? {
        guard (1...9).contains(digits) else { return nil }
        var result = 0
        for _ in 0..<digits {
            guard let byte = rest.popFirst(), byte.isASCIIDigit else { return nil }
            result = result * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return result
    }

    /// Reads the next character if it is an ASCII digit; nil otherwise.
    mutating func digit() -> Int? {
        guard let byte = rest.first, byte.isASCIIDigit else { return nil }
        rest.removeFirst()
        return Int(byte - UInt8(ascii: "0"))
    }

    /// Skips the next byte if it is the given one, and returns whether it was.
    mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }
}

/// A birthday, as a whole day or in part.
enum BirthdayText: Equatable {
    /// `MM/DD/YYYY`, Facebook's form, or `YYYY-MM-DD`.
    case day(CalendarDate)
    /// `MM/DD` or `YYYY`: Facebook's forms of a partly shared birthday (docs/protocols/facebook.md §2).
    case partial

    /// Reads a birthday such as `05/06/1990`, `1990-05-06`, `05/06` or `1990`.
    ///
    /// The result is nil for any other text, and for days that do not exist.
    init?(_ text: String) {
        switch text.utf8.count {
        case 10:
            guard let date = Self.american(text) ?? Self.iso(text) else { return nil }
            self = .day(date)
        case 5:
            // 02/29 is a valid day, since 2000 is a leap year.
            var reader = DigitReader(text)
            guard let month = reader.number(of: 2), reader.take(UInt8(ascii: "/")), let day = reader.number(of: 2),
                CalendarDate(year: 2000, month: month, day: day) != nil
            else { return nil }
            self = .partial
        case 4:
            var reader = DigitReader(text)
            guard let year = reader.number(of: 4), year > 0 else { return nil }
            self = .partial
        default: return nil
        }
    }

    private static func american(_ text: String) -> CalendarDate? {
        var reader = DigitReader(text)
        guard let month = reader.number(of: 2), reader.take(UInt8(ascii: "/")), let day = reader.number(of: 2),
            reader.take(UInt8(ascii: "/")), let year = reader.number(of: 4), reader.isAtEnd
        else { return nil }
        return CalendarDate(year: year, month: month, day: day)
    }

    private static func iso(_ text: String) -> CalendarDate? {
        var reader = DigitReader(text)
        return reader.isoDate().flatMap { reader.isAtEnd ? $0 : nil }
    }
}

extension DigitReader {
    /// Reads a date in the form `YYYY-MM-DD`; nil for any other text.
    mutating func isoDate() -> CalendarDate? {
        guard let year = number(of: 4), take(UInt8(ascii: "-")), let month = number(of: 2),
            take(UInt8(ascii: "-")), let day = number(of: 2)
        else { return nil }
        return CalendarDate(year: year, month: month, day: day)
    }
}
