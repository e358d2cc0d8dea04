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

    @Test("a query has its parameters in their order, and no value is part of the syntax")
    func query() {
        let parameters: [(name: String, value: String)] = [("z", "a&b=c d"), ("a", ""), ("z", "+%")]
        let query = PercentEncoding.query(parameters)
        #expect(query == "z=a%26b%3Dc%20d&a=&z=%2B%25")
        let read = EncodedPair.read(query, max: 8)
        #expect(read.map(\.name) == parameters.map(\.name) && read.map(\.value) == parameters.map(\.value))
        #expect(PercentEncoding.query([]).isEmpty)
    }

    @Test("a plus is a space in queries only")
    func plus() {
        #expect(PercentEncoding.decode("a+b") == "a+b")
        #expect(PercentEncoding.decode("a+b", plusIsSpace: true) == "a b")
    }
}
