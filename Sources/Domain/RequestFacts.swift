import Encodings

/// The source and the program of a request.
///
/// All code that works for the request can read them, and no code may log them. Every queue uses the source to give
/// each source its share. Code that stores the name of the program says so in its own documentation.
package struct RequestSender: Sendable {
    @TaskLocal package static var current = RequestSender()

    /// The name of the source (an IPv4 address or the /64 of an IPv6 address); nil if the source is unknown.
    package let source: String?
    /// The header `User-Agent` of the request; nil if the request has none.
    package let userAgent: String?

    package init(source: String? = nil, userAgent: String? = nil) {
        (self.source, self.userAgent) = (source, userAgent)
    }
}

/// A language tag, such as `en-US` or `pt_BR`.
package enum LanguageTag {
    /// Returns the two letters that begin a tag, in lower case; nil if the tag does not begin with exactly two letters,
    /// or is too long.
    package static func letters(of tag: String) -> String? {
        guard tag.utf8.count <= 35 else { return nil }
        let letters = tag.utf8.prefix(while: \.isASCIILetter)
        guard letters.count == 2 else { return nil }
        return String(decoding: letters.map(\.asciiLowercased), as: UTF8.self)
    }
}
