import Crypto
import CryptoExtras
import Domain
import Encodings
import FoundationEssentials
@testable import SignedTokens
import Testing

@Suite("Taking an ID token apart, and its signature")
struct SignedTokenTests {
    @Test("a token of Facebook's form is accepted")
    func accepted() throws {
        #expect(try judge(Sample().text).word == "accepted")
    }

    @Test("T-21: without three parts in base64url there is no token (checks 0 and 1)")
    func parts() throws {
        let text = try Sample().text
        let parts = text.split(separator: ".").map(String.init)
        let (header, claims, signature) = (parts[0], parts[1], parts[2])
        for broken in [
            "", ".", "..", header, "\(header).\(claims)", "\(text).", ".\(text)", "\(text).\(signature)",
            "\(header)=.\(claims).\(signature)", "\(header).\(claims)==.\(signature)", "\(text)=", "\(text) ",
            "\(text)\n",
            "\(header).\(claims).\(signature.dropLast())-_+", "\(header) .\(claims).\(signature)", "{}.{}.{}",
            "e30.e30.e30",
            "\(header)..\(signature)", ".\(claims).\(signature)", "Bearer \(text)",
        ] {
            #expect(try judge(broken).word.hasPrefix("credential_invalid "), "\(broken)")
        }
        #expect(try judge("\(text).a.b").word == "credential_invalid 1", "encrypted")
    }

    @Test("a token may have 8 KB, and no byte more (check 0)")
    func size() throws {
        var sample = Sample()
        func text(padding: Int) throws -> String {
            sample.claims = Sample().claims.with(["more": .string(String(repeating: "a", count: padding))])
            return try sample.text
        }
        // Three bytes of claims make four bytes of text.
        let least = try text(padding: 0).utf8.count
        var padding = (SignedToken.longest - least) / 4 * 3 - 3
        while try text(padding: padding + 1).utf8.count <= SignedToken.longest { padding += 1 }
        #expect(try judge(text(padding: padding)).word == "accepted")
        #expect(try judge(text(padding: padding + 1)).word == "credential_invalid 0")
        #expect(try judge(String(repeating: "a", count: 1_000_000)).word == "credential_invalid 0")
    }

