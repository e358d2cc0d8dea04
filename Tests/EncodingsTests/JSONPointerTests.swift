import Encodings
import Testing

@Suite("JSON pointers")
struct JSONPointerTests {
    @Test("names are escaped as in the examples of RFC 6901 §5")
    func escapes() {
        let document = JSONPointer()
        #expect(document.text.isEmpty)
        #expect((document / "foo" / 0).text == "/foo/0")
        #expect((document / "").text == "/")
        #expect((document / "a/b").text == "/a~1b")
        #expect((document / "m~n").text == "/m~0n")
        #expect((document / "~1").text == "/~01")
        #expect((document / "c%d" / "e^f" / "k\"l" / " ").text == "/c%d/e^f/k\"l/ ")
        #expect(document / "e\u{0301}" != document / "\u{E9}", "names are compared as bytes")
    }

    @Test("a place inside is one behind the other")
    func nested() {
        let outer = JSONPointer() / "mapping" / "facebook"
        #expect(outer / (JSONPointer() / 2 / "to") == JSONPointer() / "mapping" / "facebook" / 2 / "to")
        #expect(outer / JSONPointer() == outer)
    }

    @Test("the same place seen from an outer one")
    func seen() {
        let outer = JSONPointer() / "mapping"
        #expect((outer / 2).seen(from: outer)?.text == "/2")
        #expect(outer.seen(from: outer)?.text == "")
        #expect(outer.seen(from: JSONPointer()) == outer)
        #expect((JSONPointer() / "mappings").seen(from: outer) == nil)
        #expect(JSONPointer().seen(from: outer) == nil)
    }
}
