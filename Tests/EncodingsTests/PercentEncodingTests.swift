import Encodings
import Testing

@Suite("Percent-encoding")
struct PercentEncodingTests {
    @Test(
        "any text goes into one segment of a path and comes back",
        arguments: ["", "ios", "a/b c?d#e%2F", "ü😀", "..", "+"]
    )
    func roundTrip(text: String) {
        let segment = PercentEncoding.encode(text)
        #expect(!segment.contains { "/?# ".contains($0) })
        #expect(PercentEncoding.decode(segment[...]) == text)
    }

    @Test("a plus is a space in queries only")
    func plus() {
        #expect(PercentEncoding.decode("a+b") == "a+b")
        #expect(PercentEncoding.decode("a+b", plusIsSpace: true) == "a b")
    }
}
