/// What systems call a language, such as `en-US` or `pt_BR`.
package enum LanguageTag {
    /// The two letters with which it begins, in lower case; nil where these are not two, or the text is too long.
    package static func letters(of tag: String) -> String? {
        guard tag.utf8.count <= 35 else { return nil }
        let letters = tag.utf8.prefix(while: \.isASCIILetter)
        guard letters.count == 2 else { return nil }
        return String(decoding: letters.map(\.asciiLowercased), as: UTF8.self)
    }
}
