import Domain

/// Formats times as text.
///
/// Facebook's messages about expired sessions contain Californian time. HTTP headers contain GMT. Discord's JSON
/// contains times of RFC 3339.
enum CalendarText {
    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let day = 86400

    /// Formats a time as `Wednesday, 16-Nov-22 07:45:51 PST`.
    static func pacific(_ time: Int) -> String {
        let time = clamped(time)
        let summer = isPacificSummer(time)
        let (weekday, date, clock) = parts(time - (summer ? 7 : 8) * 3600)
        let year = two(date.year % 100)
        return "\(weekday), \(two(date.day))-\(months[date.month - 1])-\(year) \(clock) \(summer ? "PDT" : "PST")"
    }

    /// Formats a time as `Wed, 16 Nov 2022 15:45:51 GMT`, the form of RFC 9110.
    static func http(_ time: Int) -> String {
        let (weekday, date, clock) = parts(clamped(time))
        return "\(weekday.prefix(3)), \(two(date.day)) \(months[date.month - 1]) \(date.year) \(clock) GMT"
    }

    /// Formats a time as `2022-11-16T15:45:51+00:00`, the form of RFC 3339.
    static func rfc3339(_ time: Int) -> String {
        let (_, date, clock) = parts(clamped(time))
        return "\(date.year)-\(two(date.month))-\(two(date.day))T\(clock)+00:00"
    }

    /// Returns whether daylight time applies, by the rule of the United States since 2007.
    ///
    /// Daylight time begins on the second Sunday of March at 02:00 standard time. It ends on the first Sunday of
    /// November at 02:00 daylight time.
    private static func isPacificSummer(_ time: Int) -> Bool {
        let year = parts(time - 8 * 3600).date.year
        func sunday(onOrAfter day: Int, month: Int) -> Int {
            let first = CalendarDate(year: year, month: month, day: day)?.daysSince1970 ?? 0
            return first + (7 - weekday(first)) % 7
        }
        let begin = sunday(onOrAfter: 8, month: 3) * day + 10 * 3600
        let end = sunday(onOrAfter: 1, month: 11) * day + 9 * 3600
        return (begin..<end).contains(time)
    }

    /// Limits a time to the years 1970 to 9999, so that the arithmetic cannot overflow.
    private static func clamped(_ time: Int) -> Int {
        min(max(time, day), 253_370_764_800)
    }

    private static func weekday(_ daysSince1970: Int) -> Int {
        (daysSince1970 + 4) % 7
    }

    private static func parts(_ time: Int) -> (weekday: String, date: CalendarDate, clock: String) {
        let (days, second) = time.quotientAndRemainder(dividingBy: day)
        guard let date = CalendarDate(daysSince1970: days) else { preconditionFailure("a clamped time has a date") }
        let clock = "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
        return (weekdays[weekday(days)], date, clock)
    }

    private static func two(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
