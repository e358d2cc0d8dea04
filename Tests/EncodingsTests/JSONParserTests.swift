import Encodings
import TestSupport
import Testing

@Suite("Parsing JSON")
struct JSONParserTests {
    private static let limits = JSONLimits.request

    private static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        try JSONParser.parse(bytes, limits: limits)
    }

    private static func rule(_ bytes: [UInt8]) -> JSONError.Rule? {
        do throws(JSONError) {
            _ = try parse(bytes)
            return nil
        } catch {
            return error.rule
        }
    }

    @Test(
        "accepts what RFC 8259 allows and gives it back unchanged",
        arguments: [
            ("null", "null"), ("true", "true"), ("false", "false"), ("0", "0"), ("-0", "-0"), ("12", "12"),
            ("-1.50e+10", "-1.50e+10"), ("1E300", "1E300"), ("1e-2", "1e-2"), ("\"\"", "\"\""), ("[]", "[]"),
            ("{}", "{}"),
            (" \t\r\n[ 1 , 2 ] \n", "[1,2]"),
            (#"{"a" : {"b":[true,null]} , "c":""}"#, #"{"a":{"b":[true,null]},"c":""}"#),
            (#""\"\\\/\b\f\n\r\t""#, #""\"\\/\u0008\u000c\n\r\t""#), (#""\u00e9\u20AC""#, "\"é€\""),
            (#""\ud83d\ude00""#, "\"😀\""), ("\"😀é\"", "\"😀é\""), (#"{"":1}"#, #"{"":1}"#), ("\"\u{7F}\"", #""\u007f""#),
            ("\"\u{FEFF}\"", "\"\u{FEFF}\""), ("123456789012345678901234567890", "123456789012345678901234567890"),
        ]
    )
    func accepts(text: String, written: String) throws {
        #expect(try Self.parse(Array(text.utf8)).text.utf8.elementsEqual(written.utf8))
    }

    @Test(
        "refuses everything else, naming the rule",
        arguments: [
            ("", JSONError.Rule.syntax), (" ", .syntax), ("nul", .syntax), ("nulll", .trailingText), ("True", .syntax),
            ("NaN", .syntax), ("Infinity", .syntax), ("-", .syntax), ("+1", .syntax), ("01", .trailingText),
            ("-01", .trailingText), ("1.", .syntax), (".5", .syntax), ("1e", .syntax), ("1e+", .syntax),
            ("0x10", .trailingText),
            ("1_000", .trailingText), ("١", .syntax), ("'a'", .syntax), ("\"a", .syntax), ("\"\\", .syntax),
            ("\"\\x\"", .syntax),
            ("\"\\u12\"", .syntax), ("\"\\u12g4\"", .syntax), ("\"a\nb\"", .syntax), ("\"a\tb\"", .syntax),
            ("[", .syntax),
            ("[1", .syntax), ("[1,]", .syntax), ("[,1]", .syntax), ("[1 2]", .syntax), ("]", .syntax),
            ("[1]]", .trailingText),
            ("{", .syntax), ("{\"a\"", .syntax), ("{\"a\":", .syntax), ("{\"a\":1", .syntax), ("{\"a\":1,}", .syntax),
            ("{a:1}", .syntax), ("{1:1}", .syntax), ("{\"a\" 1}", .syntax), ("{\"a\":1 \"b\":2}", .syntax),
            ("{,}", .syntax),
            ("1 2", .trailingText), ("{} {}", .trailingText), ("{}//", .trailingText), ("/**/{}", .syntax),
            ("\u{FEFF}{}", .byteOrderMark), ("\u{A0}1", .syntax), ("\"\\u0000\"", .nulCharacter),
            ("\"\u{0}\"", .nulCharacter),
            ("\"\\ud800\"", .loneSurrogate), ("\"\\udc00\"", .loneSurrogate), ("\"\\ud800\\ud800\"", .loneSurrogate),
            ("\"\\ud800x\"", .loneSurrogate), ("\"\\udc00\\ud800\"", .loneSurrogate),
            ("\"\\ud800\\n\"", .loneSurrogate),
        ]
    )
    func refuses(text: String, rule: JSONError.Rule) {
        #expect(Self.rule(Array(text.utf8)) == rule)
    }

    @Test(
        "where it is asked to, it reads what no text may have as NUL",
        arguments: [
            (#""a\u0000b""#, "a\0b"), (#""\ud800""#, "\0"), (#""\udc00x""#, "\0x"), (#""\ud800\n""#, "\0\n"),
            (#""\ud800\ud800""#, "\0\0"), (#""\ud83d\ude00""#, "\u{1F600}"), (#""\ud800\u0041""#, "\0A"),
        ]
    )
    func readsUnusableEscapes(text: String, value: String) throws {
        #expect(try JSONParser.parse(text, limits: .profile) == .string(value))
    }

    @Test("where it is asked to read an escaped NUL alone, half of a surrogate pair is refused")
    func readsEscapedNUL() throws {
        var limits = JSONLimits.reply
        limits.readsEscapedNUL = true
        #expect(try JSONParser.parse(#""a\u0000b""#, limits: limits) == .string("a\0b"))
        let error = #expect(throws: JSONError.self) { try JSONParser.parse(#""\ud800""#, limits: limits) }
        #expect(error?.rule == .loneSurrogate)
    }

    @Test(
        "refuses bytes that are not UTF-8",
        arguments: [
            [0x80], [0xC0, 0xAF], [0xC3], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
            [0xFF], [0xE2, 0x82],
        ] as [[UInt8]]
    )
    func refusesInvalidUTF8(bytes: [UInt8]) {
        #expect(Self.rule([0x22] + bytes + [0x22]) == .invalidUTF8)
        #expect(Self.rule([0x22, 0x5C, 0x6E] + bytes + [0x22]) == .invalidUTF8, "behind an escape")
    }

    @Test(
        "refuses UTF-16 in either order",
        arguments: [[0xFF, 0xFE, 0x7B, 0, 0x7D, 0], [0xFE, 0xFF, 0, 0x7B, 0, 0x7D]]
    )
    func refusesUTF16(bytes: [UInt8]) {
        #expect(Self.rule(bytes) == .syntax)
    }

    @Test("keeps the digits of numbers that no Double holds")
    func keepsDigits() throws {
        let value = try Self.parse(Array(#"{"id":12345678901234567,"f":1.0}"#.utf8))
        #expect(value.object?["id"]?.integer == 12_345_678_901_234_567)
        #expect(value.object?["f"]?.integer == nil)
        #expect(value.text == #"{"id":12345678901234567,"f":1.0}"#)
    }

    // MARK: Duplicate keys

    @Test(
        "T-53: a key that comes twice is refused, however it is spelt and wherever it stands",
        arguments: [
            #"{"fieldsMapping":{"name":"nick"},"fieldsMapping":{"name":"userStatus"}}"#,
            #"{"fieldsMapping":{"name":"nick","name":"userStatus"}}"#,
            #"{"name":1,"n\u0061me":2}"#,
            #"{"n\u0061me":1,"name":1}"#,
            #"{"\u006E\u0061\u006d\u0065":1,"name":2}"#,
            #"[{"a":[{"x":1,"y":2,"x":3}]}]"#,
            #"{"":1,"":2}"#,
        ]
    )
    func refusesDuplicates(text: String) {
        #expect(Self.rule(Array(text.utf8)) == .duplicateKey)
    }

    @Test(
        "T-53: duplicates are found among few keys and among many, at every distance",
        arguments: [1, 2, 11, 12, 13, 14, 400]
    )
    func findsDuplicates(count: Int) {
        let members = (0..<count).map { "\"k\($0)\":0" }
        #expect(Self.rule(Array("{\(members.joined(separator: ","))}".utf8)) == nil)
        for repeated in [0, count / 2, count - 1] {
            let text = "{\((members + ["\"k\(repeated)\":1"]).joined(separator: ","))}"
            #expect(Self.rule(Array(text.utf8)) == .duplicateKey)
        }
    }

    @Test("the same key in two objects is no duplicate")
    func sameKeyInTwoObjects() {
        #expect(Self.rule(Array(#"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}"#.utf8)) == nil)
    }

    @Test("T-53: keys that are canonically equal and differ in bytes are two keys")
    func canonicalEquivalentsAreTwoKeys() throws {
        let value = try JSONParser.parse("{\"\u{E9}\":1,\"e\u{301}\":2,\"K\":3,\"\u{212A}\":4}", limits: .reply)
        #expect(value.object?["\u{E9}"]?.integer == 1)
        #expect(value.object?["e\u{301}"]?.integer == 2)
        #expect(value.object?["K"]?.integer == 3)
        #expect(value.object?["\u{212A}"]?.integer == 4)
    }

    // MARK: Limits

    private struct Bound: Sendable, CustomTestStringConvertible {
        let rule: JSONError.Rule
        let text: @Sendable (_ extra: Int) -> String
        var testDescription: String { "\(rule)" }
    }

    private static let bounds = [
        Bound(rule: .tooLarge) { "\"" + String(repeating: "x", count: 65_534 + $0) + "\"" },
        Bound(rule: .tooDeep) { String(repeating: "[", count: 16 + $0) + String(repeating: "]", count: 16 + $0) },
        Bound(rule: .tooDeep) {
            String(repeating: "{\"a\":", count: 16 + $0) + "0" + String(repeating: "}", count: 16 + $0)
        },
        Bound(rule: .tooManyMembers) { "[" + Array(repeating: "0", count: 512 + $0).joined(separator: ",") + "]" },
        Bound(rule: .tooManyMembers) {
            "{\"a\":{" + (0..<255).map { "\"k\($0)\":0" }.joined(separator: ",") + "},\"b\":["
                + Array(repeating: "0", count: 255 + $0).joined(separator: ",") + "]}"
        },
        Bound(rule: .keyTooLong) { "{\"" + String(repeating: "k", count: 128 + $0) + "\":0}" },
        Bound(rule: .keyTooLong) { "{\"" + String(repeating: "\\u006b", count: 128 + $0) + "\":0}" },
        Bound(rule: .numberTooLong) { "0." + String(repeating: "9", count: 510 + $0) },
        Bound(rule: .numberOutOfRange) { "1e\(308 + $0)" },
    ]

    @Test("holds every limit of D5: at the bound it passes, one beyond it does not", arguments: bounds)
    private func limits(bound: Bound) {
        #expect(Self.rule(Array(bound.text(0).utf8)) == nil)
        #expect(Self.rule(Array(bound.text(1).utf8)) == bound.rule)
    }

    @Test(
        "keys of requests are ASCII, keys of replies need not be",
        arguments: ["é", "\\u00e9", "\\u212A", "k\u{301}"]
    )
    func asciiKeys(key: String) {
        let text = "{\"\(key)\":1}"
        #expect(Self.rule(Array(text.utf8)) == .keyNotASCII)
        #expect(throws: Never.self) { try JSONParser.parse(text, limits: .reply) }
    }

    // MARK: User objects

    private static func record(_ text: String, limits: JSONLimits = .record) -> JSONError.Rule? {
        do throws(JSONError) {
            _ = try JSONParser.parse(text, limits: limits)
            return nil
        } catch {
            return error.rule
        }
    }

    private static func list(_ count: Int) -> String {
        "[" + Array(repeating: "0", count: count).joined(separator: ",") + "]"
    }

    private static let recordBounds = [
        Bound(rule: .tooManyMembers) { "{\"a\":\(list(10_000 + $0))}" },
        // The limit counts all values of a member together.
        Bound(rule: .tooManyMembers) { "{\"a\":\(list(6000)),\"b\":{\"c\":\(list(3999 + $0))}}" },
        Bound(rule: .tooManyMembers) { "{" + (0..<512 + $0).map { "\"k\($0)\":[0]" }.joined(separator: ",") + "}" },
        Bound(rule: .keyTooLong) { "{\"" + String(repeating: "k", count: 128 + $0) + "\":{\"a\":0}}" },
        Bound(rule: .keyTooLong) { "{\"a\":{\"" + String(repeating: "k", count: 255 + $0) + "\":0}}" },
        Bound(rule: .keyTooLong) {
            "{\"a\":[{\"" + String(repeating: "\u{301}\u{323}", count: 63) + String(repeating: "\\u006b", count: 3 + $0)
                + "\":0}]}"
        },
        Bound(rule: .tooDeep) {
            "{\"a\":" + String(repeating: "[", count: 15 + $0) + String(repeating: "]", count: 15 + $0) + "}"
        },
        Bound(rule: .tooManyMembers) { list(512 + $0) },
    ]

    @Test("what is inside the values of a user object has bounds of its own", arguments: recordBounds)
    private func recordLimits(bound: Bound) {
        #expect(Self.record(bound.text(0)) == nil)
        #expect(Self.record(bound.text(1)) == bound.rule)
    }

    @Test(
        "keys inside the values of a user object are any text, and are the same when their bytes are",
        arguments: [
            (#"{"a":{"é":1,"e\#u{301}":2,"k":3,"\#u{212A}":4,"":5}}"#, nil),
            (#"{"a":{"é":1,"\u00e9":2}}"#, .duplicateKey),
            (#"{"é":1}"#, .keyNotASCII), (#"{"a":{"é":1},"é":1}"#, .keyNotASCII), (#"[{"é":1}]"#, .keyNotASCII),
            (#"{"a":{"\ud800":1}}"#, .loneSurrogate), (#"{"a":{"\u0000":1}}"#, .nulCharacter),
        ] as [(String, JSONError.Rule?)]
    )
    func recordKeys(text: String, rule: JSONError.Rule?) {
        #expect(Self.record(text) == rule)
    }

    @Test("of a login the user object in it alone has those bounds")
    func recordInside() {
        let limits = JSONLimits.request(withRecord: "guestUser")
        #expect(Self.record(#"{"guestUser":{"extra":{"é":\#(Self.list(600))}}}"#, limits: limits) == nil)
        #expect(Self.record(#"{"fieldsMapping":{"é":1}}"#, limits: limits) == .keyNotASCII)
        #expect(Self.record(#"{"fieldsMapping":{"a":\#(Self.list(512))}}"#, limits: limits) == .tooManyMembers)
        #expect(Self.record(#"{"guestUser":{},"fieldsMapping":{"é":1}}"#, limits: limits) == .keyNotASCII)
    }

    @Test("each user object of a list has them by itself")
    func recordsOfList() {
        var limits = JSONLimits.record
        limits.inside?.depth = 2
        let record = #"{"a":{"é":\#(Self.list(9999))}}"#
        #expect(Self.record("[\(record),\(record)]", limits: limits) == nil)
        #expect(Self.record(#"[{"a":[\#(Self.list(9999)),0]}]"#, limits: limits) == .tooManyMembers)
        #expect(Self.record(#"[{"a":1,"é":2}]"#, limits: limits) == .keyNotASCII)
        #expect(Self.record(#"[{"a":{}},{"é":2}]"#, limits: limits) == .keyNotASCII)
    }

    @Test("T-94: ten thousand hostile keys of a value are read, compared and written in linear time")
    func manyHostileKeys() throws {
        // The keys are canonically equal in pairs, so comparing each as a String with every other would take minutes.
        let marks = String(repeating: "\u{301}\u{323}", count: 30)
        let swapped = String(repeating: "\u{323}\u{301}", count: 30)
        let keys = (0..<5000).flatMap { ["e\($0)\(marks)", "e\($0)\(swapped)"] }
        var limits = JSONLimits.record
        limits.bytes = 4_194_304
        func object(_ keys: [String]) -> String {
            "{\"a\":{" + keys.map { "\"\($0)\":1" }.joined(separator: ",") + "}}"
        }
        func time(_ keys: [String]) throws -> Duration {
            try processorTime {
                let text = object(keys)
                let value = try JSONParser.parse(text, limits: limits)
                #expect(value.object?["a"]?.object?.members.count == keys.count)
                #expect(value == (try JSONParser.parse(object(keys.reversed()), limits: limits)))
                #expect(value != (try JSONParser.parse(object(keys.dropLast() + ["e"]), limits: limits)))
                #expect(value.text.utf8.count == text.utf8.count)
            }.time
        }
        // Ten times as many keys take about ten times as long; comparing every key with every other would take a
        // hundred times as long. The best of three runs is free of the effects of a busy machine on the caches.
        let (few, many) = (try (0..<3).map { _ in try time(Array(keys.prefix(1000))) }, try time(keys))
        #expect(many < (try #require(few.min())) * 40, "\(few) and \(many)")
        limits.inside?.members += 1
        #expect(Self.record(object(keys + [keys[0]]), limits: limits) == .duplicateKey)
    }

    @Test("a text is refused for its size before it is copied")
    func sizeOfText() {
        let error = #expect(throws: JSONError.self) {
            try JSONParser.parse(String(repeating: " ", count: 65_537), limits: .request)
        }
        #expect(error?.rule == .tooLarge)
        #expect(error?.offset == 65_536)
    }

    // MARK: Hostile texts

    /// `e` and then alternating combining marks: hashing or comparing it as a String is quadratic.
    private static let marks = "e" + String(repeating: "\u{301}\u{323}", count: 16_000)

    @Test("T-94: a hostile key is refused by its bytes, before a String exists that could be hashed or compared")
    func hostileKey() {
        #expect(Self.rule(Array("{\"\(Self.marks)\":1}".utf8)) == .keyTooLong)
        #expect(Self.rule(Array("{\"a\":{\"b\":[{\"\(Self.marks)\":1}]}}".utf8)) == .keyTooLong)
        let short = "e" + String(repeating: "\u{301}\u{323}", count: 30)
        #expect(Self.rule(Array("{\"\(short)\":1}".utf8)) == .keyNotASCII)
    }

    @Test("T-94: a hostile value passes untouched, and values compare as bytes")
    func hostileValue() throws {
        let text = "{\"accessToken\":\"\(Self.marks)\"}"
        let value = try Self.parse(Array(text.utf8))
        #expect(value.object?["accessToken"]?.string?.utf8.count == Self.marks.utf8.count)
        let swapped = "e" + String(repeating: "\u{323}\u{301}", count: 16_000)
        // Canonically equal, 64 KB each: `==` of the Strings would take half a second.
        #expect(value != (try Self.parse(Array("{\"accessToken\":\"\(swapped)\"}".utf8))))
        #expect(value == (try Self.parse(Array(text.utf8))))
    }

    @Test(
        "errors say where, and repeat nothing of the text",
        arguments: [
            (#"{"password":"hunter""#, 20, "the text is not JSON (at line 1, column 21)"),
            (#"{"secret":1,"secret":2}"#, 12, "the text names a key twice in one object (at line 1, column 13)"),
            ("{\n  \"é\": 1,\n  \"ü\": tru\n}", 24, "the text is not JSON (at line 3, column 11)"),
            ("\r\n[1 2]", 5, "the text is not JSON (at line 2, column 4)"),
        ]
    )
    func errorsRepeatNothing(text: String, offset: Int, description: String) {
        let error = #expect(throws: JSONError.self) { try JSONParser.parse(text, limits: .document) }
        #expect(error?.offset == offset)
        #expect(error?.description == description)
    }

    @Test("no bytes at all make it trap, and what it accepts it reads again as the same")
    func survivesRandomBytes() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix(state: seed)
        let pieces: [[UInt8]] =
            [
                "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u", "d83d", "\\ude00", "\"a\"", "\"b\":", "null", "true",
                "fals", "-",
                "0", "1", ".", "e", "+", " ", "\n", "\u{0}", "\u{7F}", "é",
            ].map { Array($0.utf8) } + [[0xC3], [0xFF], [0xEF, 0xBB, 0xBF], [0x80]]
        for _ in 0..<20_000 {
            var bytes: [UInt8] = []
            for _ in 0..<random.below(24) {
                if random.below(12) == 0 { bytes.append(UInt8(truncatingIfNeeded: random.next())) }
                bytes += pieces[random.below(pieces.count)]
            }
            guard let value = try? Self.parse(bytes) else { continue }
            #expect((try? JSONParser.parse(value.text, limits: .reply)) == value, "seed \(seed)")
        }
    }

    @Test("a valid text with any one byte changed, dropped or doubled never traps")
    func survivesMutations() throws {
        let text = Array(#"{"a":[1,-2.5e+3,"x\u00e9\ud83d\ude00\n",{"b":null,"c":[true,false]}],"é":"\\"}"#.utf8)
        for index in text.indices {
            for byte in UInt8.min ... .max {
                var changed = text
                changed[index] = byte
                if let value = try? JSONParser.parse(changed, limits: .reply) {
                    #expect(try JSONParser.parse(value.text, limits: .reply) == value)
                }
            }
            _ = try? JSONParser.parse(Array(text[..<index]), limits: .reply)
            _ = try? JSONParser.parse(Array(text[...index] + text[index...]), limits: .reply)
        }
    }
}

/// A small random generator whose whole state is the seed that a failing test prints.
struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
