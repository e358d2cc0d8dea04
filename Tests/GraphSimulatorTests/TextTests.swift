import Testing

@testable import GraphSimulator

@Suite("texts: JSON as Facebook writes it, dates, tokens, field syntax")
struct TextTests {
    static let escapes: [(JSON, String)] = [
        ("https://a/b@c%<>&'", #""https:\/\/a\/b\u0040c\u0025\u003C>&'""#),
        ("é東🙂", #""\u00e9\u6771\ud83d\ude42""#),
        ("\"\\\n\r\t\u{8}\u{C}\u{1F}\u{7F}", "\"\\\"\\\\\\n\\r\\t\\b\\f\\u001f\u{7F}\""),
        (["a": 1, "b": [true, false, nil, 1.5]], #"{"a":1,"b":[true,false,null,1.5]}"#),
        ([:], "{}"),
    ]

    @Test("escapes", arguments: escapes)
    func escape(_ json: JSON, _ text: String) throws {
        #expect(json.graphText == text)
        #expect(try JSON(parsing: text.utf8) == json)
    }

    static let malformedTexts: [(String, String)] = [
        ("", "the text is not JSON (at line 1, column 1)"),
        ("{\"a\":1,\n \"a\":2}", "the text names a key twice in one object (at line 2, column 2)"),
        ("{\"a\":1,}", "the text is not JSON (at line 1, column 8)"),
        ("[1 2]", "the text is not JSON (at line 1, column 4)"),
        ("01", "the text has text behind the JSON value (at line 1, column 2)"),
        ("1 1", "the text has text behind the JSON value (at line 1, column 3)"),
        ("\"\u{1}\"", "the text is not JSON (at line 1, column 2)"),
        (#""\ud800""#, "the text has half of a surrogate pair (at line 1, column 8)"),
        (#""\x""#, "the text is not JSON (at line 1, column 4)"),
        ("1e999", "the text has a number that is no finite double (at line 1, column 1)"),
        ("tru", "the text is not JSON (at line 1, column 4)"),
        (String(repeating: "[", count: 65), "the text is nested too deep (at line 1, column 65)"),
    ]

    @Test("JSON that is none, with line and column", arguments: malformedTexts)
    func malformed(_ text: String, _ message: String) {
        let error = #expect(throws: GraphSimulator.DataError.self) { try JSON(parsing: text.utf8) }
        #expect(error?.description == message)
    }

    @Test("an escaped NUL is read and written")
    func escapedNUL() throws {
        #expect(try JSON(parsing: #""a\u0000""#.utf8).graphText == #""a\u0000""#)
    }

    @Test("merging follows RFC 7396")
    func merge() {
        let base: JSON = ["a": ["b": 1, "c": 2], "d": 3]
        #expect(base.merging(["a": ["b": nil, "e": 4], "d": [1]]) == ["a": ["c": 2, "e": 4], "d": [1]])
        #expect(base.merging(false) == false)
    }

    /// Unix seconds and their Pacific text; the clock changes of 2024 were on 10 March and 3 November.
    static let pacificDates: [(Int, String)] = [
        (1_668_613_551, "Wednesday, 16-Nov-22 07:45:51 PST"),
        (1_668_749_403, "Thursday, 17-Nov-22 21:30:03 PST"),
        (1_711_839_600, "Saturday, 30-Mar-24 16:00:00 PDT"),
        (1_710_064_799, "Sunday, 10-Mar-24 01:59:59 PST"),
        (1_710_064_800, "Sunday, 10-Mar-24 03:00:00 PDT"),
        (1_730_624_399, "Sunday, 03-Nov-24 01:59:59 PDT"),
        (1_730_624_400, "Sunday, 03-Nov-24 01:00:00 PST"),
        (951_811_200, "Tuesday, 29-Feb-00 00:00:00 PST"),
    ]

    @Test("dates of expired sessions are in Pacific time", arguments: pacificDates)
    func pacific(_ time: Int, _ text: String) {
        #expect(CalendarText.pacific(time) == text)
    }

    @Test("dates beyond reason do not trap", arguments: [Int.min, -1, 0, Int.max])
    func unreasonable(_ time: Int) {
        #expect(CalendarText.pacific(time).hasSuffix("PST"))
        #expect(CalendarText.http(time).hasSuffix("GMT"))
    }

    @Test("HTTP dates")
    func http() {
        #expect(CalendarText.http(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test("tokens look like Facebook's, differ, and repeat for a name")
    func tokens() {
        var generator = SplitMix64(seed: 1)
        let first = TokenText.user(using: &generator)
        let second = TokenText.user(using: &generator)
        for token in [first, second, TokenText.user(named: "ann")] {
            #expect(token.utf8.count == 180)
            #expect(token.hasPrefix("EAA") && token.hasSuffix("ZD"))
            #expect(token.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) })
        }
        #expect(first != second)
        #expect(TokenText.user(named: "ann") == TokenText.user(named: "ann"))
        #expect(TokenText.user(named: "ann") != TokenText.user(named: "bob"))
        let app = App(id: "1", secret: "s")
        #expect(TokenText.app(app).hasPrefix("1|") && TokenText.app(app).utf8.count == 29)
        #expect(TokenText.app(app) != TokenText.app(App(id: "1", secret: "t")))
    }

    @Test("field selections")
    func selections() throws {
        let parsed = try FieldSelection.parse("id, picture.width(200).height(100).as(face){url}")
        #expect(
            parsed == [
                FieldSelection(name: "id"),
                FieldSelection(
                    name: "picture",
                    alias: "face",
                    modifiers: ["width": "200", "height": "100"],
                    fields: [FieldSelection(name: "url")]
                ),
            ]
        )
    }
}
