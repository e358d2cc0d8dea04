import Vocabulary

/// A language in which pages are written: those in which mails come with the service.
///
/// Another one is a case here and a file of texts like `PageText+German.swift`; the compiler asks for each of them.
package enum PageLanguage: String, Sendable, CaseIterable {
    case english = "en"
    case german = "de"

    /// The most bytes of `Accept-Language` that are read.
    private static let mostBytes = 500

    /// The language that a browser asks for before the others, of those that there are; English for none.
    ///
    /// - Parameter header: Its `Accept-Language` (RFC 9110 §12.5.4).
    package init(accepting header: String?) {
        self = .english
        var best = 0
        guard let header, header.utf8.count <= Self.mostBytes else { return }
        for range in header.split(separator: ",") {
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard let tag = parts.first, let weight = Self.weight(parts.dropFirst()), weight > best,
                let language = LanguageTag.letters(of: tag).flatMap(Self.init(rawValue:))
            else { continue }
            (self, best) = (language, weight)
        }
    }

    /// In thousandths; nil for what is no weight.
    private static func weight(_ parameters: ArraySlice<String>) -> Int? {
        guard let parameter = parameters.first else { return 1000 }
        let halves = parameter.split(separator: "=", omittingEmptySubsequences: false)
        guard parameters.count == 1, halves.count == 2, halves[0].lowercased() == "q" else { return nil }
        let number = halves[1].split(separator: ".", omittingEmptySubsequences: false)
        let digits = number.count > 1 ? number[1] : ""
        guard number.count <= 2, digits.utf8.count <= 3, digits.utf8.allSatisfy(\.isASCIIDigit),
            let part = Int(digits + String(repeating: "0", count: 3 - digits.utf8.count))
        else { return nil }
        switch number.first {
        case "0": return part
        case "1": return part == 0 ? 1000 : nil
        default: return nil
        }
    }

    /// A text in this language.
    package func callAsFunction(_ text: PageText) -> HTML {
        switch self {
        case .english: text.english
        case .german: text.german
        }
    }

    /// A day as people write it, of UTC, from milliseconds since 1970.
    package func day(_ milliseconds: Int64) -> HTML {
        let days = milliseconds >= 0 ? milliseconds / 86_400_000 : (milliseconds - 86_399_999) / 86_400_000
        guard let date = CalendarDate(daysSince1970: Int(days)) else { return self(.someDay) }
        return "<time datetime=\"\(date.description)\">\(written(date))</time>"
    }

    func written(_ date: CalendarDate) -> HTML {
        switch self {
        case .english: "\(date.day) \(Self.englishMonths[date.month - 1]) \(date.year)"
        case .german: "\(date.day). \(Self.germanMonths[date.month - 1]) \(date.year)"
        }
    }

    private static let englishMonths = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]
    private static let germanMonths = [
        "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
        "Dezember",
    ]
}