    @Test("the last character of a part has no bits to spare: a token has one text (check 0)")
    func spareBits() throws {
        var text = try Sample().text
        // The 256 bytes of a signature leave four bits of the last character unused.
        let last = text.removeLast()
        let other = try #require(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".first { character in
                character != last && Base64URL.decode((text + String(character)).split(separator: ".")[2].utf8) == nil
            }
        )
        #expect(try judge(text + String(other)).word == "credential_invalid 0")
    }

    @Test(
        "T-24: duplicate keys, trailing text and what is no object are refused in header and claims (check 0)",
        arguments: [
            #"{"alg":"RS256","alg":"none","kid":"known"}"#, #"{"alg":"none","alg":"RS256","kid":"known"}"#,
            #"{"alg":"RS256","kid":"known"} "x""#, #"[{"alg":"RS256","kid":"known"}]"#, #""alg""#, "null", "", "{",
            "\u{FEFF}" + #"{"alg":"RS256","kid":"known"}"#, #"{"alg":"RS256","kid":"known",}"#,
        ]
    )
    func header(text: String) throws {
        var sample = Sample()
        sample.headerText = text
        #expect(try judge(sample.text).word == "credential_invalid 0")
    }

    @Test("T-24: duplicate claims are refused although they are signed (check 0)")
    func duplicateClaims() throws {
        let claims = JSONValue.object(Sample().claims).text.dropLast()
        for (extra, isRefused) in [
            (#","sub":"10150000000000002"}"#, true), (#","x":{"a":1,"a":2}}"#, true), (#","x":{"a":1,"b":2}}"#, false),
        ] {
            var sample = Sample()
            sample.claimsText = claims + extra
            #expect(try judge(sample.text).word == (isRefused ? "credential_invalid 0" : "accepted"))
        }
    }

    @Test(
        "T-21, T-22: no algorithm but RS256 (checks 7 and 8)",
        arguments: [
            "none", "None", "nOnE", "NONE", "", "rs256", "RS256 ", " RS256", "RS384", "RS512", "PS256", "ES256",
            "EdDSA",
            "HS256", "HS512", "foo", "RS256\u{0301}",
        ].map(JSONValue.string) + [
            .null, .array([.string("RS256")]), .array([]), .integer(256), .bool(true), .object([:]),
        ]
    )
    func algorithm(name: JSONValue) throws {
        var sample = Sample()
        sample.header = sample.header.with(["alg": name])
        #expect(try judge(sample.text).word == "credential_invalid 7")
    }

    @Test("T-21, T-22: an algorithm is named, and its name has no NUL")
    func noAlgorithm() throws {
        var sample = Sample()
        sample.header = sample.header.with(["alg": nil])
        #expect(try judge(sample.text).word == "credential_invalid 7")
        sample.headerText = #"{"alg":"none\u0000","kid":"known"}"#
        #expect(try judge(sample.text).word == "credential_invalid 0")
    }

    @Test("T-20: an HMAC under the public key, in whatever notation, is no signature (check 8)")
    func keyConfusion() throws {
        let signer = try Signer.known.get()
        let pem = signer.key.publicKey.pemRepresentation
        let pkcs1 = signer.key.publicKey.pkcs1PEMRepresentation
        let secrets: [[UInt8]] = [
            Array(pem.utf8), Array((pem + "\n").utf8), Array(pkcs1.utf8), Array((pkcs1 + "\n").utf8),
            Array(signer.key.publicKey.derRepresentation), Array(signer.key.publicKey.pkcs1DERRepresentation),
            Array(JSONValue.object(try signer.jwk).text.utf8),
            Base64URL.decode(try signer.jwk["n"]?.string?.utf8 ?? "".utf8) ?? [],
        ]
        for algorithm in ["HS256", "RS256"] {
            for secret in secrets {
                var sample = Sample()
                sample.header = sample.header.with(["alg": .string(algorithm)])
                let mac = HMAC<SHA256>.authenticationCode(
                    for: Array(sample.signed.utf8),
                    using: SymmetricKey(data: secret)
                )
                let verdict = try judge(sample.signed + "." + Base64URL.encode(Array(mac)))
                #expect(verdict.word == "credential_invalid \(algorithm == "HS256" ? 7 : 6)")
            }
        }
    }

    @Test(
        "T-23: a header that brings a key along, changes what is signed, or says what nobody here knows is refused, signed or not",
        arguments: ["jku", "jwk", "x5u", "x5c", "crit", "b64", "zip", "enc", "cty", "iss", "url", "exp", "x", "Kid"]
    )
    func keyOfTheToken(name: String) throws {
        for signer in [Signer.known, Signer.stranger] {
            var sample = Sample()
            let value = name == "jwk" ? JSONValue.object(try signer.get().jwk) : .string("http://127.0.0.1:1/keys")
            sample.header = sample.header.with([name: value])
            sample.signer = signer
            #expect(try judge(sample.text).word == "credential_invalid 7")
        }
    }

    @Test("T-23: a kid is a text of 1 to 255 bytes, whatever it says")
    func keyID() throws {
        for value in [
            JSONValue.array([.string("known")]), .integer(1), .null, .string(""),
            .string(String(repeating: "k", count: 256)),
        ] {
            var sample = Sample()
            sample.header = sample.header.with(["kid": value])
            #expect(try judge(sample.text).word == "credential_invalid 6")
        }
        for kid in ["../../dev/null", "' or 1=1--", "http://127.0.0.1:1/", String(repeating: "k", count: 255)] {
            var sample = Sample()
            sample.header = sample.header.with(["kid": .string(kid)])
            #expect(try SignedToken(Secret(sample.text)).keyID == kid)
        }
    }

    @Test(
        "a token of another type is refused; a header without one is Facebook's older form",
        arguments: ["dpop+jwt", "at+jwt", "jwt", ""]
    )
    func type(name: String) throws {
        var sample = Sample()
        sample.header = sample.header.with(["typ": .string(name)])
        #expect(try judge(sample.text).word == "credential_invalid 7")
        sample.header = sample.header.with(["typ": nil])
        #expect(try judge(sample.text).word == "accepted")
    }

    @Test("T-25: the signature is always verified: one bit, another key, none, another's, a shorter one (check 6)")
    func signature() throws {
        let sample = Sample()
        let right = try Signer.known.get().sign(sample.signed)
        var turned = right
        turned[100] ^= 1
        var other = Sample()
        other.claims = other.claims.with(["sub": .string("10150000000000002")])
        for wrong in [
            turned, try Signer.stranger.get().sign(sample.signed), [], try Signer.known.get().sign(other.signed),
            Array(right.dropLast()), [0] + right, right + right, [UInt8](repeating: 0, count: 256),
            [UInt8](repeating: 255, count: 256),
        ] {
            #expect(try judge(sample.signed + "." + Base64URL.encode(wrong)).word == "credential_invalid 6")
        }
        for padding in [_RSA.Signing.Padding.PSS, .insecurePKCS1v1_5] {
            let digest = SHA384.hash(data: Array(sample.signed.utf8))
            let signed = try Signer.known.get().key.signature(for: digest, padding: padding).rawRepresentation
            #expect(try judge(sample.signed + "." + Base64URL.encode(Array(signed))).word == "credential_invalid 6")
        }
    }

    @Test("T-110: neither a message nor a cause repeats a part of the token")
    func canary() throws {
        var sample = Sample()
        sample.header = sample.header.with(["kid": .string("CANARY4711"), "alg": .string("CANARY4711")])
        sample.claims = sample.claims.with(["iss": .string("CANARY4711"), "sub": .string("CANARY4711")])
        for text in [try sample.text, "CANARY4711", "CANARY4711.a.b"] {
            guard case .refused(let failure) = try judge(text) else {
                Issue.record("accepted")
                continue
            }
            #expect(!"\(failure.message) \(failure.cause ?? "") \(failure.details)".contains("CANARY"))
        }
    }
}
