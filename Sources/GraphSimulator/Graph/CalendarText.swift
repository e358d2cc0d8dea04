/// Dates as text: Facebook writes the times of expired sessions in the time of California, HTTP writes them in GMT.
enum CalendarText {
    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Wednesday, 16-Nov-22 07:45:51 PST`.
    static func pacific(_ time: Int) -> String {
        let time = clamped(time)
        let summer = isPacificSummer(time)
        let date = civil(time - (summer ? 7 : 8) * 3600)
        let zone = summer ? "PDT" : "PST"
        return "\(weekdays[date.weekday]), \(two(date.day))-\(months[date.month - 1])-\(two(date.year % 100)) "
            + "\(clock(date.second)) \(zone)"
    }

    /// `Wed, 16 Nov 2022 15:45:51 GMT`, the form of RFC 9110.
    static func http(_ time: Int) -> String {
        let date = civil(clamped(time))
        return "\(weekdays[date.weekday].prefix(3)), \(two(date.day)) \(months[date.month - 1]) \(date.year) "
            + "\(clock(date.second)) GMT"
    }

    /// Daylight time as the United States have it since 2007: from 02:00 standard time on the second Sunday of March
    /// to 02:00 daylight time on the first Sunday of November.
    private static func isPacificSummer(_ time: Int) -> Bool {
        let year = civil(time - 8 * 3600).year
        let begin = sunday(onOrAfter: 8, month: 3, year: year) * 86400 + 10 * 3600
        let end = sunday(onOrAfter: 1, month: 11, year: year) * 86400 + 9 * 3600
        return (begin..<end).contains(time)
    }

    private static func sunday(onOrAfter day: Int, month: Int, year: Int) -> Int {
        let first = dayNumber(year: year, month: month, day: day)
        return first + (7 - weekday(first)) % 7
    }

    /// 1970 to 9999, so that no arithmetic below can overflow.
    private static func clamped(_ time: Int) -> Int {
        min(max(time, 86400), 253_370_764_800)
    }

    private static func weekday(_ dayNumber: Int) -> Int {
        (dayNumber + 4) % 7
    }

    /// Days since 1970 of a Gregorian date (years counted from March, eras of 400 years).
    private static func dayNumber(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ time: Int) -> (year: Int, month: Int, day: Int, weekday: Int, second: Int) {
        let dayNumber = time / 86400
        let days = dayNumber + 719_468
        let era = days / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = (shifted + 2) % 12 + 1
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1,
            weekday(dayNumber), time % 86400
        )
    }

    private static func clock(_ second: Int) -> String {
        "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
    }

    private static func two(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
