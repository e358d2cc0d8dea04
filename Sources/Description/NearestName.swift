import Encodings

/// Finds the known name that is most similar to an unknown one, for suggestions in error messages.
///
/// The result is always a known name. So a message with the result does not repeat any text from a request.
package enum NearestName {
    /// The maximum number of bytes in a name that is compared.
    ///
    /// The maximum limits the cost of a comparison. A longer name is not a mere typing error.
    private static let maxBytes = 64

    /// Returns the known name that is nearest to a text; nil if no name is near.
    ///
    /// A name is near if it takes changes to at most a third of its letters, or to one letter, to turn one text into
    /// the other. A change inserts, deletes or replaces a letter, or swaps two adjacent letters. Upper and lower case
    /// are equal, and so are `-` and `_`.
    package static func of(_ text: some StringProtocol, among names: some Sequence<String>) -> String? {
        guard (1...maxBytes).contains(text.utf8.count) else { return nil }
        let wanted = folded(text)
        var best: (name: String, distance: Int)?
        for name in names where name.utf8.count <= maxBytes {
            let candidate = folded(name)
            let limit = min(best.map { $0.distance - 1 } ?? .max, max(1, max(wanted.count, candidate.count) / 3))
            guard abs(wanted.count - candidate.count) <= limit else { continue }
            let distance = distance(wanted, candidate)
            if distance <= limit { best = (name, distance) }
        }
        return best?.name
    }

    /// Returns the end of a message about an unknown name, such as ` (did you mean location?)`; empty if no name is
    /// near.
    package static func hint(for text: some StringProtocol, among names: some Sequence<String>) -> String {
        of(text, among: names).map { " (did you mean \($0)?)" } ?? ""
    }

    private static func folded(_ text: some StringProtocol) -> [UInt8] {
        text.utf8.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "_") : $0.asciiLowercased }
    }

    /// Returns how many changes turn one text into the other (the "optimal string alignment" distance).
    ///
    /// A change inserts, deletes or replaces a letter, or swaps two adjacent letters.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var former: [Int] = []
        var row = Array(0...right.count)
        for (i, byte) in left.enumerated() {
            var next = [i + 1]
            for (j, other) in right.enumerated() {
                var cost = min(next[j] + 1, row[j + 1] + 1, row[j] + (byte == other ? 0 : 1))
                if i > 0, j > 0, byte == right[j - 1], left[i - 1] == other { cost = min(cost, former[j - 1] + 1) }
                next.append(cost)
            }
            former = row
            row = next
        }
        return row[right.count]
    }
}
