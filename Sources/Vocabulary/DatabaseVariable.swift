/// The environment variable that holds the URL of a database which an application has for its users alone (decision
/// D24).
///
/// Names are bound to one form, so that nobody who may change an application has the service try other variables of its
/// environment as URLs: `SHOP_DATABASE_URL`, and never one of the service's own.
package struct DatabaseVariable: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// What a name has to be, for people.
    package static let rule = """
        must be {"env": "NAME"} with the name of an environment variable that ends in _DATABASE_URL and does not begin \
        with FEDERATION_: at most 63 of A to Z, 0 to 9 and _, beginning with a letter
        """

    /// Nil for a text that does not follow the rule.
    package init?(_ text: String) {
        guard text.utf8.count <= 63, text.hasSuffix("_DATABASE_URL"), !text.hasPrefix("FEDERATION_"),
            let first = text.utf8.first, Self.letters.contains(first),
            text.utf8.allSatisfy({ Self.letters.contains($0) || $0.isASCIIDigit || $0 == UInt8(ascii: "_") })
        else { return nil }
        self.text = text
    }

    private static let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")

    package var description: String { text }
}
