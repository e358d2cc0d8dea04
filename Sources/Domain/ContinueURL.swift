import Encodings

/// The URL of the page to which the user continues after a mailed link.
///
/// The page belongs to one of the application's origins, or runs on the user's own device (`localhost`).
package struct ContinueURL: Sendable {
    package let text: String

    /// Creates the URL; nil for a page of another origin, and for a text that is no web URL.
    ///
    /// If the application accepts requests of all origins, only pages of the device are allowed.
    package init?(_ text: String, in settings: ApplicationSettings) {
        let isDevice = ["https://localhost", "http://localhost"].contains { Self.isPage(text, of: $0, onAnyPort: true) }
        guard text.utf8.count <= 2000,
            isDevice || settings.allowedOrigins.contains(where: { Self.isPage(text, of: $0) })
        else { return nil }
        self.text = text
    }

    /// Returns whether an address is that of a page of an origin.
    ///
    /// Browsers read a backslash as a slash, and drop line ends. So only plain characters are allowed.
    package static func isPage(_ address: String, of origin: String, onAnyPort: Bool = false) -> Bool {
        guard address.utf8.starts(with: origin.utf8),
            address.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { return false }
        var rest = address.utf8.dropFirst(origin.utf8.count)
        if onAnyPort, rest.first == UInt8(ascii: ":") { rest = rest.dropFirst().drop(while: \.isASCIIDigit) }
        return rest.first.map { $0.isOne(of: "/?#") } ?? true
    }
}
