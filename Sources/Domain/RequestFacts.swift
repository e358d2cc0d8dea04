import Encodings

/// The source of a request.
///
/// All work for the request can read it, so that every queue gives each source its share. It must not be logged.
package enum RequestOrigin {
    /// The name of the source (an IPv4 address or the /64 of an IPv6 address); nil where the source is unknown.
    @TaskLocal package static var current: String?
}

/// The program that sent a request.
///
/// All work for the request can read it. It is in no line of the log; code that stores it says so.
package enum RequestAgent {
    /// `User-Agent`; nil where the request has none.
    @TaskLocal package static var current: String?
}

/// A language tag, such as `en-US` or `pt_BR`.
package enum LanguageTag {
    /// Returns the two letters that begin a tag, in lower case; nil without exactly two, or for a tag that is too long.
    package static func letters(of tag: String) -> String? {
        guard tag.utf8.count <= 35 else { return nil }
        let letters = tag.utf8.prefix(while: \.isASCIILetter)
        guard letters.count == 2 else { return nil }
        return String(decoding: letters.map(\.asciiLowercased), as: UTF8.self)
    }
}
