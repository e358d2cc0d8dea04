import Mapping
import Testing
import Vocabulary

@Suite("Values that clients write themselves")
struct ClientValueTests {
    private func convert(_ json: String, as type: PropertyType) throws -> PropertyValue? {
        let name = try #require(PropertyName("given"))
        let value = try JSONParser.parse(json, limits: .request)
        return try ClientValue.convert(value, to: Property(name: name, type: type))
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

    @Test("a day is taken as a reply writes it")
    func day() throws {
        #expect(
            try convert(#""1990-05-06""#, as: .date)
                == CalendarDate(year: 1990, month: 5, day: 6).map(PropertyValue.date)
        )
    }

    @Test(
        "are refused with the property and the kind of value, and never the value",
        arguments: [
            ("{}", PropertyType.string), ("[]", .text), ("1.5", .int), (#""canary""#, .int), (#""canary""#, .double),
            ("1", .boolean), (#""TRUE""#, .boolean), (#""05/06""#, .date), (#""1990""#, .date), ("7", .date),
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
