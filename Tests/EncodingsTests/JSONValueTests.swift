import Encodings
import Testing

@Suite("JSON values")
struct JSONValueTests {
    private static func parse(_ text: String) throws -> JSONValue { try JSONParser.parse(text, limits: .reply) }

    @Test("objects are equal in any order of their members, lists are not")
    func equality() throws {
        #expect(try Self.parse(#"{"a":1,"b":[1,2]}"#) == Self.parse(#"{"b":[1,2],"a":1}"#))
        #expect(try Self.parse(#"{"a":1,"b":2}"#) != Self.parse(#"{"b":1,"a":2}"#))
        #expect(try Self.parse(#"{"a":1,"b":2}"#) != Self.parse(#"{"b":2,"c":1}"#))
        #expect(try Self.parse("[1,2]") != Self.parse("[2,1]"))
        #expect(try Self.parse(#"{"a":1}"#) != Self.parse(#"{"a":1,"b":null}"#))
        #expect(try Self.parse("1") != Self.parse(#""1""#))
        #expect(try Self.parse("1") != Self.parse("1.0"), "numbers are what was written")
        #expect(try Self.parse("null") != Self.parse("false"))
    }

    @Test("texts are equal when their bytes are")
    func equalityOfTexts() {
        #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
        #expect(JSONValue.string("K") != .string("\u{212A}"))
        #expect(!"é".hasSameBytes(as: "e\u{301}"))
        #expect("é".hasSameBytes(as: "é"))
        #expect(!"ab".hasSameBytes(as: "abc"))
        #expect("".hasSameBytes(as: ""))
    }

    @Test("members are found by their bytes; null counts as absent where requests are read")
    func members() throws {
        let object = try #require(try Self.parse(#"{"a":null,"b":false}"#).object)
        #expect(object["a"] == .null)
        #expect(object.present("a") == nil)
        #expect(object.present("b") == .bool(false))
        #expect(object["c"] == nil)
        #expect(object["A"] == nil)
    }

    @Test("each accessor answers for its own kind only")
    func accessors() throws {
        let values = try ["null", "true", "7", "\"x\"", "[1]", #"{"a":1}"#].map(Self.parse)
        #expect(values.map(\.isNull) == [true, false, false, false, false, false])
        #expect(values.map { $0.bool != nil } == [false, true, false, false, false, false])
        #expect(values.map { $0.integer != nil } == [false, false, true, false, false, false])
        #expect(values.map { $0.string != nil } == [false, false, false, true, false, false])
        #expect(values.map { $0.array != nil } == [false, false, false, false, true, false])
        #expect(values.map { $0.object != nil } == [false, false, false, false, false, true])
        #expect(values.map(\.kind) == ["null", "a boolean", "a number", "a string", "an array", "an object"])
    }

    @Test(
        "numbers give integers and doubles only where they have them",
        arguments: [
            ("0", 0, 0), ("-0", 0, 0), ("9223372036854775807", Int64.max, 9_223_372_036_854_775_807.0),
            ("-9223372036854775808", Int64.min, -9_223_372_036_854_775_808.0),
            ("9223372036854775808", nil, 9_223_372_036_854_775_808.0),
            ("1.0", nil, 1), ("1e2", nil, 100), ("0.1", nil, 0.1),
        ] as [(String, Int64?, Double?)]
    )
    func numbers(text: String, integer: Int64?, double: Double?) throws {
        let value = try Self.parse(text)
        #expect(value.integer == integer)
        guard case .number(let number) = value else {
            Issue.record("not a number")
            return
        }
        #expect(number.double == double)
    }

    @Test("doubles are written so that they are read again; NaN and infinities are not numbers of JSON")
    func doubles() throws {
        for double in [
            0.0, -0.0, 0.1, 1e300, .leastNonzeroMagnitude, Double.greatestFiniteMagnitude, 1e16, 123_456_789.125,
        ] {
            let number = try #require(JSONNumber(double))
            #expect(try Self.parse(number.literal) == .number(number))
            #expect(number.double == double)
        }
        #expect(JSONNumber(Double.nan) == nil)
        #expect(JSONNumber(Double.infinity) == nil)
        #expect(JSONNumber(-Double.infinity) == nil)
    }

    @Test("values that are equal are written alike once their members are in order")
    func order() throws {
        func ordered(_ text: String) throws -> String { try Self.parse(text).ordered.text }
        let first = try ordered(#"{"b": [{"y": 1, "x": null}, 2], "a": "é", "B": {}}"#)
        #expect(first == #"{"B":{},"a":"é","b":[{"x":null,"y":1},2]}"#)
        #expect(try ordered(#"{"a":"é","B":{},"b":[{"x":null,"y":1},2]}"#) == first)
        #expect(try ordered(#"{"a":"é","B":{},"b":[2,{"x":null,"y":1}]}"#) != first, "elements have an order")
    }
}
