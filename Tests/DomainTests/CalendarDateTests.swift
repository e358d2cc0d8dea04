import Domain
import Testing

@Suite("Calendar dates")
struct CalendarDateTests {
    @Test("every day of the years 1 to 9999 is one more than the day before, and comes back from its number")
    func everyDay() throws {
        var expected = -719_162
        for year in 1...9999 {
            let isLeap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
            for (index, length) in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].enumerated() {
                for day in 1...length {
                    let date = CalendarDate(year: year, month: index + 1, day: day)
                    guard let date, date.daysSince1970 == expected, CalendarDate(daysSince1970: expected) == date else {
                        Issue.record("\(year)-\(index + 1)-\(day), day \(expected), is \(String(describing: date))")
                        return
                    }
                    expected += 1
                }
                #expect(CalendarDate(year: year, month: index + 1, day: length + 1) == nil)
            }
        }
        #expect(expected == 2_932_897)
    }

    @Test(
        "a moment is of its day in UTC, before 1970 as after it",
        arguments: [
            (0, "1970-01-01"), (-1, "1969-12-31"), (86_399_999, "1970-01-01"), (86_400_000, "1970-01-02"),
            (-62_135_596_800_000, "0001-01-01"), (-62_135_596_800_001, nil), (253_402_300_799_999, "9999-12-31"),
            (253_402_300_800_000, nil), (Int64.min, nil), (Int64.max, nil),
        ] as [(Int64, String?)]
    )
    func ofMoment(milliseconds: Int64, day: String?) {
        #expect(CalendarDate(ofMoment: milliseconds)?.description == day)
    }

    @Test(
        "days outside the calendar do not exist",
        arguments: [
            (0, 1, 1), (10_000, 1, 1), (-1, 1, 1), (2000, 0, 1), (2000, 13, 1), (2000, 1, 0), (2000, 1, 32),
            (1900, 2, 29), (2023, 2, 29), (2023, 4, 31), (Int.max, Int.max, Int.max), (Int.min, Int.min, Int.min),
        ]
    )
    func noSuchDay(year: Int, month: Int, day: Int) {
        #expect(CalendarDate(year: year, month: month, day: day) == nil)
    }

    @Test("numbers outside the calendar have no day", arguments: [-719_163, 2_932_897, Int.min, Int.max])
    func noSuchNumber(days: Int) {
        #expect(CalendarDate(daysSince1970: days) == nil)
    }

    @Test(
        "prints with four, two and two digits",
        arguments: [
            (1, 1, 1, "0001-01-01"), (987, 12, 31, "0987-12-31"), (2000, 2, 29, "2000-02-29"),
            (9999, 12, 31, "9999-12-31"),
        ]
    )
    func prints(year: Int, month: Int, day: Int, text: String) {
        #expect(CalendarDate(year: year, month: month, day: day)?.description == text)
    }
}
