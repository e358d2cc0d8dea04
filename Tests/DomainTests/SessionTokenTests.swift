import Domain
import Encodings
import Testing

@Suite("Session tokens")
struct SessionTokenTests {
    @Test(
        "base64url follows RFC 4648 §10, without padding",
        arguments: [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ]
    )
    func base64URL(text: String, encoded: String) {
        #expect(Base64URL.encode(Array(text.utf8)) == encoded)
    }

    @Test("its last two characters are - and _")
    func alphabet() {
        #expect(Base64URL.encode([0xFB, 0xFF, 0xBE]) == "-_--")
        #expect(Base64URL.encode([0xFF, 0xFF, 0xFF]) == "____")
        #expect((UInt8.min ... .max).filter(Base64URL.isCharacter).count == 64)
    }

    @Test("a token of 32 bytes is 43 characters, and is recognised when it comes back")
    func roundTrip() throws {
        let token = SessionToken(random: Array(0..<32))
        #expect(token.secret.byteCount == 43)
        #expect(SessionToken(received: token.secret.reveal())?.secret.reveal() == token.secret.reveal())
        #expect("\(token)".contains("AAEC") == false)
    }

    @Test("what cannot be one of ours is not asked for", arguments: ["", "a", "x+/", "é"])
    func others(text: String) {
        #expect(SessionToken(received: text) == nil)
        let padded = text + String(repeating: "a", count: max(0, 43 - text.utf8.count))
        let isPlain = text.utf8.allSatisfy(Base64URL.isCharacter)
        #expect((SessionToken(received: padded) != nil) == isPlain)
        #expect(SessionToken(received: padded + "a") == nil)
    }
}
