/// One `name=value` of a query or of a form (`application/x-www-form-urlencoded`); what it is good for is the reader's
/// to say.
package struct EncodedPair: Sendable {
    /// Decoded; nil when it cannot be.
    package let name: String?
    /// Decoded, and empty where there is none; nil when it cannot be decoded or is too long.
    package let value: String?

    /// Reads the pairs of a text, which needs no pair at all.
    ///
    /// Bytes are compared and never characters: comparing long runs of combining marks takes a time that grows with the
    /// square.
    ///
    /// - Parameters:
    ///   - text: What stands behind the `?`, or a whole form.
    ///   - most: How many are read; one more comes back when there are more, and a long text is not split to its end.
    ///   - longest: Most bytes of a value, decoded.
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
