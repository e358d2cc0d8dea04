/// The texts of a language, from a file in `Assets`.
///
/// Each line of the file is `key = text`. If several keys have the same text, commas separate the keys.
struct PageTable {
    /// The texts by key, each split at its braces.
    ///
    /// The elements at even indexes are markup. Those at odd indexes are names of values to insert.
    private(set) var texts: [String: [Substring]] = [:]

    init(_ file: [UInt8]) {
        for line in String(decoding: file, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
            guard let sign = line.firstRange(of: " = ") else { preconditionFailure("No text: \(line)") }
            let parts = line[sign.upperBound...].split(omittingEmptySubsequences: false) { $0 == "{" || $0 == "}" }
            for key in line[..<sign.lowerBound].split(separator: ", ") {
                precondition(texts.updateValue(parts, forKey: String(key)) == nil, "\(key) has two texts.")
            }
        }
    }

    /// Returns a text with its values filled in; nil if the language has no text for the key.
    func text(_ key: String, _ values: (PageText.Name) -> HTML?) -> HTML? {
        texts[key].map { parts in
            parts.enumerated().map { place, part -> HTML in
                guard !place.isMultiple(of: 2) else { return HTML(markup: String(part)) }
                let value = PageText.Name(rawValue: String(part)).flatMap(values)
                assert(value != nil, "\(key) is said without its \(part).")
                return value ?? ""
            }.joined()
        }
    }
}

extension PageTable {
    private static let english = PageTable(PackageResources.en_txt)
    private static let german = PageTable(PackageResources.de_txt)

    /// Returns the texts of a language.
    ///
    /// A new language needs a case of `PageLanguage`, a file of texts, and a line in this method.
    static func texts(in language: PageLanguage) -> PageTable {
        switch language {
        case .english: english
        case .german: german
        }
    }
}
