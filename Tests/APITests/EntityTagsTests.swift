import Accounts
import Administration
@testable import AdministrationAPI
import Domain
import Testing

@Suite("If-Match and If-None-Match")
struct EntityTagsTests {
    private typealias Tag = EntityTags.EntityTag

    @Test(
        "the forms of RFC 9110 are read",
        arguments: [
            (#""17""#, ["17"]), (#""""#, [""]), (#""a", "b""#, ["a", "b"]), (#""a","b""#, ["a", "b"]),
            ("\t\"a\" \t, \t\"b\"  ", ["a", "b"]), (#", "a" ,, "b","#, ["a", "b"]), (#""a,b""#, ["a,b"]),
            (#"W/"a", "b""#, ["W/a", "b"]), (#""W/a""#, ["W/a"]), (#""*""#, ["*"]), (#""ü!#~""#, ["ü!#~"]),
        ]
    )
    func lists(value: String, expected: [String]) throws {
        guard case .list(let tags) = try EntityTags(value, header: "If-Match") else {
            Issue.record("no list")
            return
        }
        #expect(tags.map { ($0.isWeak ? "W/" : "") + $0.text } == expected)
    }

    @Test("a star stands for whatever there is", arguments: ["*", " * ", "\t*"])
    func star(value: String) throws {
        #expect(try EntityTags(value, header: "If-Match") == .any)
    }

    @Test(
        "anything else is malformed",
        arguments: [
            "", " ", ",", ",,", "17", "\"17", "17\"", "'17'", #""a" "b""#, #""a"b"#, #"*, "a""#, #""a", *"#, "**",
            #"w/"a""#, #"W/ "a""#, #"W"a""#, #"W/"#, #""a b""#, "\"a\u{7F}\"", "\"a\tb\"", #""a";"b""#,
        ]
    )
    func malformed(value: String) {
        let error = #expect(throws: Failure.self) { try EntityTags(value, header: "If-Match") }
        #expect(error?.reason == .malformedRequest)
    }

    @Test("for a change only strong tags count, and a list of none never matches")
    func strong() throws {
        guard case .tags(let tags) = try EntityTags(#"W/"a", "b""#, header: "If-Match").precondition else {
            Issue.record("no tags")
            return
        }
        #expect(tags == ["b"])
        let weak = try EntityTags(#"W/"17""#, header: "If-Match").precondition
        #expect(throws: Failure.self) { try weak.check("17") }
        #expect(throws: Never.self) { try EntityTags("*", header: "If-Match").precondition.check("17") }
    }

    @Test("for a reader weak tags count, too, and tags are compared as bytes")
    func weak() throws {
        #expect(try EntityTags(#"W/"17""#, header: "If-None-Match").includes("17"))
        #expect(try EntityTags(#""16", "17""#, header: "If-None-Match").includes("17"))
        #expect(try EntityTags("*", header: "If-None-Match").includes("17"))
        #expect(try !EntityTags("\"u\u{308}\"", header: "If-None-Match").includes("ü"))
        #expect(try !EntityTags(#""1""#, header: "If-None-Match").includes("17"))
    }
}
