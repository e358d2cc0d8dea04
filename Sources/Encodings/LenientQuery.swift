/// The parameters of a URL's query, from a parser that never fails.
///
/// The sites that send a browser to the service may add parameters of their own to the query. A parameter that occurs
/// twice, cannot be decoded or is too long counts as absent.
package struct LenientQuery: Sendable {
    private let pairs: [EncodedPair]

    private static let maxParameters = 32
    private static let longestValue = 8192

    /// Parses the part of a URL after the `?`.
    ///
    /// `text` is nil if the URL has no query.
    package init(_ text: String?) {
        let pairs = EncodedPair.read(text ?? "", max: Self.maxParameters, longest: Self.longestValue)
        self.pairs = Array(pairs.prefix(Self.maxParameters))
    }

    /// The value of a parameter, which may be empty; nil if it is absent.
    package subscript(name: String) -> String? {
        let found = pairs.filter { $0.name?.hasSameBytes(as: name) ?? false }
        return found.count == 1 ? found.first?.value : nil
    }
}
