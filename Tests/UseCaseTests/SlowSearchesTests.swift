@testable import Accounts
import Domain
import Store
import Testing

@Suite("What operators are told of slow searches")
struct SlowSearchesTests {
    private static let start = ContinuousClock.now

    private static func search(_ names: String...) throws -> SlowSearches.Search {
        SlowSearches.Search(
            application: try #require(ApplicationID("demo")),
            properties: names.compactMap { PropertyName($0) }
        )
    }

    @Test("a line once an hour for each set of properties, and a row once a minute with all that happened since")
    func tallies() throws {
        var searches = SlowSearches()
        let cases: [(after: Int, name: String, line: Bool, tally: (count: Int64, slowest: Int64)?)] = [
            (0, "a", true, (1, 300)), (1, "a", false, nil), (2, "b", true, (1, 300)), (59, "a", false, nil),
            (60, "a", false, (3, 300)), (119, "a", false, nil), (3599, "a", false, (2, 300)), (3600, "a", true, nil),
            (3603, "b", true, (1, 300)),
        ]
        for (after, name, line, tally) in cases {
            let due = searches.note(try Self.search(name), milliseconds: 300, at: Self.start + .seconds(after))
            #expect(due.line == line, "after \(after) s")
            #expect(due.tally?.searches == tally?.count, "after \(after) s")
            #expect(due.tally?.slowestMilliseconds == tally?.slowest, "after \(after) s")
        }
    }

    @Test("the slowest counts, and what clients can have remembered is bounded")
    func bound() throws {
        var searches = SlowSearches()
        _ = searches.note(try Self.search("a"), milliseconds: 300, at: Self.start)
        _ = searches.note(try Self.search("a"), milliseconds: 900, at: Self.start + .seconds(1))
        let due = searches.note(try Self.search("a"), milliseconds: 400, at: Self.start + .seconds(61))
        #expect(due.tally?.searches == 2 && due.tally?.slowestMilliseconds == 900)
        for number in 0..<2000 {
            let due = searches.note(try Self.search("p\(number)"), milliseconds: 300, at: Self.start + .seconds(2))
            #expect(due.line == (number < 999), "\(number)")
        }
        let later = searches.note(try Self.search("later"), milliseconds: 300, at: Self.start + .seconds(3603))
        #expect(later.line)
    }
}
