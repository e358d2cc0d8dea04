package import Domain
import Encodings

/// The versions of the Graph API, with the day on which each ends.
///
/// See docs/protocols/facebook.md §6; for operators, docs/operations/upgrade.md.
package enum GraphVersions {
    /// The newest version known here.
    package static let latest = "v26.0"

    /// Days before the end of a version at which warnings begin.
    static let notice = 90

    /// The known versions, oldest first, with the first day on which Facebook answers as another version.
    ///
    /// Facebook announces the end of a version once there are two newer ones.
    package static let calendar: [(version: String, end: CalendarDate?)] = [
        ("v19.0", CalendarDate(year: 2026, month: 5, day: 21)),
        ("v20.0", CalendarDate(year: 2026, month: 9, day: 24)),
        ("v21.0", CalendarDate(year: 2027, month: 1, day: 21)),
        ("v22.0", CalendarDate(year: 2027, month: 5, day: 20)),
        ("v23.0", CalendarDate(year: 2027, month: 10, day: 8)),
        ("v24.0", CalendarDate(year: 2028, month: 2, day: 18)),
        ("v25.0", CalendarDate(year: 2028, month: 7, day: 29)),
        (latest, nil),
    ]

    /// Returns the first day on which Facebook answers as another version; nil when it is unknown.
    package static func end(of version: String) -> CalendarDate? {
        guard let number = Number(version) else { return nil }
        return calendar.first { Number($0.version) == number }?.end
    }

    /// Returns warnings about a requested version, each in whole sentences.
    ///
    /// - Parameters:
    ///   - version: The version in the settings, such as `v25.0`.
    ///   - answered: The version that responded last when this one was requested; nil when none has responded yet.
    ///   - today: The day in UTC.
    /// - Returns: The warnings; empty when all is well.
    package static func warnings(for version: String, answered: String?, today: CalendarDate) -> [String] {
        var warnings = ending(of: version, today: today).map { [$0] } ?? []
        if let answered, Number(answered) != Number(version) {
            warnings.append(
                """
                Graph \(version) was asked for and \(answered) answered, which may name and shape fields differently. \
                Choose the version that the mapping was made for.
                """
            )
        }
        return warnings
    }

    /// Returns the warning that a version has ended, ends soon, or is unknown; nil for any other version.
    package static func ending(of version: String, today: CalendarDate) -> String? {
        guard let number = Number(version) else { return nil }
        guard let known = calendar.first(where: { Number($0.version) == number }) else {
            let hasEnded = Number(calendar[0].version).map { number < $0 } ?? false
            return hasEnded
                ? "Graph \(version) has ended. \(consequence) \(advice)"
                : """
                Graph \(version) is not among the versions that are known here, whose newest is \(latest): whether Facebook has it, \
                and until when, is in its changelog. Facebook refuses a version that it does not have.
                """
        }
        guard let end = known.end else { return nil }
        let days = end.daysSince1970 - today.daysSince1970
        if days <= 0 { return "Graph \(version) ended on \(end). \(consequence) \(advice)" }
        guard days <= notice else { return nil }
        let time = days == 1 ? "1 day" : "\(days) days"
        return "Graph \(version) ends on \(end), in \(time). After that: \(consequence) \(advice)"
    }

    private static let consequence = "Facebook answers as the oldest version that it still has, without an error."
    private static let advice = "Choose a newer one; \(latest) is the newest that is known here."

    /// A version as numbers, so that v9.0 is older than v10.0.
    private struct Number: Comparable {
        let major: Int
        let minor: Int

        /// Parses a version; nil unless the text looks like `v25.0`.
        init?(_ version: String) {
            guard isVersion(version) else { return nil }
            let parts = version.utf8.dropFirst().split(separator: UInt8(ascii: "."))
            guard parts.count == 2, let major = Int(String(decoding: parts[0], as: UTF8.self)),
                let minor = Int(String(decoding: parts[1], as: UTF8.self))
            else { return nil }
            self.major = major
            self.minor = minor
        }

        static func < (left: Number, right: Number) -> Bool { (left.major, left.minor) < (right.major, right.minor) }
    }

    /// Returns whether the text looks like `v25.0`; other texts of operators and of Graph are refused.
    package static func isVersion(_ text: String) -> Bool {
        // The longest are "v", three digits, a point and two digits.
        guard text.utf8.count <= 7, text.utf8.first == UInt8(ascii: "v") else { return false }
        let parts = text.utf8.dropFirst().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 2 && (1...3).contains(parts[0].count) && (1...2).contains(parts[1].count)
            && parts.allSatisfy { $0.allSatisfy(\.isASCIIDigit) }
    }
}
