import Encodings
import Testing
import TestSupport
@testable import WebAuthn

/// Tests with any bytes: each input is accepted or refused, and none crashes or blocks the process.
@Suite("Any bytes")
struct AnyBytesTests {
    @Test("responses that end at any byte, or are for another RP id, are refused")
    func everyByte() throws {
        for algorithm in SoftAuthenticator.Algorithm.allCases {
            let authenticator = try Ceremonies.authenticator(algorithm)
            var whole: [UInt8] =
                [0xA3] + CBORText.text("fmt") + CBORText.text("none") + CBORText.text("attStmt") + [0xA0]
            _ = authenticator.register(challenge: Ceremonies.challenge) { draft in
                whole += CBORText.text("authData") + CBORText.bytes(draft.data.bytes)
            }
            func verdict(_ bytes: [UInt8]) throws -> CeremonyError? {
                try CeremonyCase(
                    name: "",
                    response: authenticator.register(challenge: Ceremonies.challenge) { $0.rewrite = { _ in bytes } },
                    expected: nil
                ).verdict()
            }
            #expect(try verdict(whole) == nil)
            for end in whole.indices {
                #expect(try verdict(Array(whole[..<end])) != nil, "\(algorithm) ends at \(end)")
            }
            // With all three algorithms these bytes belong to the hash of the RP id.
            for index in 31..<62 {
                var bytes = whole
                bytes[index] ^= 1
                #expect(try verdict(bytes) == .wrongRelyingParty, "\(algorithm) \(index)")
            }
        }
    }

    @Test("an assertion that ends at any byte is refused")
    func assertions() throws {
        for algorithm in SoftAuthenticator.Algorithm.allCases {
            var authenticator = try Ceremonies.authenticator(algorithm)
            let passkey = authenticator.passkey
            func verdict(_ change: (inout SoftAuthenticator.AssertionDraft) -> Void) throws -> CeremonyError? {
                try CeremonyCase(
                    name: "",
                    response: try authenticator.assert(challenge: Ceremonies.challenge, change),
                    passkey: passkey,
                    expected: nil
                ).verdict()
            }
            for end in 0..<37 {
                #expect(try verdict { $0.data.rewrite = { Array($0[..<end]) } } == .malformedAuthenticatorData)
            }
            for end in 0..<64 {
                #expect(try verdict { $0.rewriteSignature = { Array($0[..<end]) } } == .invalidSignature)
            }
            for end in 0..<100 {
                #expect(try verdict { $0.clientData.rewrite = { Array($0[..<end]) } } == .malformedClientData)
            }
        }
    }

    @Test("150,000 mutated and random inputs are read or refused")
    func mutations() throws {
        var random = SeededRandom(20_261_123)
        let seeds = try seeds()
        var taken = 0
        for round in 0..<150_000 {
            let bytes =
                round % 5 == 4 ? Mutation.random(&random) : Mutation.mutated(seeds[round % seeds.count], &random)
            var reader = CBORReader(bytes[...])
            // The remainder after an item is shorter than the input.
            if (try? reader.skip()) != nil { #expect(reader.remainder.count < bytes.count) }
            if let key = try? CredentialPublicKey(bytes) {
                #expect(key.bytes.count == bytes.count)
                taken += 1
            }
            if let data = try? AuthenticatorData(bytes[...]) {
                #expect(data.relyingPartyHash.count == 32)
                taken += 1
            }
            if let data = try? RelyingParty.authenticatorData(of: bytes) {
                #expect(data.count < bytes.count)
                taken += 1
            }
        }
        // Tests of mutations that are all invalid would show nothing.
        #expect(taken > 1000)
    }

    @Test("20,000 mutated responses in JSON are taken or refused, and none is taken with another signature")
    func responses() throws {
        var random = SeededRandom(7)
        var authenticator = try Ceremonies.authenticator()
        let passkey = authenticator.passkey
        let registration = Array(authenticator.register(challenge: Ceremonies.challenge).utf8)
        let assertion = Array(try authenticator.assert(challenge: Ceremonies.challenge).utf8)
        for round in 0..<20_000 {
            let isAssertion = round % 2 == 0
            let bytes = Mutation.mutated(isAssertion ? assertion : registration, &random)
            guard let json = try? JSONParser.parse(bytes, limits: .request) else { continue }
            if isAssertion {
                guard let response = try? AssertionResponse(json) else { continue }
                let verified = try? Ceremonies.relyingParty().verify(
                    response,
                    challenge: Ceremonies.challenge,
                    passkey: passkey,
                    isUserKnown: true
                )
                #expect(verified == nil || verified?.signCount == 1)
            } else {
                _ = try? Ceremonies.relyingParty().register(json, challenge: Ceremonies.challenge)
            }
        }
    }

    /// Returns attestation objects, authenticator data and public keys of all kinds.
    private func seeds() throws -> [[UInt8]] {
        var seeds = try VectorTests.vectors.get().compactMap { $0.registration["attestationObject"] }
        seeds += try VectorTests.vectors.get().compactMap { $0.assertion["authenticatorData"] }
        for algorithm in SoftAuthenticator.Algorithm.allCases {
            let authenticator = try Ceremonies.authenticator(algorithm)
            seeds.append(authenticator.key.cose)
            _ = authenticator.register(challenge: Ceremonies.challenge) { draft in
                draft.data.flags.insert(.extensions)
                seeds.append(draft.data.bytes)
            }
        }
        return seeds
    }
}
