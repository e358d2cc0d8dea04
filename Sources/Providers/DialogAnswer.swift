package import Vocabulary

/// What a login dialog says when it sends the browser back, as it stands in the query.
///
/// All of it passes through the person's browser, so nothing in it is believed but a code that the provider takes.
package struct DialogAnswer: Sendable {
    private let query: LenientQuery

    package init(_ query: LenientQuery) { self.query = query }

    // The names of RFC 6749 §4.1.2; all others are the provider's.
    package var state: String? { filled("state") }
    package var code: Secret? { filled("code").map(Secret.init) }

    /// The value of a parameter, which may be empty; nil when it is not there.
    package subscript(name: String) -> String? { query[name] }

    /// The value of a parameter that says something.
    package func filled(_ name: String) -> String? {
        query[name].flatMap { $0.utf8.isEmpty ? nil : $0 }
    }
}
