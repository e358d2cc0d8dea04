@testable import Encodings
import Testing

@Suite("base64url")
struct Base64URLTests {
    @Test("what was encoded is decoded, whatever its length")
    func roundTrip() {
        for count in 0...70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 250) }
            let text = Base64URL.encode(bytes)
            #expect(text.utf8.allSatisfy(Base64URL.isCharacter))
            #expect(Base64URL.decode(text.utf8) == bytes)
        }
    }

    @Test("the vectors of RFC 4648 §10, without padding")
    func vectors() {
        for (text, bytes) in [("", ""), ("Zg", "f"), ("Zm8", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")] {
            #expect(Base64URL.decode(text.utf8) == Array(bytes.utf8))
        }
        #expect(Base64URL.decode("-_-_".utf8) == [0xFB, 0xFF, 0xBF])
    }

    @Test(
        "bytes have one way to be written",
        arguments: [
            "Zg==", "Zm8=", "Zh", "Zm9", "Z", "Zm9vY", "+/+/", "Zm 8", "Zm8\n", "Zm8\u{0}", "Zm8é", "=", " ", "Zm8.",
        ]
    )
    func refused(text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
    }
}
