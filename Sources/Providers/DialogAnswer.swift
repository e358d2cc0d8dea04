package import Domain
package import Encodings

/// The query of the redirect with which a provider's login dialog ends.
///
/// The query passes through the user's browser, so it is untrusted. Only a code that the provider accepts has an
/// effect.
package struct DialogAnswer: Sendable {
    private let query: LenientQuery

    package init(_ query: LenientQuery) { self.query = query }

    // These names are from RFC 6749 §4.1.2. All other parameters depend on the provider.
    package var state: String? { filled("state") }
    package var code: Secret? { filled("code").map(Secret.init) }

    /// The value of a parameter.
    ///
    /// It may be empty. It is nil when the parameter is absent.
    package subscript(name: String) -> String? { query[name] }

    /// Returns the value of a parameter; nil when the parameter is absent or empty.
    package func filled(_ name: String) -> String? {
        query[name].flatMap { $0.utf8.isEmpty ? nil : $0 }
    }
}
