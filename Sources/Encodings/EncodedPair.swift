/// A `name=value` pair of a query or of a form (`application/x-www-form-urlencoded`).
///
/// A pair that cannot be decoded stays in the list: the code that uses the pairs decides what such a pair means.
package struct EncodedPair: Sendable {
    /// The decoded name; nil if decoding fails.
    package let name: String?
    /// The decoded value; empty if the pair has none.
    ///
    /// Nil if decoding fails or the value is too long.
    package let value: String?

    /// Parses the pairs of a text.
    ///
    /// The parser compares bytes, not characters: comparing long runs of combining marks takes quadratic time.
    ///
    /// - Parameters:
    ///   - text: The part after the `?`, or a whole form.
    ///   - max: The maximum number of pairs. If the text has more, `max + 1` pairs are returned, so that the caller can
    ///     see it.
    ///   - longest: The maximum number of bytes in a decoded value.
    /// - Returns: The pairs in their order.
    package static func read(_ text: String, max: Int, longest: Int = .max) -> [EncodedPair] {
        guard !text.utf8.isEmpty else { return [] }
        let parts = text.utf8.split(
            separator: UInt8(ascii: "&"),
            maxSplits: max + 1,
            omittingEmptySubsequences: false
        )
        return parts.prefix(max + 1).map { part in
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let value = pair.dropFirst().first.map { Substring($0) } ?? ""
            return EncodedPair(
                name: PercentEncoding.decode(Substring(pair.first ?? part), plusIsSpace: true),
                value: PercentEncoding.decode(value, plusIsSpace: true).flatMap { $0.utf8.count <= longest ? $0 : nil }
            )
        }
    }
}
