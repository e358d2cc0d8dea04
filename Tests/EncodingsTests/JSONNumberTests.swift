import Encodings
import Testing

@Suite("Numbers of JSON: their range, and what they are once they are stored")
struct JSONNumberTests {
    private static func rule(_ text: String) -> JSONError.Rule? {
        do throws(JSONError) {
            _ = try JSONParser.parse(text, limits: .request)
            return nil
        } catch {
            return error.rule
        }
    }

    @Test(
        "finite doubles are taken, however they are written",
        arguments: [
            "1e308", "-1.7976931348623157e308", "5e-324", "2.2250738585072014e-308", "0e0", "0E-300", "-0.0e+12",
            "1e0000005",
            "0.000000000000000000000000000000000000000001e40", String(repeating: "9", count: 308),
            "12345678901234567890123",
            "0." + String(repeating: "0", count: 300) + "1", "1." + String(repeating: "0", count: 180) + "e-320",
        ]
    )
    func taken(text: String) {
        #expect(Self.rule(text) == nil)
    }

    @Test(
        "what is beyond every double, or so small that it would be 0, is refused, and so is what grows long when it is written out",
        arguments: [
            "1e309", "-1e309", "1e400", "1e131071", "1.8e308", "1e-400", "-1e-131071", "0e999999", "0e-16383", "0e513",
            "1e99999999999999999999", "1e-99999999999999999999", String(repeating: "9", count: 400),
            "0." + String(repeating: "0", count: 400) + "1", "1." + String(repeating: "0", count: 300) + "e-320",
        ]
    )
    func refused(text: String) {
        #expect(Self.rule(text) == .numberOutOfRange)
        #expect(Self.rule("[[1],{\"a\":\(text)}]") == .numberOutOfRange, "wherever it stands")
    }

    @Test("a bomb of many numbers is refused at the first one")
    func bomb() {
        let text = "[" + Array(repeating: "1e131071", count: 500).joined(separator: ",") + "]"
        let error = #expect(throws: JSONError.self) { try JSONParser.parse(text, limits: .request) }
        #expect(error?.rule == .numberOutOfRange && error?.offset == 1)
    }

    @Test(
        "the stored size is that of the text that PostgreSQL writes",
        arguments: [
            ("null", 4), ("true", 4), ("false", 5), ("1", 1), ("-12", 3), ("1e5", 6), ("-1e5", 7), ("1e308", 309),
            ("5e-324", 326), ("1.50", 4), ("1.5e-3", 6), ("12e-1", 3), ("0.5e3", 3), ("0.0001e3", 3), ("-0", 1),
            ("0e5", 1),
            ("0e-5", 7), ("-0.0", 3), ("[]", 2), ("[1,2]", 6), ("{}", 2), (#"{"a":1,"b":[]}"#, 17),
            (#""a\n\u0001é\"""#, 15),
            (#""\u2028\u007f""#, 6),
        ]
    )
    func storedBytes(text: String, bytes: Int) throws {
        #expect(try JSONParser.parse(text, limits: .request).storedBytes == bytes)
    }
}
