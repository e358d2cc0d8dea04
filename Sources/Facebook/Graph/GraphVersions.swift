package import Domain
import Encodings

/// The versions of the Graph API and the day on which each version ends.
///
/// See docs/protocols/facebook.md §6. For operators, see docs/operations/upgrade.md.
package enum GraphVersions {
    /// The newest version that this program knows.
    package static let latest = "v26.0"

    /// How many days before the end of a version the warnings about it begin.
    static let notice = 90

    /// The known versions, from the oldest to the newest, each with its end.
    ///
    /// The end is the first day on which Facebook responds with another version instead. It is nil if it is unknown.
    ///
    /// Facebook announces the end of a version when two newer versions exist.
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

    /// Returns the first day on which Facebook no longer responds with the version; nil if the day is unknown.
    package static func end(of version: String) -> CalendarDate? {
        guard let number = Number(version) else { return nil }
        return calendar.first { Number($0.version) == number }?.end
    }

    /// Returns warnings about the version in the settings.
    ///
    /// Each warning is one or more whole sentences.
    ///
    /// - Parameters:
    ///   - version: The version in the settings, such as `v25.0`.
    ///   - answered: The version that responded last to a request for `version`; nil if none has responded yet.
    ///   - today: The day in UTC.
    /// - Returns: The warnings; empty if there is nothing to warn about.
    package static func warnings(for version: String, answered: String?, today: CalendarDate) -> [String] {
        var warnings = ending(of: version, today: today).map { [$0] } ?? []
        if let answered, Number(answered) != Number(version) {
            warnings.append(
                """
                Graph \(version) was requested and \(answered) responded, whose fields may differ. Choose the version \
                that the mapping was made for.
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
                Graph \(version) is not a known version; the newest known one is \(latest). Check Facebook's \
                changelog: Facebook refuses a version that it does not have.
                """
        }
        guard let end = known.end else { return nil }
        let days = end.daysSince1970 - today.daysSince1970
        if days <= 0 { return "Graph \(version) ended on \(end). \(consequence) \(advice)" }
        guard days <= notice else { return nil }
        let time = days == 1 ? "1 day" : "\(days) days"
        return "Graph \(version) ends on \(end), in \(time). After that: \(consequence) \(advice)"
    }

    private static let consequence = "Facebook uses its oldest available version, without an error."
    private static let advice = "Choose a newer version; the newest known one is \(latest)."

    /// A version as numbers.
    ///
    /// So v9.0 is older than v10.0.
    private struct Number: Comparable {
        let major: Int
        let minor: Int

        /// Parses a version; nil if the text does not have the form of `v25.0`.
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

    /// Returns whether the text has the form of `v25.0`.
    package static func isVersion(_ text: String) -> Bool {
        // The longest texts are "v", three digits, a point and two digits.
        guard text.utf8.count <= 7, text.utf8.first == UInt8(ascii: "v") else { return false }
        let parts = text.utf8.dropFirst().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 2 && (1...3).contains(parts[0].count) && (1...2).contains(parts[1].count)
            && parts.allSatisfy { $0.allSatisfy(\.isASCIIDigit) }
    }
}
