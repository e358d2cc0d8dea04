import Encodings

/// The known name that is most similar to an unknown one.
///
/// The result is always a known name, so a message with it repeats nothing of the request.
package enum NearestName {
    /// The longest name that is compared, which bounds the cost; a longer name is no typing error.
    private static let mostBytes = 64

    /// Returns the nearest name; nil when none is near.
    ///
    /// Two names are near when at most a third of the letters must be inserted, deleted, changed or swapped with the
    /// next one. Upper and lower case, and `-` and `_`, count the same.
    package static func of(_ text: some StringProtocol, among names: some Sequence<String>) -> String? {
        guard (1...mostBytes).contains(text.utf8.count) else { return nil }
        let wanted = folded(text)
        var best: (name: String, distance: Int)?
        for name in names where name.utf8.count <= mostBytes {
            let candidate = folded(name)
            let most = min(best.map { $0.distance - 1 } ?? .max, max(1, max(wanted.count, candidate.count) / 3))
            guard abs(wanted.count - candidate.count) <= most else { continue }
            let distance = distance(wanted, candidate)
            if distance <= most { best = (name, distance) }
        }
        return best?.name
    }

    /// Returns the end of a message about an unknown name, ` (did you mean location?)`, or an empty text.
    package static func hint(for text: some StringProtocol, among names: some Sequence<String>) -> String {
        of(text, among: names).map { " (did you mean \($0)?)" } ?? ""
    }

    private static func folded(_ text: some StringProtocol) -> [UInt8] {
        text.utf8.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "_") : $0.asciiLowercased }
    }

    /// Returns the number of inserted, deleted, changed or swapped letters: the distance of "optimal string alignment".
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
