import Encodings
import Testing

@Suite("Hexadecimal digits")
struct HexadecimalTests {
    @Test("every byte is written in lower case, and read in either")
    func roundTrip() {
        let bytes = Array(UInt8.min...UInt8.max)
        let text = Hexadecimal.encode(bytes)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff"))
        #expect(Hexadecimal.decode(text.utf8) == bytes)
        #expect(Hexadecimal.decode(text.uppercased().utf8) == bytes)
        #expect(Hexadecimal.decode("".utf8) == [])
    }

    @Test(
        "nothing else is read",
        arguments: ["0", "abc", "0g", "g0", " 00", "0x", "-1", "+1", "00é", "/0", ":0", "@0", "`0"]
    )
    func refused(text: String) {
        #expect(Hexadecimal.decode(text.utf8) == nil)
    }
}
