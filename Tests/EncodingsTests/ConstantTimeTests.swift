import Encodings
import Testing

@Suite("Comparing what nobody may guess")
struct ConstantTimeTests {
    @Test("every bit of every byte counts, and so does the length")
    func equality() {
        let secret = Array("a secret of ours".utf8)
        #expect(secret.isEqualInConstantTime(to: Array(secret)))
        #expect([UInt8]().isEqualInConstantTime(to: []))
        for place in secret.indices {
            for bit in 0..<8 {
                var guess = secret
                guess[place] ^= 1 << bit
                #expect(!secret.isEqualInConstantTime(to: guess))
            }
            #expect(!secret.isEqualInConstantTime(to: secret[..<place]))
            #expect(!secret[..<place].isEqualInConstantTime(to: secret))
        }
        // Two differences must not cancel each other out.
        #expect(![1, 2].isEqualInConstantTime(to: [2, 1]))
    }
}
