import Domain
import Encodings

/// A language in which the service has pages and built-in mails.
///
/// A new language needs a case here and a file of texts (`PageTable`).
package enum PageLanguage: String, Sendable, CaseIterable {
    case english = "en"
    case german = "de"

    /// The maximum number of bytes in `Accept-Language`.
    ///
    /// A longer header is ignored.
    private static let maxBytes = 500

    /// Selects the available language that the browser prefers; English if the browser accepts no available language.
    ///
    /// - Parameter header: `Accept-Language` of the request (RFC 9110 §12.5.4).
    package init(accepting header: String?) {
        self = .english
        var best = 0
        guard let header, header.utf8.count <= Self.maxBytes else { return }
        for range in header.split(separator: ",") {
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard let tag = parts.first, let weight = Self.weight(parts.dropFirst()), weight > best,
                let language = LanguageTag.letters(of: tag).flatMap(Self.init(rawValue:))
            else { continue }
            (self, best) = (language, weight)
        }
    }

    /// Returns the weight of a language in `Accept-Language`, in thousandths; nil if the weight is invalid.
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
}
