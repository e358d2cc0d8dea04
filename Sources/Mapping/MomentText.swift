import Domain

/// Reads and writes times as text, in the form of RFC 3339 and in Facebook's form without the colon in the offset.
///
/// A time is milliseconds since 1970 UTC, within the years 1 to 9999.
package enum MomentText {
    /// Reads a time such as `2017-05-06T07:08:09+0000` or `2017-05-06T07:08:09.123Z`; nil for any other text.
    ///
    /// Digits after the millisecond are dropped. Second 60 is the first of the next minute, as in PostgreSQL.
    package static func read(_ text: String) -> Int64? {
        var reader = DigitReader(text)
        guard let date = reader.isoDate(), reader.take(UInt8(ascii: "T")) || reader.take(UInt8(ascii: "t")),
            let hour = reader.number(of: 2), hour < 24, reader.take(UInt8(ascii: ":")),
            let minute = reader.number(of: 2), minute < 60, reader.take(UInt8(ascii: ":")),
            let second = reader.number(of: 2), second <= 60,
            let fraction = milliseconds(&reader), let offset = offset(&reader), reader.isAtEnd
        else { return nil }
        let seconds = date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second - offset
        return moment(seconds: Int64(seconds), milliseconds: Int64(fraction))
    }

    /// Reads a time in UTC without an offset, such as `2017-05-06T07:08:09.123`; nil for any other text.
    static func read(offsetless text: String) -> Int64? { read(text + "Z") }

    /// Returns the time, in milliseconds since 1970, that is the given number of seconds after 1970.
    ///
    /// Nil outside the years 1 to 9999.
    package static func moment(seconds: Int64, milliseconds: Int64 = 0) -> Int64? {
        guard (-62_135_596_800...253_402_300_799).contains(seconds) else { return nil }
        return seconds * 1000 + milliseconds
    }

    /// Returns whether a time, in milliseconds since 1970, is within the years 1 to 9999.
    package static func isMoment(_ milliseconds: Int64) -> Bool {
        (-62_135_596_800_000...253_402_300_799_999).contains(milliseconds)
    }

    /// Returns `YYYY-MM-DDTHH:MM:SS.mmmZ`; nil outside the years 1 to 9999.
    package static func write(_ moment: Int64) -> String? {
        guard let date = CalendarDate(ofMoment: moment) else { return nil }
        let rest = moment - Int64(date.daysSince1970) * 86_400_000
        let clock = [
            digits(rest / 3_600_000, 2), digits(rest / 60_000 % 60, 2), digits(rest / 1000 % 60, 2),
        ]
        return "\(date)T\(clock.joined(separator: ":")).\(digits(rest % 1000, 3))Z"
    }

    /// Reads the fraction of a second, `.` and 1 to 9 digits, as milliseconds.
    ///
    /// The result is 0 if there is no `.`, and nil if no digit or more than 9 digits follow it.
    private static func milliseconds(_ reader: inout DigitReader) -> Int? {
        guard reader.take(UInt8(ascii: ".")) else { return 0 }
        var result = 0
        var count = 0
        while let digit = reader.digit() {
            count += 1
            if count <= 3 { result = result * 10 + digit }
        }
        switch count {
        case 1: return result * 100
        case 2: return result * 10
        case 3...9: return result
        default: return nil
        }
    }

    /// Reads an offset from UTC, `Z`, `+HH:MM` or `+HHMM`, as seconds.
    private static func offset(_ reader: inout DigitReader) -> Int? {
        if reader.take(UInt8(ascii: "Z")) || reader.take(UInt8(ascii: "z")) { return 0 }
        let isWest = reader.take(UInt8(ascii: "-"))
        guard isWest || reader.take(UInt8(ascii: "+")), let hours = reader.number(of: 2), hours < 24 else { return nil }
        _ = reader.take(UInt8(ascii: ":"))
        guard let minutes = reader.number(of: 2), minutes < 60 else { return nil }
        let seconds = hours * 3600 + minutes * 60
        return isWest ? -seconds : seconds
    }

    private static func digits(_ number: Int64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}
