import Description
import Encodings
import Testing

@Suite("Descriptions of configurable values")
struct DescriptionTests {
    @Test(
        "a length of time is read as people write one",
        arguments: [
            ("90", 90), ("0", 0), ("14 days", 1_209_600), ("14d", 1_209_600), ("1 day 12 hours", 129_600),
            ("36H", 129_600), ("10m", 600), ("1minute30seconds", 90), ("1 second", 1), ("1.5h", nil), ("", nil),
            (" ", nil), ("d", nil), ("-1d", nil), ("+1d", nil), ("a week", nil), ("1d 5", nil), ("5 1d", nil),
            ("0d 5", nil), ("0h 30", nil), ("0d 5s", 5),
            ("1 4 days", nil), ("1d 1d", 172_800),
            ("14 dayss", nil), ("9223372036854775807d", nil), ("9223372036854775808", nil), ("\u{0661}d", nil),
            ("1d9223372036854775807s", nil),
        ] as [(String, Int64?)]
    )
    func durations(text: String, seconds: Int64?) {
        #expect(DurationText.seconds(text) == seconds)
    }

    @Test(
        "a length of time is written so that it reads as the same",
        arguments: [
            (0, "0 seconds"), (1, "1 second"), (90, "1 minute 30 seconds"), (1_209_600, "14 days"),
            (129_600, "1 day 12 hours"), (31_622_400, "366 days"), (-5, "0 seconds"),
        ] as [(Int64, String)]
    )
    func durationText(seconds: Int64, text: String) {
        #expect(DurationText.text(of: seconds) == text)
        #expect(DurationText.seconds(text) == max(0, seconds))
    }

    @Test(
        "a value is read from the text that stands for it",
        arguments: [
            (Shape.flag, "true", "true"), (.flag, "yes", nil), (.flag, "", "null"), (.word(["a", "b"]), "b", #""b""#),
            (.word(["a", "b"]), "B", nil), (.integer(1...3, unit: "days"), "7", "7"),
            (.integer(1...3, unit: "days"), "7 days", nil), (.seconds(1...9), "2m", "120"),
            (.list(.word(["a"]), max: 2, isSet: true), "a, b ,", #"["a","b"]"#),
            (.list(.word(["a"]), max: 2, isSet: true), "[]", "[]"),
            (.list(.word(["a"]), max: 2, isSet: true), "[1", nil), (.orNull(.flag), "null", "null"),
            (.orNull(.text(DescriptionTests.anything)), "null", #""null""#),
            (.orNull(.text(DescriptionTests.anything)), "", "null"),
            (.orNull(.integer(1...3, unit: "days")), "2", "2"), (.secret, "x y", #""x y""#),
        ] as [(Shape, String, String?)]
    )
    func values(shape: Shape, text: String, value: String?) throws {
        #expect(shape.value(of: text, separator: ",")?.text == value)
    }

    /// An object with a required member, an optional one, and a nested one.
    private struct Sample: Sendable {
        struct Inner: Sendable { var days: Int64 = 7 }

        var name = "?"
        var note: String?
        var inner = Inner()
    }

    private static let anything = TextRule("must be a text", schema: [:]) { _ in nil }

    private static let description = ObjectDescription(
        Sample(),
        unknown: "is not known",
        [
            Field("name", \.name, .text(anything), "Name", "A name.", isRequired: true),
            Field("note", \.note, Codec.text(anything).orNull, "Note", "A note."),
            Field(
                "inner",
                \.inner,
                .object(
                    ObjectDescription(
                        Sample.Inner(),
                        unknown: "is not known here",
                        [
                            Field(
                                "days",
                                \.days,
                                .integer(1...9, "days"),
                                "days",
                                "Some days.",
                                warnings: { $0 < 3 ? ["\($0) days are few"] : [] }
                            )
                        ]
                    )
                ),
                "Inner",
                "Something inside."
            ),
        ]
    )

    @Test(
        "every problem is told at its place, and what is right is read",
        arguments: [
            (#"{"name": "n"}"#, []), (#"{}"#, ["/name: must be a text"]), ("[]", ["/: must be an object"]),
            (
                #"{"nam": 1, "inner": {"days": 10, "dayz": 1}, "note": 7}"#,
                [
                    "/name: must be a text", "/note: must be a text", "/inner/days: must be whole days from 1 to 9",
                    "/inner/dayz: is not known here (did you mean days?); known: days",
                    "/nam: is not known (did you mean name?); known: name, note, inner",
                ]
            ),
        ] as [(String, [String])]
    )
    func problems(text: String, expected: [String]) throws {
        var problems = DocumentProblems()
        let place = text == "[]" ? JSONPointer() / "" : JSONPointer()
        _ = Self.description.read(try json(text), at: place, problems: &problems)
        #expect(problems.lines == expected)
    }

    @Test("an object is written whole, or by what differs from its defaults, and warns where a member does")
    func written() throws {
        var problems = DocumentProblems()
        let text = #"{"name":"n","note":null,"inner":{"days":2}}"#
        let sample = Self.description.read(try json(text), at: JSONPointer(), problems: &problems)
        #expect(problems.isEmpty && Self.description.document(of: sample).text == text)
        #expect(JSONValue.object(Self.description.deviations(of: sample)).text == #"{"name":"n","inner":{"days":2}}"#)
        #expect(Self.description.warnings(of: sample) == ["2 days are few"])
        #expect(Self.description.shape.leaves.map { $0.path.joined(separator: ".") } == ["name", "note", "inner.days"])
    }
}
