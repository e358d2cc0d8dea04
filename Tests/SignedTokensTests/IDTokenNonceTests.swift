import Crypto
import Domain
import Encodings
@testable import SignedTokens
import Testing

@Suite("The nonce of an ID token (check 11, T-27)")
struct IDTokenNonceTests {
    /// The SHA-256 of `n-0S6` in hex.
    private static let hashed = SHA256.hash(data: Array("n-0S6".utf8)).map {
        ($0 < 16 ? "0" : "") + String($0, radix: 16)
    }.joined()

    private func word(
        claim: JSONValue?,
        given: String?,
        policy: NoncePolicy,
        bound: Bool = false
    ) throws -> String {
        var sample = Sample()
        sample.claims = sample.claims.with([
            "nonce": claim, "cnf": bound ? .object(["jkt": .string("0ZcOCORZNYy")]) : nil,
        ])
        return try judge(sample.text, nonce: given, policy: policy).word
    }

    @Test(
        "clientMade: a nonce that the request gives is the token's, raw or as SHA-256 in hex",
        arguments: [false, true]
    )
    func clientMade(bound: Bool) throws {
        for claim in ["n-0S6", Self.hashed] {
            #expect(try word(claim: .string(claim), given: "n-0S6", policy: .clientMade, bound: bound) == "accepted")
        }
        for (claim, given) in [
            ("n-0S6", "n-0s6"), ("n-0S6", "n-0S6 "), ("n-0S6", "n-0S"), ("n-0S6", Self.hashed), ("n-0S6", "n"),
            (Self.hashed.uppercased(), "n-0S6"), (String(Self.hashed.dropLast()), "n-0S6"), ("", "n-0S6"),
            ("n-0S6\u{0301}", "n-0S6"),
        ] {
            let word = try word(claim: .string(claim), given: given, policy: .clientMade, bound: bound)
            #expect(word == "credential_invalid 11", "\(claim) \(given)")
        }
        #expect(try word(claim: nil, given: "n", policy: .clientMade, bound: bound) == "credential_invalid 11")
    }

    @Test("clientMade: without a nonce in the request the token counts by itself, unless a key of the device is in it")
    func clientMadeWithout() throws {
        for claim in [.string("n-0S6"), .string(""), nil] as [JSONValue?] {
            #expect(try word(claim: claim, given: nil, policy: .clientMade) == "accepted")
            #expect(try word(claim: claim, given: nil, policy: .clientMade, bound: true) == "credential_invalid 11")
        }
    }

    @Test("off: nothing is asked of a token with a key of the device; others are held to clientMade")
    func off() throws {
        for claim in [.string("n-0S6"), .string(""), nil] as [JSONValue?] {
            for given in ["n-0S6", "other", nil] as [String?] {
                #expect(try word(claim: claim, given: given, policy: .off, bound: true) == "accepted")
                #expect(
                    try word(claim: claim, given: given, policy: .off)
                        == word(claim: claim, given: given, policy: .clientMade)
                )
            }
        }
    }

    @Test("serverIssued: there is a nonce, and the one that must be ours is told", arguments: [false, true])
    func serverIssued(bound: Bool) throws {
        func nonce(claim: String, given: String?) throws -> String? {
            var sample = Sample()
            sample.claims = sample.claims.with(["nonce": .string(claim)])
            return try judge(sample.text, nonce: given, policy: .serverIssued).accepted?.serverNonce?.reveal()
        }
        #expect(try nonce(claim: "n-0S6", given: nil) == "n-0S6")
        #expect(try nonce(claim: "n-0S6", given: "n-0S6") == "n-0S6")
        #expect(try nonce(claim: Self.hashed, given: "n-0S6") == "n-0S6", "hashed on the way to Facebook")
        for (claim, given) in [(nil, nil), (.string(""), nil), (.string(""), "n"), (nil, "n"), (.string("a"), "n")]
            as [(JSONValue?, String?)]
        {
            let word = try word(claim: claim, given: given, policy: .serverIssued, bound: bound)
            #expect(word == "credential_invalid 11")
        }
    }

    @Test("a nonce is a text, whatever the policy", arguments: NoncePolicy.allCases)
    func types(policy: NoncePolicy) throws {
        for claim in [JSONValue.integer(1), .null, .array([.string("n-0S6")])] {
            #expect(try word(claim: claim, given: "n-0S6", policy: policy) == "credential_invalid 11")
        }
    }
}

@Suite("Nonces that we give out (T-27)")
struct ServerNonceTests {
    private let key = SymmetricKey(data: [UInt8](repeating: 7, count: 32))
    private let application = ApplicationID("demo")
    private let provider = ProviderName(known: "facebook")
    private let now = Sample.now

    private func nonce(_ seed: UInt8 = 1) throws -> Secret {
        let random = [UInt8](repeating: seed, count: ServerNonce.randomBytes)
        return ServerNonce.make(random: random, by: provider, for: try #require(application), now: now, key: key)
    }

    private func isOurs(
        _ nonce: Secret,
        later: Int64 = 0,
        of id: String = "demo",
        by other: ProviderName? = nil,
        keys: [SymmetricKey]? = nil
    ) throws -> Bool {
        let application = try #require(ApplicationID(id[...]))
        return ServerNonce.isOurs(
            nonce,
            by: other ?? provider,
            of: application,
            now: now + later,
            keys: keys ?? [key]
        )
    }

    @Test("it has 43 characters, and no two are the same")
    func form() throws {
        let text = try nonce().reveal()
        #expect(text.utf8.count == 43 && text.utf8.allSatisfy(Base64URL.isCharacter))
        #expect(try nonce(2).reveal() != text)
    }

    @Test("it counts for ten minutes, by clocks that differ by a minute at most")
    func time() throws {
        for (later, isOurs) in [(0, true), (600, true), (601, false), (-60, true), (-61, false), (86_400, false)]
            as [(Int64, Bool)]
        {
            #expect(try self.isOurs(nonce(), later: later) == isOurs, "\(later)")
        }
    }

    @Test("it is the application's and the provider's alone, under a present or a former key of ours")
    func owner() throws {
        let other = SymmetricKey(data: [UInt8](repeating: 8, count: 32))
        #expect(try !isOurs(nonce(), of: "demo2"))
        #expect(try !isOurs(nonce(), by: .init(known: "staff")))
        #expect(try isOurs(nonce(), keys: [other, key]))
        #expect(try !isOurs(nonce(), keys: [other]))
        #expect(try !isOurs(nonce(), keys: []))
    }

    @Test("no bit of it can be changed, and nothing else is one")
    func changed() throws {
        let bytes = try #require(Base64URL.decode(try nonce().reveal().utf8))
        for bit in 0..<256 {
            var changed = bytes
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(try !isOurs(Secret(Base64URL.encode(changed))), "bit \(bit)")
        }
        let text = try nonce().reveal()
        for other in ["", "n", text + "A", text + "=", String(text.dropLast()), " " + text, text.uppercased()] {
            #expect(try !isOurs(Secret(other)))
        }
    }
}
