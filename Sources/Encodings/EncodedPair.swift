/// A `name=value` pair of a query or of a form (`application/x-www-form-urlencoded`); the reader interprets it.
package struct EncodedPair: Sendable {
    /// The decoded name; nil if it cannot be decoded.
    package let name: String?
    /// The decoded value, empty if there is none; nil if it cannot be decoded or is too long.
    package let value: String?

    /// Parses the pairs of a text, which may have none.
    ///
    /// Bytes are compared, never characters: the comparison of long runs of combining marks takes quadratic time.
    ///
    /// - Parameters:
    ///   - text: The part after the `?`, or a whole form.
    ///   - most: The most pairs; one more is returned if there are more, and a long text is not split to its end.
    ///   - longest: The most bytes of a decoded value.
    /// - Returns: The pairs in their order.
    package static func read(_ text: String, most: Int, longest: Int = .max) -> [EncodedPair] {
        guard !text.utf8.isEmpty else { return [] }
        let parts = text.utf8.split(
            separator: UInt8(ascii: "&"),
            maxSplits: most + 1,
            omittingEmptySubsequences: false
        )
        return parts.prefix(most + 1).map { part in
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let value = pair.dropFirst().first.map { Substring($0) } ?? ""
            return EncodedPair(
                name: PercentEncoding.decode(Substring(pair.first ?? part), plusIsSpace: true),
                value: PercentEncoding.decode(value, plusIsSpace: true).flatMap { $0.utf8.count <= longest ? $0 : nil }
            )
        }
    }
}
