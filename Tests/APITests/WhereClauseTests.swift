@testable import Backendless
import Domain
import Encodings
import Testing
import TestSupport

@Suite("Where clauses")
struct WhereClauseTests {
    private static let properties: [(String, PropertyType)] = [
        ("email", .string), ("name", .string), ("age", .int), ("weight", .double), ("isActive", .boolean),
        ("birthday", .date), ("seen", .dateTime), ("address", .json),
    ]

    private static func column(_ name: String) -> UserColumn? {
        switch name {
        case "objectId": .objectID
        case "created": .created
        case "userStatus": .status
        default:
            properties.first { $0.0 == name }.flatMap { name, type in
                PropertyName(name).map { .property(Property(name: $0, type: type)) }
            }
        }
    }

    private static func read(_ text: String) throws(Failure) -> UserFilter? {
        try WhereClause.read(text, column: column)
    }

    private static func holds(_ name: String, _ sign: UserFilter.Sign, _ value: PropertyValue) throws -> UserFilter {
        .comparison(try #require(column(name)), sign, .property(value))
    }

    @Test("every form of a condition becomes what it says, whatever the case of its words")
    func conditions() throws {
        let ann = try Self.holds("name", .equal, .text("Ann"))
        let age = try #require(Self.column("age"))
        let cases: [(String, UserFilter)] = [
            ("name = 'Ann'", ann), ("name='Ann'", ann), ("  `name`\t=\n'Ann' ", ann), ("(name = 'Ann')", ann),
            ("name = 'O''Neil'", try Self.holds("name", .equal, .text("O'Neil"))),
            ("name = ''", try Self.holds("name", .equal, .text(""))),
            ("name = 'ann'' or 1=1 --'", try Self.holds("name", .equal, .text("ann' or 1=1 --"))),
            ("name = 17", try Self.holds("name", .equal, .text("17"))),
            ("age != 5", try Self.holds("age", .different, .integer(5))),
            ("age <> '5'", try Self.holds("age", .different, .integer(5))),
            ("age < -5", try Self.holds("age", .less, .integer(-5))),
            ("age<=5", try Self.holds("age", .atMost, .integer(5))),
            ("age > 1.5e1", try Self.holds("age", .greater, .double(15))),
            ("age >= +5", try Self.holds("age", .atLeast, .integer(5))),
            ("isActive = TRUE", try Self.holds("isActive", .equal, .boolean(true))),
            ("isActive = 0", try Self.holds("isActive", .equal, .boolean(false))),
            ("name IS NULL", .isNull(try #require(Self.column("name")))),
            ("address is Not null", .not(.isNull(try #require(Self.column("address"))))),
            ("name LIKE 'A%'", .like(try #require(Self.column("name")), pattern: "A%")),
            (#"name like 'A\\'"#, .like(try #require(Self.column("name")), pattern: #"A\\"#)),
            ("name not like '_'", .not(.like(try #require(Self.column("name")), pattern: "_"))),
            ("age in (1,2)", .isOne(age, of: [.property(.integer(1)), .property(.integer(2))])),
            ("age NOT IN ( 1 )", .not(.isOne(age, of: [.property(.integer(1))]))),
            ("age between 1 and 2", .between(age, .property(.integer(1)), .property(.integer(2)))),
            ("seen = 1", try Self.holds("seen", .equal, .dateTime(1))),
            ("created after 5", .comparison(.created, .greater, .property(.dateTime(5)))),
            ("created at or before '1970-01-01'", .comparison(.created, .atMost, .property(.dateTime(0)))),
            ("created before 5", .comparison(.created, .less, .property(.dateTime(5)))),
            ("created at or after 5", .comparison(.created, .atLeast, .property(.dateTime(5)))),
            (
                "birthday = '1970-01-02'",
                try Self.holds("birthday", .equal, .date(try #require(CalendarDate(daysSince1970: 1))))
            ),
            ("birthday = -1", try Self.holds("birthday", .equal, .date(try #require(CalendarDate(daysSince1970: -1))))),
            ("objectId = 'nobody'", .comparison(.objectID, .equal, .property(.text("nobody")))),
            ("objectId like '1F%'", .like(.objectID, pattern: "1F%")),
            ("userStatus = 'ENABLED'", .comparison(.status, .equal, .property(.text("ENABLED")))),
        ]
        for (text, expected) in cases { #expect(try Self.read(text) == expected, "\(text)") }
        #expect(try Self.read("") == nil)
        #expect(try Self.read(" \n") == nil)
    }

    @Test("and binds closer than or, not closer than both, and parentheses decide")
    func precedence() throws {
        let (a, b, c) = (
            try Self.holds("age", .equal, .integer(1)), try Self.holds("age", .equal, .integer(2)),
            try Self.holds("age", .equal, .integer(3))
        )
        let cases: [(String, UserFilter)] = [
            ("age=1 or age=2 and age=3", .any([a, .all([b, c])])),
            ("(age=1 or age=2) AND age=3", .all([.any([a, b]), c])),
            ("not age=1 and age=2", .all([.not(a), b])), ("not (age=1 and age=2)", .not(.all([a, b]))),
            ("not not age=1", .not(.not(a))), ("age=1 and age=2 and age=3", .all([a, b, c])),
            ("age=1 or (age=2 or age=3)", .any([a, .any([b, c])])),
        ]
        for (text, expected) in cases { #expect(try Self.read(text) == expected, "\(text)") }
    }

    @Test("whatever else a clause says is refused at its place")
    func refused() throws {
        let cases: [(String, Int64)] = [
            ("name", 4), ("name =", 6), ("name = Ann", 7), ("name = \"Ann\"", 7), ("name = 'Ann", 7), ("= 5", 0),
            ("5 = age", 0), ("'a' = 'a'", 0), ("age = 5 age = 6", 8), ("age = 5)", 7), ("(age = 5", 8), ("age == 5", 5),
            ("age = null", 6), ("age in ()", 8), ("age in (1,)", 10), ("age in 1", 7), ("age in (select 1)", 8),
            ("age between 1 or 2", 14), ("age like '5%'", 9), ("name like 5", 10), ("age not = 5", 8), ("age is 5", 7),
            ("age = 'x'", 6), ("age = 1x", 6), ("age = 1e", 6), ("age = 1e999", 6), ("age = true", 6),
            ("isActive > true", 9), ("isActive between 0 and 1", 9), ("created like '2%'", 13),
            ("isActive = 2", 11), ("seen = 'tomorrow'", 7), ("seen = 99999999999999999", 7),
            ("address = '{}'", 8), ("address->'$.city' = 'x'", 7), ("address.city = 'x'", 7), ("count(age) > 1", 0),
            ("password = 'x'", 0), ("Name = 'x'", 0), ("name = 'a'; drop table users", 10), ("name = 'a' -- x", 11),
            ("name = 'a' /* x */", 11), ("name = 'é' x", 11), ("ünder = 1", 0), ("name = 'a\u{0}'", 9), ("and", 0),
            ("not", 3),
            (#"name like 'a\'"#, 10), (#"name not like '\\\'"#, 14),
            ("age at 5", 7), ("age at or 5", 4), ("`age = 5", 0), ("age = $1", 6), ("age = ?", 6), ("age = name", 6),
        ]
        for (text, position) in cases {
            let refusal = #expect(throws: Failure.self, "\(text)") { try Self.read(text) }
            #expect(refusal?.reason == .queryInvalid, "\(text)")
            #expect(refusal?.details["position"] == .integer(position), "\(text): \(refusal?.message ?? "")")
        }
    }

    @Test("a clause is bounded in bytes, in depth and in values")
    func bounds() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "(", count: depth) + "age=1" + String(repeating: ")", count: depth)
        }
        func list(_ count: Int) -> String {
            "age in (" + Array(repeating: "1", count: count).joined(separator: ",") + ")"
        }
        #expect(try Self.read(nested(WhereClause.maxDepth - 1)) != nil)
        #expect(try Self.read(list(WhereClause.maxValues)) != nil)
        #expect(try Self.read("name='" + String(repeating: "x", count: WhereClause.maxBytes - 7) + "'") != nil)
        let tooMuch = [
            nested(WhereClause.maxDepth), nested(4000), String(repeating: "not ", count: 2000) + "age=1",
            list(WhereClause.maxValues + 1),
            "name='" + String(repeating: "x", count: WhereClause.maxBytes - 6) + "'",
            "name='" + String(repeating: "e\u{301}\u{327}", count: 100_000) + "'",
        ]
        for text in tooMuch { #expect(throws: Failure.self) { try Self.read(text) } }
    }

    @Test(
        "the forms of days and moments",
        arguments: [
            ("2015-03-23", 1_427_068_800_000), ("23-Mar-2015", 1_427_068_800_000), ("23-03-2015", 1_427_068_800_000),
            ("03/23/2015", 1_427_068_800_000), ("2015/03/23", 1_427_068_800_000),
            ("10/28/1988 00:00:00 GMT-0200", 594_007_200_000),
            ("2015-03-23T10:20:30.456Z", 1_427_106_030_456), ("2015-03-23T10:20:30.456789Z", 1_427_106_030_456),
            ("2015-03-23T10:20:30", 1_427_106_030_000), ("2015-03-23 10:20", 1_427_106_000_000),
            ("2015-03-23T12:20:30+02:00", 1_427_106_030_000), ("2015-03-23T12:20:30+0200", 1_427_106_030_000),
            ("2015-03-23T12:20:30.5 GMT+02", 1_427_106_030_500), ("0001-01-01", -62_135_596_800_000),
        ]
    )
    func moments(text: String, milliseconds: Int64) {
        #expect(WhereMoment.read(text) == milliseconds)
    }

    @Test(
        "what is no day or moment",
        arguments: [
            "", "x", "2015", "2015-3", "2015-02-30", "31-31-2015", "13/13/2015", "23-Foo-2015", "2015-03-23T",
            "2015-03-23T25:00",
            "2015-03-23T10:60", "2015-03-23T10:20:60", "2015-03-23T10:20:30.", "2015-03-23T10:20:30+2",
            "2015-03-23T10:20:30+2500", "2015-03-23T10:20:30 PST", "2015-03-23x", "99999-01-01", "0000-01-01",
            "0001-01-01T00:00+01:00", "23-03-15", "2015-03-23T10:20:30.1234567890Z",
        ]
    )
    func noMoments(text: String) {
        #expect(WhereMoment.read(text) == nil)
    }

    @Test("ten thousand random clauses are read, or refused at a place within them")
    func random() throws {
        var clauses = HostileClauses(seed: 12)
        var read = 0
        for _ in 0..<10_000 {
            let text = clauses.next()
            do throws(Failure) {
                if try Self.read(text) != nil { read += 1 }
            } catch {
                #expect(error.reason == .queryInvalid)
                let position = try #require(error.details["position"]?.integer)
                #expect((0...Int64(text.unicodeScalars.count)).contains(position), "\(text)")
            }
        }
        #expect(read > 1000, "some of them are right")
    }
}
