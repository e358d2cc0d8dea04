/// Converts durations to and from text, such as `14 days`, `36h` or `1 day 12 hours`.
package enum DurationText {
    private static let units: [(name: String, letter: Character, seconds: Int64)] = [
        ("day", "d", 86_400), ("hour", "h", 3600), ("minute", "m", 60), ("second", "s", 1),
    ]

    /// Returns a number of seconds as text, such as `1 day 12 hours`.
    ///
    /// A negative number counts as 0.
    package static func text(of seconds: Int64) -> String {
        var (left, parts) = (max(0, seconds), [String]())
        for unit in units where left >= unit.seconds {
            let count = left / unit.seconds
            parts.append("\(count) \(unit.name)\(count == 1 ? "" : "s")")
            left %= unit.seconds
        }
        return parts.isEmpty ? "0 seconds" : parts.joined(separator: " ")
    }

    /// Parses a duration into seconds; nil for a text that is not a duration.
    ///
    /// A unit is `d`, `h`, `m` or `s`, or its name in the singular or plural. A number without a unit counts seconds.
    package static func seconds(_ text: String) -> Int64? {
        guard text.utf8.count <= 64 else { return nil }
        var rest = Substring(text.lowercased().trimmed)
        guard !rest.isEmpty else { return nil }
        var total: Int64 = 0
        var isFirst = true
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count).drop(while: \.isWhitespace)
            let word = rest.prefix { !$0.isNumber && !$0.isWhitespace }
            rest = rest.dropFirst(word.count).drop(while: \.isWhitespace)
            let isAlone = word.isEmpty && rest.isEmpty && isFirst
            guard let count = Int64(digits), let unit = isAlone ? 1 : self.unit(word) else { return nil }
            let (product, isTooLong) = count.multipliedReportingOverflow(by: unit)
            let (sum, isTooMuch) = total.addingReportingOverflow(product)
            guard !isTooLong, !isTooMuch else { return nil }
            total = sum
            isFirst = false
        }
        return total
    }

    private static func unit(_ word: Substring) -> Int64? {
        units.first { String($0.letter) == word || $0.name == word || $0.name + "s" == word }?.seconds
    }
}
