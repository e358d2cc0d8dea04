import Domain
import Encodings
import Testing

@Suite("Values of properties")
struct PropertyValueTests {
    @Test("replies carry dates as YYYY-MM-DD and moments as milliseconds")
    func json() throws {
        let day = try #require(CalendarDate(year: 1990, month: 5, day: 6))
        let values: [(PropertyValue, String)] = [
            (.text("a"), #""a""#), (.integer(.min), "-9223372036854775808"), (.double(0.5), "0.5"),
            (.boolean(true), "true"),
            (.date(day), #""1990-05-06""#), (.dateTime(-1), "-1"), (.json(.array([.null])), "[null]"),
            (.double(.nan), "null"),
        ]
        for (value, text) in values { #expect(value.json.text == text) }
    }

    @Test("texts are equal when their bytes are, and kinds never mix")
    func equality() {
        #expect(PropertyValue.text("\u{E9}") != .text("e\u{301}"))
        #expect(PropertyValue.text("a") == .text("a"))
        #expect(PropertyValue.integer(1) != .double(1))
        #expect(PropertyValue.integer(1) != .dateTime(1))
        #expect(PropertyValue.json(.string("a")) != .text("a"))
    }
}
