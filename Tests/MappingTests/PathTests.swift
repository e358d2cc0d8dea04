import Domain
import Mapping
import Testing

@Suite("Paths and templates")
struct PathTests {
    @Test(
        "a path is names of letters, digits and _:- with dots between them; the first name may be a URL",
        arguments: [
            "email", "picture.data.url", "a", "a1_", "x_y.z0", "a.b.c.d.e.f.g.h", "A", "aB", "_a", "a-b",
            "cognito:groups", "https://example.com/roles", "https://example.com/claims.team", "http://a.b/c.d",
        ]
    )
    func paths(text: String) {
        #expect(FieldPath(text)?.text == text)
    }

    @Test(
        "nothing else is a path, least of all what Graph reads as syntax",
        arguments: [
            "", ".", "a.", ".a", "a..b", "1a", "-a", "a b", " a", "a,b", "picture.width(200)",
            "friends.limit(5){id}", "a{b}", "a&access_token=x", "a=b",
            "a%2Cb", "a\n", "é", "a.é", "\u{212A}", "a/b", "a'b", "a\"b", "a.b.c.d.e.f.g.h.i", "a.b.c.d.e.f.g.h.",
            "me?fields", "a\u{0}", "a|b", "*", "https://", "ftp://a/b", "https://a.b/c d", "https://a.b/c,d",
            "https://a.b/c{d}", "a.https://b.c/d", "https://a.b/c.", "https://a.b/c?d",
        ]
    )
    func notPaths(text: String) {
        #expect(FieldPath(text) == nil)
    }

    @Test("a path has at most 128 bytes")
    func length() {
        #expect(FieldPath(String(repeating: "a", count: 128)) != nil)
        #expect(FieldPath(String(repeating: "a", count: 129)) == nil)
    }

