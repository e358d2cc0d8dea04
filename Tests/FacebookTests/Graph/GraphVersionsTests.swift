import Domain
@testable import Facebook
import Testing

@Suite("Versions of Graph and their ends")
struct GraphVersionsTests {
    private func day(_ year: Int, _ month: Int, _ day: Int) throws -> CalendarDate {
        try #require(CalendarDate(year: year, month: month, day: day))
    }

    @Test("the calendar is in order, and only the latest version has no end")
    func calendar() {
        let calendar = GraphVersions.calendar
        #expect(calendar.map(\.end).dropLast().allSatisfy { $0 != nil })
        #expect(calendar.last?.end == nil)
        #expect(calendar.last?.version == GraphVersions.latest)
        let days = calendar.compactMap { $0.end?.daysSince1970 }
        #expect(days == days.sorted())
        #expect(calendar.map(\.version) == (19...26).map { "v\($0).0" })
    }

    @Test(
        "the end of a version",
        arguments: [
            ("v20.0", "2026-09-24"), ("v21.0", "2027-01-21"), ("v25.0", "2028-07-29"), ("v26.0", nil), ("v27.0", nil),
            ("v3.2", nil), ("21.0", nil), ("v021.0", "2027-01-21"), ("", nil), ("v21", nil), ("v21.0.0", nil),
            ("v99999999999999999999.0", nil),
        ]
    )
    func ends(version: String, end: String?) {
        #expect(GraphVersions.end(of: version)?.description == end)
    }

    @Test("a version that is not in the calendar is said to be unknown, whatever day it is")
    func unknown() throws {
        for version in ["v27.0", "v40.1", "v22.1", "v999.99"] {
            let warnings = GraphVersions.warnings(for: version, answered: nil, today: try day(2026, 11, 21))
            #expect(warnings.count == 1)
            #expect(warnings.first?.hasPrefix("Graph \(version) is not a known version") == true)
        }
    }

    @Test("nothing is said of a version that lasts, and of what is none")
    func silence() throws {
        let today = try day(2026, 11, 21)
        for version in ["v22.0", "v25.0", "v26.0", "v026.0", "", "latest"] {
            #expect(GraphVersions.warnings(for: version, answered: nil, today: today) == [], "\(version)")
        }
        #expect(GraphVersions.warnings(for: "v25.0", answered: "v25.0", today: today) == [])
    }

    @Test("the last 90 days are warned of, with their number")
    func soon() throws {
        func warnings(_ today: CalendarDate) -> [String] {
            GraphVersions.warnings(for: "v21.0", answered: nil, today: today)
        }
        #expect(warnings(try day(2026, 10, 22)) == [])
        #expect(warnings(try day(2026, 10, 23)).first?.contains("ends on 2027-01-21, in 90 days.") == true)
        #expect(
            warnings(try day(2026, 11, 21)) == [
                """
                Graph v21.0 ends on 2027-01-21, in 61 days. After that: Facebook uses its oldest available version, without \
                an error. Choose a newer version; the newest known one is v26.0.
                """
            ]
        )
        #expect(warnings(try day(2027, 1, 20)).first?.contains("in 1 day.") == true)
    }

    @Test("a version that has ended, and one that is older than all that are known")
    func ended() throws {
        #expect(
            GraphVersions.warnings(for: "v21.0", answered: nil, today: try day(2027, 1, 21)) == [
                """
                Graph v21.0 ended on 2027-01-21. Facebook uses its oldest available version, without an error. Choose a \
                newer version; the newest known one is v26.0.
                """
            ]
        )
        for version in ["v18.0", "v9.0", "v2.12"] {
            let warnings = GraphVersions.warnings(for: version, answered: nil, today: try day(2026, 11, 21))
            #expect(warnings.count == 1)
            #expect(warnings.first?.hasPrefix("Graph \(version) has ended. ") == true)
        }
    }

    @Test("another version that answered is named, beside the end of the one that was asked for")
    func answered() throws {
        let today = try day(2026, 11, 21)
        #expect(
            GraphVersions.warnings(for: "v25.0", answered: "v24.0", today: today) == [
                """
                Graph v25.0 was requested and v24.0 responded, whose fields may differ. Choose the version that the mapping \
                was made for.
                """
            ]
        )
        let both = GraphVersions.warnings(for: "v20.0", answered: "v21.0", today: today)
        #expect(both.map { $0.contains("ended on 2026-09-24") } == [true, false])
        #expect(both.last?.contains("v21.0 responded") == true)
    }
}
