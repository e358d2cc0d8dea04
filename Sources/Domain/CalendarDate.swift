/// A day of the proleptic Gregorian calendar, years 1 to 9999, without time zone.
package struct CalendarDate: Sendable, Hashable, CustomStringConvertible {
    package let year: Int
    package let month: Int
    package let day: Int

    /// Creates a day; nil if the calendar has no such day.
    package init?(year: Int, month: Int, day: Int) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1,
            day <= Self.days(inMonth: month, ofYear: year)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day that is `days` days after 1970-01-01; nil outside the years 1 to 9999.
    ///
    /// In the algorithm, years begin on 1 March, so a leap day is the last day of its year. It counts in eras of 400
    /// years, which have 146 097 days each.
    package init?(daysSince1970 days: Int) {
        guard (-719_162...2_932_896).contains(days) else { return nil }
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        self.init(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
            month: month,
            day: dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        )
    }

    /// The day in UTC of a time in milliseconds since 1970; nil outside the years 1 to 9999.
    package init?(ofMoment milliseconds: Int64) {
        let (days, rest) = milliseconds.quotientAndRemainder(dividingBy: 86_400_000)
        self.init(daysSince1970: Int(rest < 0 ? days - 1 : days))
    }

    /// Days since 1970-01-01, negative before it.
    package var daysSince1970: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The day in the form `YYYY-MM-DD`.
    package var description: String {
        Self.padded(year, to: 4) + "-" + Self.padded(month, to: 2) + "-" + Self.padded(day, to: 2)
    }

    private static func padded(_ number: Int, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    private static func days(inMonth month: Int, ofYear year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
