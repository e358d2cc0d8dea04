import Domain
import Encodings
import Mapping
import Testing

@Suite("Converting values")
struct ConversionTests {
    @Test(
        "texts hold strings, numbers as they were written, and truth values",
        arguments: [
            (#""Ann""#, Fate.value(.text("Ann"))), (#""""#, .value(.text(""))),
            ("12345678901234567", .value(.text("12345678901234567"))),
            ("1.0", .value(.text("1.0"))), ("1e300", .value(.text("1e300"))), ("true", .value(.text("true"))),
            ("false", .value(.text("false"))),
            ("null", .lacking), ("[]", .refused), (#"["a"]"#, .refused), ("{}", .refused),
            (#""05/06""#, .value(.text("05/06"))),
            (#""1990""#, .value(.text("1990"))), (#""é\u0301\ud83d\ude00""#, .value(.text("é\u{301}😀"))),
        ]
    )
    func texts(json: String, fate: Fate) throws {
        #expect(try Fate.of(json, as: .string) == fate)
        #expect(try Fate.of(json, as: .text) == fate)
    }

    @Test(
        "INT holds integers of 64 bits, however a number spells them, and nothing else",
        arguments: [
            ("0", 0), ("-0", 0), ("42", 42), ("-42", -42), ("1.0", 1), ("-1.000", -1), ("1e2", 100), ("1.5e1", 15),
            ("100e-2", 1), ("0e99", 0),
            ("0.0", 0), ("0.00e-7", 0), ("9007199254740993", 9_007_199_254_740_993), ("9223372036854775807", Int64.max),
            ("-9223372036854775808", .min), ("9223372036854775807.0", .max), ("9.223372036854775807e18", .max),
            (#""42""#, 42), (#""-7""#, -7), (#""1.0""#, 1), (#""9223372036854775807""#, .max),
            ("1.5", nil), ("0.1", nil), ("1e-1", nil), ("9223372036854775808", nil), ("-9223372036854775809", nil),
            ("1e19", nil), ("1e300", nil), ("1e-300", nil),
            (#""1e99999999999999999999""#, nil), (#""1e-99999999999999999999""#, nil),
            (#""1e-9223372036854775808""#, nil),
            (#""+5""#, nil), (#"" 5""#, nil), (#""5 ""#, nil), (#""""#, nil), (#""-""#, nil), (#""007""#, nil),
            (#""1,000""#, nil), (#""0x10""#, nil),
            (#""٤٢""#, nil), (#""４２""#, nil), (#""1e""#, nil), (#""[1]""#, nil), (#""null""#, nil),
            (#""9223372036854775808""#, nil), (#""1e400""#, nil), ("true", nil),
            ("[1]", nil), ("{}", nil), (#""5\n""#, nil), (#""5\u200b""#, nil),
        ] as [(String, Int64?)]
    )
    func integers(json: String, value: Int64?) throws {
        #expect(try Fate.of(json, as: .int) == value.map { .value(.integer($0)) } ?? .refused)
    }

    @Test(
        "DOUBLE holds the nearest double of a number that is in its range",
        arguments: [
            ("0", 0), ("1", 1), ("-2.5", -2.5), ("0.1", 0.1), ("1e300", 1e300),
            ("9007199254740993", 9_007_199_254_740_992), ("5e-300", 5e-300),
            (#""3.25""#, 3.25), (#""-1e3""#, -1000), (#""1e400""#, nil), (#""-1e400""#, nil),
            (#""inf""#, nil), (#""nan""#, nil), (#""Infinity""#, nil),
            (#""0x1p3""#, nil), (#""+1""#, nil), (#"".5""#, nil), (#""1.""#, nil), (#"" 1""#, nil), (#""1,5""#, nil),
            (#""١""#, nil), ("true", nil), ("[]", nil), ("{}", nil),
        ] as [(String, Double?)]
    )
    func doubles(json: String, value: Double?) throws {
        #expect(try Fate.of(json, as: .double) == value.map { .value(.double($0)) } ?? .refused)
    }

    @Test("a number too long to be one is refused, not cut", arguments: [PropertyType.int, .double])
    func longNumbers(type: PropertyType) throws {
        let digits = String(repeating: "1", count: 60_000)
        #expect(try Fate.of("\"\(digits)\"", as: type) == .refused)
        #expect(try Fate.of("\"0.\(String(repeating: "0", count: 200))1\"", as: type) == .refused)
    }

    @Test(
        "BOOLEAN holds true and false, as literals or as these words",
        arguments: [
            ("true", true), ("false", false), (#""true""#, true), (#""false""#, false), (#""True""#, nil),
            (#""TRUE""#, nil), (#""yes""#, nil), (#""1""#, nil), ("1", nil),
            ("0", nil), (#""""#, nil), (#"" true""#, nil), ("[]", nil), ("{}", nil), (#""tru\u0435""#, nil),
        ] as [(String, Bool?)]
    )
    func booleans(json: String, value: Bool?) throws {
        #expect(try Fate.of(json, as: .boolean) == value.map { .value(.boolean($0)) } ?? .refused)
    }

    @Test(
        "DATE holds days as Facebook and as ISO 8601 write them",
        arguments: [
            ("05/06/1990", "1990-05-06"), ("1990-05-06", "1990-05-06"), ("02/29/2000", "2000-02-29"),
            ("12/31/9999", "9999-12-31"), ("01/01/0001", "0001-01-01"),
            ("0001-01-01", "0001-01-01"), ("02/29/1900", nil), ("02/30/2000", nil), ("13/01/1990", nil),
            ("00/01/1990", nil), ("01/00/1990", nil), ("01/01/0000", nil),
            ("5/6/1990", nil), ("05-06-1990", nil), ("1990/05/06", nil), ("05/06/90", nil),
            ("1990-05-06T00:00:00Z", nil), ("1990-05", nil), ("19900506", nil), ("05/06/19905", nil),
            ("05/06/1990 ", nil), (" 05/06/1990", nil), ("٠٥/٠٦/١٩٩٠", nil), ("0５/06/199", nil), ("13/45", nil),
            ("00/10", nil), ("02/30", nil), ("0000", nil), ("19a0", nil), ("", nil), ("May 6", nil),
            ("05/0é", nil), ("/////", nil), ("----------", nil),
        ] as [(String, String?)]
    )
    func dates(text: String, day: String?) throws {
        let fate = try Fate.of("\"\(text)\"", as: .date)
        guard let day else {
            #expect(fate == .refused)
            return
        }
        guard case .value(.date(let date)) = fate else {
            Issue.record("\(fate)")
            return
        }
        #expect(date.description == day)
    }

    @Test(
        "a partial birthday leaves a DATE alone: nothing is invented",
        arguments: ["05/06", "02/29", "12/31", "1990", "0001", "9999"]
    )
    func partialBirthdays(text: String) throws {
        #expect(try Fate.of("\"\(text)\"", as: .date) == .lacking)
        #expect(try Fate.of("\"\(text)\"", as: .string) == .value(.text(text)))
        #expect(try Fate.of("\"\(text)\"", as: .date, entry: #","default":"2000-01-01""#) != .lacking)
    }

    @Test("a DATE is made of texts only", arguments: ["1990", "true", "19900506", "[]", "{}"])
    func datesFromTextsOnly(json: String) throws {
        #expect(try Fate.of(json, as: .date) == .refused)
    }

    @Test(
        "DATETIME holds moments as Facebook and RFC 3339 write them, and Unix seconds",
        arguments: [
            (#""2017-05-06T07:08:09+0000""#, 1_494_054_489_000), (#""2017-05-06T07:08:09+00:00""#, 1_494_054_489_000),
            (#""2017-05-06T07:08:09Z""#, 1_494_054_489_000),
            (#""2017-05-06t07:08:09z""#, 1_494_054_489_000), (#""2017-05-06T09:08:09+0200""#, 1_494_054_489_000),
            (#""2017-05-06T01:38:09-05:30""#, 1_494_054_489_000),
            (#""2017-05-06T07:08:09.5Z""#, 1_494_054_489_500), (#""2017-05-06T07:08:09.12Z""#, 1_494_054_489_120),
            (#""2017-05-06T07:08:09.123456789Z""#, 1_494_054_489_123),
            (#""2017-05-06T07:08:09.9999Z""#, 1_494_054_489_999), (#""2016-12-31T23:59:60Z""#, 1_483_228_800_000),
            (#""1969-12-31T23:59:59.250Z""#, -750),
            (#""0001-01-01T00:00:00Z""#, -62_135_596_800_000), (#""9999-12-31T23:59:59.999Z""#, 253_402_300_799_999),
            ("0", 0), ("1494054489", 1_494_054_489_000), ("-1", -1000), ("1.494054489e9", 1_494_054_489_000),
            ("253402300799", 253_402_300_799_000),
            ("1494054489.5", nil), ("253402300800", nil), ("-62135596801", nil), ("1494054489000", nil),
            ("9223372036854775807", nil), ("-9223372036854775808", nil), ("1e300", nil),
            (#""0001-01-01T00:00:00+00:01""#, nil), (#""9999-12-31T23:59:60Z""#, nil),
            (#""9999-12-31T23:59:59-00:01""#, nil), (#""2017-05-06T24:00:00Z""#, nil),
            (#""2017-05-06T07:60:00Z""#, nil), (#""2017-05-06T07:08:61Z""#, nil), (#""2017-02-29T07:08:09Z""#, nil),
            (#""2017-05-06T07:08:09""#, nil), (#""2017-05-06T07:08Z""#, nil),
            (#""2017-05-06 07:08:09Z""#, nil), (#""2017-05-06""#, nil), (#""05/06/2017""#, nil),
            (#""2017-05-06T07:08:09.Z""#, nil), (#""2017-05-06T07:08:09.1234567890Z""#, nil),
            (#""2017-05-06T07:08:09+24:00""#, nil), (#""2017-05-06T07:08:09+0060""#, nil),
            (#""2017-05-06T07:08:09+00""#, nil), (#""2017-05-06T07:08:09ZZ""#, nil), (#""1494054489""#, nil),
            (#""٢٠١٧-05-06T07:08:09Z""#, nil), (#""""#, nil), ("true", nil), ("[]", nil), ("{}", nil),
        ] as [(String, Int64?)]
    )
    func moments(json: String, milliseconds: Int64?) throws {
        #expect(try Fate.of(json, as: .dateTime) == milliseconds.map { .value(.dateTime($0)) } ?? .refused)
    }

    @Test("JSON holds everything as it came", arguments: [#""a""#, "1.50", "true", "[1,null]", #"{"b":{"a":[]}}"#])
    func json(text: String) throws {
        #expect(try Fate.of(text, as: .json) == .value(.json(try Scenario.parse(text))))
    }

    @Test("null is lacking for every type", arguments: PropertyType.allCases)
    func null(type: PropertyType) throws {
        #expect(try Fate.of("null", as: type) == .lacking)
    }

    // MARK: An entry's own type

    /// The types that an entry may have, by the property's type.
    ///
    /// The order is that of `PropertyType.allCases`: STRING TEXT INT DOUBLE BOOLEAN DATE DATETIME JSON.
    private static let allowed: [PropertyType: [Bool]] = [
        .string: [true, true, true, true, true, true, true, false],
        .text: [true, true, true, true, true, true, true, false],
        .int: [false, false, true, false, false, false, false, false],
        .double: [false, false, true, true, false, false, false, false],
        .boolean: [false, false, false, false, true, false, false, false],
        .date: [false, false, false, false, false, true, false, false],
        .dateTime: [false, false, false, false, false, false, true, false],
        .json: [true, true, true, true, true, true, true, true],
    ]

    @Test("an entry may have its own type where the property holds every value of it", arguments: PropertyType.allCases)
    func overrides(column: PropertyType) throws {
        for (type, isAllowed) in zip(PropertyType.allCases, try #require(Self.allowed[column])) {
            let scenario = Scenario(
                properties: [try .open("p", column)],
                stored: #"[{"from":"v","to":"p","type":"\#(type.rawValue)"}]"#
            )
            #expect(
                try scenario.problems().map(\.reason) == (isAllowed ? [] : [.mappingInvalid]),
                "\(type) in \(column)"
            )
        }
    }

    @Test(
        "values of an entry's own type are stored in the property's form",
        arguments: [
            ("STRING", "DATE", #""05/06/1990""#, Fate.value(.text("1990-05-06"))),
            ("STRING", "DATE", #""05/06""#, .lacking), ("STRING", "DATE", #""x""#, .refused),
            ("TEXT", "INT", "4.2e1", .value(.text("42"))), ("STRING", "DOUBLE", #""1e2""#, .value(.text("100.0"))),
            ("TEXT", "BOOLEAN", "true", .value(.text("true"))),
            ("STRING", "DATETIME", "-1", .value(.text("1969-12-31T23:59:59.000Z"))),
            ("TEXT", "DATETIME", #""2017-05-06T09:08:09.12+0200""#, .value(.text("2017-05-06T07:08:09.120Z"))),
            ("STRING", "TEXT", #""a""#, .value(.text("a"))), ("DOUBLE", "INT", "42", .value(.double(42))),
            ("DOUBLE", "INT", "1.5", .refused),
            ("DOUBLE", "INT", "9007199254740992", .value(.double(9_007_199_254_740_992))),
            ("DOUBLE", "INT", "9007199254740993", .refused), ("DOUBLE", "INT", "9223372036854775807", .refused),
            ("JSON", "STRING", "42", .value(.json(.string("42")))),
            ("JSON", "INT", #""42""#, .value(.json(.integer(42)))),
            ("JSON", "DATE", #""05/06/1990""#, .value(.json(.string("1990-05-06")))),
            ("JSON", "DATETIME", "1", .value(.json(.integer(1000)))), ("JSON", "STRING", "{}", .refused),
        ]
    )
    func storedForm(column: String, type: String, json: String, fate: Fate) throws {
        let column = try #require(PropertyType(rawValue: column))
        #expect(try Fate.of(json, as: column, entry: #","type":"\#(type)""#) == fate)
    }
}
