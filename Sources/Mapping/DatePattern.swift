import Domain
import Encodings

/// The pattern by which a mapping entry reads a date from a text, such as `dd.MM.yyyy`.
///
/// It has `yyyy`, `MM` and `dd` once each, with punctuation or spaces between them.
package struct DatePattern: Sendable, Equatable {
    private enum Part: Sendable, Equatable {
        case year, month, day
        case literal(UInt8)
    }

    package let text: String
    private let parts: [Part]

    /// Parses a date pattern such as `dd.MM.yyyy`.
    ///
    /// - Throws: A sentence about the problem, which repeats nothing of the text.
    init(_ text: String) throws(DocumentError) {
        guard text.utf8.count <= MappingLimits.datePatternBytes else {
            throw DocumentError("a date pattern has at most \(MappingLimits.datePatternBytes) bytes")
        }
        var parts: [Part] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.first {
            if rest.starts(with: "yyyy".utf8) {
                parts.append(.year)
                rest = rest.dropFirst(4)
            } else if rest.starts(with: "MM".utf8) {
                parts.append(.month)
                rest = rest.dropFirst(2)
            } else if rest.starts(with: "dd".utf8) {
                parts.append(.day)
                rest = rest.dropFirst(2)
            } else if byte >= 0x20, byte < 0x7F, !byte.isASCIIAlphanumeric {
                parts.append(.literal(byte))
                rest = rest.dropFirst()
            } else {
                throw DocumentError("a date pattern is made of yyyy, MM, dd and ASCII punctuation or spaces")
            }
        }
        for part in [Part.year, .month, .day] where parts.count(where: { $0 == part }) != 1 {
            throw DocumentError("a date pattern holds yyyy, MM and dd once each")
        }
        self.text = text
        self.parts = parts
    }

    /// Reads a date by the pattern and returns it as `YYYY-MM-DD`.
    ///
    /// A birthday without its year or day counts as a missing value (`lacking`).
    func read(_ value: JSONValue) -> Outcome<JSONValue> {
        guard case .string(let text) = value else { return .refused(value.kind) }
        if let date = date(text) { return .value(.string(date.description)) }
        return BirthdayText(text) == .partial ? .lacking : .refused(value.kind)
    }

    private func date(_ text: String) -> CalendarDate? {
        var reader = DigitReader(text)
        var year = 0
        var month = 0
        var day = 0
        for part in parts {
            switch part {
            case .year:
                guard let number = reader.number(of: 4) else { return nil }
                year = number
            case .month:
                guard let number = reader.number(of: 2) else { return nil }
                month = number
            case .day:
                guard let number = reader.number(of: 2) else { return nil }
                day = number
            case .literal(let byte):
                guard reader.take(byte) else { return nil }
            }
        }
        guard reader.isAtEnd else { return nil }
        return CalendarDate(year: year, month: month, day: day)
    }
}
