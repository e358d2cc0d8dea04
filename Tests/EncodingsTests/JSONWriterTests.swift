import Encodings
import Testing

@Suite("Writing JSON")
struct JSONWriterTests {
    @Test("puts commas and colons where they belong")
    func structure() {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("text", "a")
            writer.member("none", nil as String?)
            writer.member("number", 7)
            writer.member("nothing", nil as Int64?)
            writer.key("empty")
            writer.object { _ in }
            writer.key("list")
            writer.array { writer in
                writer.array { _ in }
                writer.integer(-1)
                writer.bool(true)
                writer.string("x")
                writer.object { $0.member("deep", .array([.null, .object([:])])) }
            }
            writer.member("last", .bool(false))
        }
        #expect(
            String(decoding: writer.bytes, as: UTF8.self) == #"""
                {"text":"a","none":null,"number":7,"nothing":null,"empty":{},"list":[[],-1,true,"x",{"deep":[null,{}]}],"last":false}
                """#
        )
    }

    @Test(
        "T-119: nothing that breaks a line or commands a terminal is written as itself",
        arguments: [
            ("a\r\nb", #""a\r\nb""#), ("\u{1B}[31m", #""\u001b[31m""#), ("\u{2028}\u{2029}", #""\u2028\u2029""#),
            ("\u{85}", #""\u0085""#), ("\u{7F}", #""\u007f""#), ("\u{9F}\u{A0}", "\"\\u009f\u{A0}\""),
            ("\u{8}\u{C}", #""\u0008\u000c""#),
            ("\t\"\\/", #""\t\"\\/""#), ("\u{1}\u{1F}", #""\u0001\u001f""#), ("é😀\u{202E}", "\"é😀\u{202E}\""),
        ]
    )
    func escapes(text: String, written: String) throws {
        let value = JSONValue.string(text)
        #expect(value.text.hasSameBytes(as: written))
        #expect(try JSONParser.parse(value.text, limits: .reply) == value, "and it reads back")
    }

    @Test("T-119: no scalar at all lets a line end or a control through, in a value or in a key")
    func everyScalar() throws {
        for code in (1 as UInt32)...0x2FFF {
            guard let scalar = Unicode.Scalar(code) else { continue }
            let text = String(Character(scalar))
            let written = JSONValue.object(JSONObject([.init(text, .string(text))])).text
            let isSafe = written.unicodeScalars.allSatisfy { scalar in
                scalar.value >= 0x20 && !(0x7F..<0xA0).contains(scalar.value) && scalar.value != 0x2028
                    && scalar.value != 0x2029
            }
            #expect(isSafe, "U+\(String(code, radix: 16))")
            #expect(try JSONParser.parse(written, limits: .reply).object?[text]?.string?.hasSameBytes(as: text) == true)
        }
    }

    @Test("keys are escaped like values")
    func keys() {
        var writer = JSONWriter()
        writer.object { $0.member("a\"\n", .integer(1)) }
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #"{"a\"\n":1}"#)
    }
}
