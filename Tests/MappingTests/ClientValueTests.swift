import Domain
import Encodings
import Mapping
import Testing

@Suite("Values that clients write themselves")
struct ClientValueTests {
    private func convert(
        _ json: String,
        as type: PropertyType,
        _ times: OffsetlessTimes = .refuse
    ) throws -> PropertyValue? {
        let name = try #require(PropertyName("given"))
        let value = try JSONParser.parse(json, limits: .request)
        return try ClientValue.convert(value, to: Property(name: name, type: type), offsetlessTimes: times)
    }

    @Test(
        "are taken as replies write them, and as mappings take them",
        arguments: [
            (#""Ann""#, PropertyType.string, PropertyValue.text("Ann")), ("7", .text, .text("7")),
            ("42", .int, .integer(42)), (#""42""#, .int, .integer(42)), ("1.0", .int, .integer(1)),
            ("0.5", .double, .double(0.5)), ("true", .boolean, .boolean(true)),
            (#""false""#, .boolean, .boolean(false)),
            ("1700000123456", .dateTime, .dateTime(1_700_000_123_456)), ("0", .dateTime, .dateTime(0)),
            ("-62135596800000", .dateTime, .dateTime(-62_135_596_800_000)),
            ("1.7e12", .dateTime, .dateTime(1_700_000_000_000)),
            (#""2017-05-06T07:08:09.123Z""#, .dateTime, .dateTime(1_494_054_489_123)),
            (#"{"a":[1]}"#, .json, .json(.object(["a": .array([.integer(1)])]))),
        ]
    )
    func taken(json: String, type: PropertyType, value: PropertyValue) throws {
        #expect(try convert(json, as: type) == value)
    }

    @Test("null empties every property", arguments: PropertyType.allCases)
    func null(type: PropertyType) throws {
        #expect(try convert("null", as: type) == nil)
    }

    @Test(
        "a day is taken as a reply writes it, and as what JavaScript makes of a Date: that is its day in UTC",
        arguments: [
            (#""1990-05-06""#, "1990-05-06"), (#""05/06/1990""#, "1990-05-06"),
            (#""2020-01-02T03:04:05.678Z""#, "2020-01-02"), (#""2020-01-02T00:30:00+02:00""#, "2020-01-01"),
            (#""2020-02-29T23:59:59.999Z""#, "2020-02-29"), ("1577934245678", "2020-01-02"), ("0", "1970-01-01"),
            ("-1", "1969-12-31"), ("-86400000", "1969-12-31"), ("86399999", "1970-01-01"),
            ("1.577934245678e12", "2020-01-02"), ("-62135596800000", "0001-01-01"), ("253402300799999", "9999-12-31"),
        ]
    )
    func day(json: String, day: String) throws {
        guard case .date(let date) = try convert(json, as: .date) else {
            Issue.record("no day: \(json)")
            return
        }
        #expect(date.description == day)
    }

    @Test(
        "a time without its offset from UTC is refused with a word about that, or is one in UTC",
        arguments: [
            (#""2020-01-02T03:04:05.678""#, Int64(1_577_934_245_678)), (#""2020-01-02T03:04:05""#, 1_577_934_245_000),
            (#""2020-01-02T03:04:05.678901""#, 1_577_934_245_678), (#""1969-12-31T23:59:59.999""#, -1),
        ]
    )
    func offsetless(json: String, moment: Int64) throws {
        #expect(try convert(json, as: .dateTime, .utc) == .dateTime(moment))
        #expect(try convert(json, as: .date, .utc) == CalendarDate(ofMoment: moment).map(PropertyValue.date))
        for type in [PropertyType.dateTime, .date] {
            let failure = #expect(throws: Failure.self) { try convert(json, as: type) }
            #expect(failure?.reason == .valueNotConvertible && failure?.message.contains("+02:00") == true)
        }
    }

    @Test(
        "where times without offset are in UTC, other texts are no more than before",
        arguments: [
            "2020-01-02", "2020-01-02T03:04", "2020-01-02T03:04:05.", "2020-01-02T03:04:05ZZ", "2020-01-02T03:04:05+",
            "2020-13-02T03:04:05", "2020-01-02T24:04:05", "2020-01-02 03:04:05", "now", "", "Z",
        ]
    )
    func otherTexts(text: String) {
        #expect(throws: Failure.self) { try convert("\"\(text)\"", as: .dateTime, .utc) }
    }

    @Test(
        "are refused with the property and the kind of value, and never the value",
        arguments: [
            ("{}", PropertyType.string), ("[]", .text), ("1.5", .int), (#""canary""#, .int), (#""canary""#, .double),
            ("1", .boolean), (#""TRUE""#, .boolean), (#""05/06""#, .date), (#""1990""#, .date), ("7.5", .date),
            ("253402300800000", .date), ("true", .date), ("[]", .date), (#""1577934245678""#, .date),
            (#""1990-02-30""#, .date), ("1.5", .dateTime), ("253402300800000", .dateTime),
            ("-62135596800001", .dateTime),
            (#""canary""#, .dateTime), ("9223372036854775807", .dateTime), ("true", .dateTime),
        ]
    )
    func refused(json: String, type: PropertyType) throws {
        let failure = #expect(throws: Failure.self) { try convert(json, as: type) }
        #expect(failure?.reason == .valueNotConvertible)
        #expect(failure?.details["property"]?.string == "given")
        #expect(failure?.details["type"]?.string == type.rawValue)
        #expect(failure?.message.contains("canary") == false)
    }
}
