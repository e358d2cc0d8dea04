@testable import AdministrationAPI
import Description
import Domain
import Testing

@Suite("The query of an administrative request")
struct QueryParametersTests {
    private static let name = Parameter("name", in: .query, .string, "A name.")
    private static let known = [.limit, .cursor, name]

    @Test(
        "what a route takes is read and decoded once",
        arguments: [
            ("name=Ann", "Ann"), ("name=Ann+M%C3%BCller", "Ann Müller"), ("name=a%2Bb%20c", "a+b c"),
            ("name=", ""), ("name", ""), ("name=a=b", "a=b"), ("n%61me=x", "x"), ("name=%2541", "%41"),
            ("limit=1&name=x&cursor=y", "x"), ("name=a%26b", "a&b"), ("name=a;b", "a;b"), ("name=?", "?"),
        ]
    )
    func reads(query: String, name: String) throws {
        #expect(try QueryParameters(query, known: Self.known)[Self.name] == name)
    }

    @Test("no query is no parameters", arguments: [nil, ""])
    func empty(query: String?) throws {
        let parameters = try QueryParameters(query, known: Self.known)
        #expect(Self.known.allSatisfy { parameters[$0] == nil })
        #expect(throws: Never.self) { try QueryParameters(query, known: []) }
    }

    @Test(
        "what is unknown, there twice or cannot be decoded is refused",
        arguments: [
            "nme=x", "Name=x", "name=a&name=b", "name=a&name=a", "name=a&n%61me=b", "name=a&", "&name=a", "&", "=x",
            "name=%", "name=%4", "name=%zz", "name=%+1", "name=%00", "name=%C3", "name=%ff", "name=%ED%A0%80",
            "%=x", "limit=1&cursor=2&name=3&x=4", "limit=1&limit=2&cursor=2&name=3", "name[]=x", "n\u{E4}me=x",
        ]
    )
    func refuses(query: String) {
        let error = #expect(throws: Failure.self) { try QueryParameters(query, known: Self.known) }
        #expect(error?.reason == .malformedRequest)
    }

    @Test("a value has 4096 bytes at most, decoded")
    func length() throws {
        let longest = String(repeating: "%41", count: 4096)
        #expect(try QueryParameters("name=" + longest, known: Self.known)[Self.name]?.utf8.count == 4096)
        #expect(throws: Failure.self) { try QueryParameters("name=a" + longest, known: Self.known) }
    }

    @Test("a long query is not split to its end")
    func flood() {
        let query = String(repeating: "&", count: 1_000_000)
        #expect(throws: Failure.self) { try QueryParameters(query, known: Self.known) }
    }

    @Test("whole numbers are read as such")
    func integers() throws {
        func limit(_ text: String) throws -> Int64? {
            try QueryParameters("limit=" + text, known: Self.known).integer(.limit)
        }
        #expect(try limit("50") == 50)
        #expect(try limit("-1") == -1)
        #expect(try QueryParameters("name=x", known: Self.known).integer(.limit) == nil)
        for text in [
            "", "x", "1.0", "1e2", "0x10", "9223372036854775808", "%D9%A1", "1 ", String(repeating: "0", count: 21),
        ] {
            #expect(throws: Failure.self, "\(text)") { try limit(text) }
        }
    }
}
