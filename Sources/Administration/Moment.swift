import Vocabulary
import Mapping

/// Days and moments as operators write them in a question.
package enum Moment {
    /// Milliseconds since 1970 from a text of them, or of RFC 3339; nil for every other text, and outside the years 1 to 9999.
    package static func read(_ text: String) -> Int64? {
        guard let milliseconds = Int64(text) else { return MomentText.read(text) }
        let seconds = milliseconds / 1000
        return MomentText.moment(seconds: seconds, milliseconds: milliseconds - seconds * 1000)
    }

    /// The day that `YYYY-MM-DD` names.
    static func readDay(_ text: String) -> CalendarDate? {
        guard let midnight = MomentText.read(text + "T00:00:00Z") else { return nil }
        return CalendarDate(daysSince1970: Int(midnight / 86_400_000))
    }
}
