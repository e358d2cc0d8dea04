import CryptoExtras
import Encodings
import FoundationEssentials
@testable import SignedTokens
import Testing

@Suite("Keys of a JWK set")
struct SigningKeyTests {
    @Test("a key of Facebook's form is taken, and one that leaves out use and alg")
    func taken() throws {
        let jwk = try Signer.known.get().jwk
        for changes in [[:], ["use": nil], ["alg": nil], ["key_ops": .array([.string("verify")])]]
            as [[String: JSONValue?]]
        {
            #expect(SigningKey(jwk: jwk.with(changes))?.id == "known")
        }
        #expect(SigningKey(jwk: jwk.with(["kid": nil]))?.id == "", "the only key of an issuer may have no id")
    }

    @Test("T-26: a key for something else is skipped; what it is for never comes from a token")
    func skipped() throws {
        let jwk = try Signer.known.get().jwk
        let changes: [[String: JSONValue?]] = [
            ["kid": .string("")], ["kid": .integer(1)],
            ["kid": .string(String(repeating: "k", count: 256))],
            ["kty": nil], ["kty": .string("EC")], ["kty": .string("oct")], ["kty": .string("rsa")],
            ["use": .string("enc")], ["use": .null], ["alg": .string("RS512")], ["alg": .string("HS256")],
            ["alg": .array([.string("RS256")])], ["key_ops": .array([.string("encrypt")])],
            ["key_ops": .string("verify")],
            ["n": nil], ["n": .string("")], ["n": .string("AQAB")], ["n": .string("not base64!")], ["n": .integer(3)],
            ["e": nil], ["e": .string("")], ["e": .string("AQ")], ["e": .string("Aw")], ["e": .string("AQAA")],
            ["e": .string("AAEAAQ")], ["e": .string("AQAAAAE")], ["e": .string("AQAB=")],
        ]
        for change in changes { #expect(SigningKey(jwk: jwk.with(change)) == nil, "\(change)") }
    }

    @Test("a key has at least 2048 bits and at most 8192")
    func size() throws {
        func isTaken(bits: Int) throws -> Bool {
            let modulus = [UInt8](repeating: 0xC5, count: bits / 8)
            return SigningKey(jwk: try Signer.known.get().jwk.with(["n": .string(Base64URL.encode(modulus))])) != nil
        }
        #expect(try isTaken(bits: 2048))
        #expect(try isTaken(bits: 8192))
        #expect(try !isTaken(bits: 2040))
        #expect(try !isTaken(bits: 1024))
        #expect(try !isTaken(bits: 8200))
        // 256 bytes without the first bit set are 2047 bits.
        let short = [0x45] + [UInt8](repeating: 0xC5, count: 255)
        #expect(SigningKey(jwk: try Signer.known.get().jwk.with(["n": .string(Base64URL.encode(short))])) == nil)
    }
}