    @Test(
        "a path finds what stands there, in lists for each element, and lacks everything else",
        arguments: [
            ("v", "1", "1"), ("v.a", #"{"a":"x"}"#, #""x""#), ("v.a.b", #"{"a":{"b":[]}}"#, "[]"),
            ("v.a", #"{"b":1}"#, nil), ("v.a", #"{"a":null}"#, nil), ("v.a", "1", nil), ("v.a", #""text""#, nil),
            ("v.a.b", #"{"a":1}"#, nil), ("v.data.name", #"{"data":[{"name":"A"},{"name":"B"}]}"#, #"["A","B"]"#),
            ("v.data.name", #"{"data":[{"name":"A"},{"id":1},{"name":null},7]}"#, #"["A"]"#),
            ("v.data.name", #"{"data":[{"id":1}]}"#, nil), ("v.data.name", #"{"data":[]}"#, "[]"),
            ("v.a.b", #"[{"a":[{"b":1},{"b":2}]},{"a":{"b":3}}]"#, "[[1,2],3]"), ("v.length", "[1,2]", nil),
        ] as [(String, String, String?)]
    )
    func values(path: String, value: String, found: String?) throws {
        let scenario = Scenario(properties: [try .open("p", .json)], stored: #"[{"from":"\#(path)","to":"p"}]"#)
        let expected: [PropertyValue?] = [try found.map { .json(try Scenario.parse($0)) }]
        #expect(try scenario.apply("{\"v\":\(value),\"V\":0}").values == expected)
    }

    @Test(
        "templates put values between literal text and close up around what lacks",
        arguments: [
            ("{first_name} {last_name}", #"{"first_name":"Ann","last_name":"Lee"}"#, "Ann Lee"),
            ("{first_name} {last_name}", #"{"last_name":"Lee"}"#, "Lee"),
            ("{first_name} {last_name}", #"{"first_name":"Ann"}"#, "Ann"),
            ("{first_name} {last_name}", #"{"first_name":"","last_name":"Lee"}"#, "Lee"),
            ("{first_name} {last_name}", "{}", nil),
            ("{first_name} {last_name}", #"{"first_name":"","last_name":null}"#, nil),
            ("{a} {b} {c}", #"{"a":"1","c":"3"}"#, "1 3"), ("{a} {b} {c}", #"{"b":"2"}"#, "2"),
            ("{a} {b} {c}", #"{"a":"1"}"#, "1"), ("{a} {b} {c}", #"{"c":"3"}"#, "3"), ("{a}, {b}", #"{"a":"1"}"#, "1,"),
            ("Dr. {a} {b}", #"{"b":"2"}"#, "Dr. 2"),
            ("({a} {b})", #"{"a":"1"}"#, "(1 )"), ("{a}", #"{"a":7}"#, "7"),
            ("{a}{b}", #"{"a":1.50,"b":true}"#, "1.50true"), ("{a.b.c}!", #"{"a":{"b":{"c":"deep"}}}"#, "deep!"),
            ("{{{a}}}", #"{"a":"x"}"#, "{x}"),
            ("{{a}} {a}", #"{"a":"x"}"#, "{a} x"), ("{a} ❤ {b}", #"{"a":"é","b":"日"}"#, "é ❤ 日"),
            ("  {a}  ", #"{"a":" x "}"#, "   x   "), ("{a}{a}", #"{"a":"{b}"}"#, "{b}{b}"),
            ("{a} {b}", #"{"a":"x  "}"#, "x"),
        ] as [(String, String, String?)]
    )
    func templates(template: String, profile: String, text: String?) throws {
        let scenario = Scenario(properties: [try .open("p", .string)], stored: #"[{"from":"\#(template)","to":"p"}]"#)
        #expect(try scenario.apply(profile).values == [text.map { .text($0) }])
    }

    @Test("a list or an object in a template is refused", arguments: ["[]", "{}", #"["x"]"#])
    func nested(value: String) throws {
        let scenario = Scenario(stored: #"[{"from":"{a} {b}","to":"name"}]"#)
        #expect(try scenario.failure(#"{"a":"x","b":\#(value)}"#)?.reason == .valueNotConvertible)
    }

    @Test(
        "T-54: braces hold paths and nothing that could be computed",
        arguments: [
            "${7*7}", "{{7*7}}", "{7*7}", "{}", "{ first_name }", "{first_name", "first_name}", "{first_name}}",
            "{a|upper}", "{a.b()}", "{a[0]}", "{{first_name}}", "{{", "}}", "{9}", "#{a }",
            "{a}\\u000a", "{a}\\u001b[2J", "{a}\\u2028", "{a,b}",
        ]
    )
    func notTemplates(text: String) throws {
        #expect(
            try Scenario(stored: #"[{"from":"\#(text)","to":"name"}]"#).problems().map(\.reason) == [.mappingInvalid]
        )
        #expect(try Scenario(client: #"{"\#(text)":"name"}"#).problems().map(\.reason) == [.mappingInvalid])
    }

    @Test(
        "T-54: what looks like an expression in a value is stored as it is",
        arguments: ["${7*7}", "{{7*7}}", "%s%n", "{first_name}", "#{1+1}", "<%= 1 %>", "'; drop table users; --"]
    )
    func literal(text: String) throws {
        let scenario = Scenario(
            properties: Property.builtIn + [try .open("nick", .text)],
            stored: #"[{"from":"name","to":"name"},{"from":"{name}","to":"nick","transform":"trim"}]"#
        )
        #expect(try scenario.apply(#"{"name":"\#(text)","first_name":"X"}"#).values == [.text(text), .text(text)])
        let fallback = Scenario(stored: #"[{"from":"name","to":"name","default":"\#(text)"}]"#)
        #expect(try fallback.apply("{}").values == [.text(text)])
    }

    @Test("a template has at most 1024 bytes and 16 fields")
    func templateLimits() throws {
        func problems(_ template: String) throws -> Int {
            try Scenario(stored: #"[{"from":"\#(template)","to":"name"}]"#).problems().count
        }
        #expect(try problems("{a}" + String(repeating: "x", count: 1021)) == 0)
        #expect(try problems("{a}" + String(repeating: "x", count: 1022)) == 1)
        #expect(try problems(String(repeating: "{a}", count: 16)) == 0)
        #expect(try problems(String(repeating: "{a}", count: 17)) == 1)
    }
}
