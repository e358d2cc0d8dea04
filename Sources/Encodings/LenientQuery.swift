/// The parameters of a query to which the sites that send a browser here may add parameters of their own.
///
/// A parameter that occurs twice, cannot be decoded or is too long counts as absent.
package struct LenientQuery: Sendable {
    private let pairs: [EncodedPair]

    private static let mostParameters = 32
    private static let longestValue = 8192

    /// Parses the part of a URL after the `?`; `text` is nil if there is none.
    package init(_ text: String?) {
        let pairs = EncodedPair.read(text ?? "", most: Self.mostParameters, longest: Self.longestValue)
        self.pairs = Array(pairs.prefix(Self.mostParameters))
    }

    /// The value of a parameter, which may be empty; nil if it is absent.
    package subscript(name: String) -> String? {
        let found = pairs.filter { $0.name?.hasSameBytes(as: name) ?? false }
        return found.count == 1 ? found.first?.value : nil
    }
}
