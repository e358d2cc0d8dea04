/// The parameters of a query to which whoever leads a browser here adds what they like.
///
/// One that is there twice, or cannot be decoded, or is too long, is nobody's and so is not there.
package struct LenientQuery: Sendable {
    private let pairs: [EncodedPair]

    private static let mostParameters = 32
    private static let longestValue = 8192

    /// Reads what stands behind the `?`; nil when nothing does.
    package init(_ text: String?) {
        let pairs = EncodedPair.read(text ?? "", most: Self.mostParameters, longest: Self.longestValue)
        self.pairs = Array(pairs.prefix(Self.mostParameters))
    }

    /// The value of a parameter, which may be empty; nil when it is not there.
    package subscript(name: String) -> String? {
        let found = pairs.filter { $0.name?.hasSameBytes(as: name) ?? false }
        return found.count == 1 ? found.first?.value : nil
    }
}
