import Domain
import Mapping
import Testing

@Suite("Transforms")
struct TransformTests {
    @Test(
        "each does what its name says",
        arguments: [
            (#""trim""#, #""  Ann \t\r\n""#, Fate.value(.text("Ann"))),
            (#""trim""#, #""\u00a0\u2003\u2028x y\u3000\u0085""#, .value(.text("x y"))),
            (#""trim""#, #"" ""#, .value(.text(""))), (#""trim""#, #""\u200bx""#, .value(.text("\u{200B}x"))),
            (#""trim""#, #""x""#, .value(.text("x"))), (#""trim""#, " 7 ", .value(.text("7"))),
            (#""trim""#, "{}", .refused), (#""lowercase""#, #""ANN@Example.COM""#, .value(.text("ann@example.com"))),
            (#""lowercase""#, #""ÄÉΣ""#, .value(.text("äéσ"))), (#""lowercase""#, #""İI""#, .value(.text("i\u{307}i"))),
            (#""uppercase""#, #""straße ǆ""#, .value(.text("STRASSE Ǆ"))),
            (#""uppercase""#, "true", .value(.text("true"))),
            (#""first""#, #"["a","b"]"#, .value(.text("a"))), (#""first""#, "[]", .lacking),
            (#""first""#, #"[null,"b"]"#, .value(.text("b"))), (#""first""#, "[null]", .lacking),
            (#""first""#, #""x""#, .value(.text("x"))), (#""first""#, "[[1]]", .refused),
            (#"{"join":", "}"#, #"["a",1,true,null,"b"]"#, .value(.text("a, 1, true, b"))),
            (#"{"join":""}"#, "[]", .value(.text(""))), (#"{"join":"-"}"#, #""x""#, .value(.text("x"))),
            (#"{"join":"-"}"#, #"["a",["b"]]"#, .refused),
            (#"{"join":"-"}"#, "[{}]", .refused),
            (#"{"lookup":{"male":"M","female":"F"}}"#, #""female""#, .value(.text("F"))),
            (#"{"lookup":{"male":"M"}}"#, #""custom""#, .lacking),
            (#"{"lookup":{"male":"M"},"else":null}"#, #""custom""#, .lacking),
            (#"{"lookup":{"male":"M"},"else":"X"}"#, #""custom""#, .value(.text("X"))),
            (#"{"lookup":{"male":null},"else":"X"}"#, #""male""#, .lacking),
            (#"{"lookup":{"21":18,"true":0}}"#, "21", .value(.text("18"))),
            (#"{"lookup":{"21":18,"true":0}}"#, "true", .value(.text("0"))),
            (#"{"lookup":{"é":"x"}}"#, #""e\u0301""#, .lacking), (#"{"lookup":{"K":"x"}}"#, #""\u212a""#, .lacking),
            (#"{"lookup":{"a":"x"}}"#, #"["a"]"#, .refused), (#"{"lookup":{}}"#, "{}", .refused),
            (#"{"date":"dd.MM.yyyy"}"#, #""06.05.1990""#, .value(.text("1990-05-06"))),
            (#"{"date":"yyyyMMdd"}"#, #""19900506""#, .value(.text("1990-05-06"))),
            (#"{"date":"MM/dd/yyyy"}"#, #""05/06/1990""#, .value(.text("1990-05-06"))),
            (#"{"date":"MM/dd/yyyy"}"#, #""05/06""#, .lacking), (#"{"date":"MM/dd/yyyy"}"#, #""1990""#, .lacking),
            (#"{"date":"dd.MM.yyyy"}"#, #""31.02.1990""#, .refused),
            (#"{"date":"dd.MM.yyyy"}"#, #""06.05.1990 ""#, .refused),
            (#"{"date":"dd.MM.yyyy"}"#, #""6.5.1990""#, .refused), (#"{"date":"dd.MM.yyyy"}"#, "19900506", .refused),
            (#"{"date":"dd.MM.yyyy"}"#, #"["06.05.1990"]"#, .refused),
        ]
    )
    func each(transform: String, value: String, fate: Fate) throws {
        #expect(try Fate.of(value, as: .string, entry: #","transform":\#(transform)"#) == fate)
    }

    @Test("text transforms reach into a list, and leave what is no text")
    func lists() throws {
        let fate = try Fate.of(#"[" A ",1,null,[" B "]]"#, as: .json, entry: #","transform":["trim","lowercase"]"#)
        #expect(fate == .value(.json(try Scenario.parse(#"["a",1,null,[" B "]]"#))))
    }

    @Test("they apply in the order of the list; then the default, then the conversion")
    func order() throws {
        #expect(
            try Fate.of(#"" MALE ""#, as: .int, entry: #","transform":["trim","lowercase",{"lookup":{"male":1}}]"#)
                == .value(.integer(1))
        )
        #expect(
            try Fate.of(#"" MALE ""#, as: .int, entry: #","transform":["lowercase",{"lookup":{"male":1}},"trim"]"#)
                == .lacking
        )
        #expect(
            try Fate.of(#""x""#, as: .int, entry: #","default":7,"transform":{"lookup":{"male":1}}"#)
                == .value(.integer(7))
        )
        #expect(
            try Fate.of("[]", as: .string, entry: #","default":" D ","transform":["first","trim"]"#)
                == .value(.text(" D "))
        )
        #expect(try Fate.of("{}", as: .string, entry: #","transform":[]"#) == .refused)
    }

    @Test(
        "nothing outside the closed list is a transform",
        arguments: [
            #""reverse""#, #""Trim""#, #""""#, "7", "true", "[[]]", #"["trim",null]"#, "{}", #"{"join":1}"#,
            #"{"join":", ","else":1}"#, #"{"lookup":[]}"#, #"{"lookup":{"a":[]}}"#, #"{"lookup":{"a":{}}}"#,
            #"{"lookup":{},"else":[]}"#,
            #"{"lookup":{},"default":1}"#, #"{"else":1}"#, #"{"date":1}"#, #"{"date":""}"#, #"{"date":"MM/dd"}"#,
            #"{"date":"yyyy"}"#, #"{"date":"YYYY-MM-DD"}"#, #"{"date":"yyyy-MM-dd HH:mm"}"#,
            #"{"date":"yyyy-MM-MM-dd"}"#,
            #"{"date":"dMyyyy"}"#, #"{"date":"dd年MM月yyyy"}"#, #"{"date":"yyyy-MM-dd\t"}"#, #"{"script":"1"}"#,
            #"{"trim":true}"#, #"{"join":", ","lookup":{}}"#,
        ]
    )
    func notTransforms(transform: String) throws {
        let problems = try Scenario(stored: #"[{"from":"name","to":"name","transform":\#(transform)}]"#).problems()
        #expect(problems.map(\.reason) == [.mappingInvalid])
        #expect(problems.first?.position == 0)
    }

    @Test("lists and texts of transforms have bounds")
    func limits() throws {
        func problems(_ transform: String) throws -> Int {
            try Scenario(stored: #"[{"from":"name","to":"name","transform":\#(transform)}]"#).problems().count
        }
        func trims(_ count: Int) -> String {
            "[" + Array(repeating: "\"trim\"", count: count).joined(separator: ",") + "]"
        }
        func rows(_ count: Int) -> String {
            #"{"lookup":{"# + (0..<count).map { "\"k\($0)\":\($0)" }.joined(separator: ",") + "}}"
        }
        func text(_ bytes: Int) -> String { String(repeating: "x", count: bytes) }
        #expect(try problems(trims(16)) == 0)
        #expect(try problems(trims(17)) == 1)
        #expect(try problems(rows(512)) == 0)
        #expect(try problems(rows(513)) == 1)
        #expect(try problems(#"{"join":"\#(text(1024))"}"#) == 0)
        #expect(try problems(#"{"join":"\#(text(1025))"}"#) == 1)
        #expect(try problems(#"{"lookup":{"a":"\#(text(1024))"},"else":"\#(text(1024))"}"#) == 0)
        #expect(try problems(#"{"lookup":{"a":"\#(text(1025))"}}"#) == 1)
        #expect(try problems(#"{"lookup":{},"else":"\#(text(1025))"}"#) == 1)
        #expect(try problems(#"{"date":"yyyyMMdd\#(String(repeating: " ", count: 24))"}"#) == 0)
        #expect(try problems(#"{"date":"yyyyMMdd\#(String(repeating: " ", count: 25))"}"#) == 1)
    }

    @Test("T-94: a hostile text of the largest size passes through every text transform whole")
    func hostileText() throws {
        let marks = " E" + String(repeating: "\u{301}\u{323}", count: 16_000) + " "
        let entry = #","transform":["trim","lowercase","uppercase",{"lookup":{"a":1},"else":"no"}]"#
        #expect(try Fate.of("\"\(marks)\"", as: .string, entry: entry) == .value(.text("no")))
        #expect(try Fate.of("\"\(marks)\"", as: .date) == .refused)
        #expect(try Fate.of("\"\(marks)\"", as: .boolean) == .refused)
    }
}
