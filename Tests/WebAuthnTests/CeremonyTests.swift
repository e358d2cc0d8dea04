import Testing
import TestSupport
@testable import WebAuthn

@Suite("Both ceremonies of passkeys")
struct CeremonyTests {
    @Test("a passkey is registered and asserted", arguments: SoftAuthenticator.Algorithm.allCases)
    func right(algorithm: SoftAuthenticator.Algorithm) throws {
        let relyingParty = Ceremonies.relyingParty()
        var authenticator = try Ceremonies.authenticator(algorithm)
        authenticator.flags.formUnion([.backupEligible, .backedUp])
        let registered = try relyingParty.register(
            try Ceremonies.json(authenticator.register(challenge: Ceremonies.challenge)),
            challenge: Ceremonies.challenge
        )
        #expect(registered.credentialID == authenticator.credentialID)
        #expect(registered.publicKey.bytes == authenticator.key.cose)
        #expect(registered.signCount == 0)
        #expect(registered.isUserVerified)
        #expect(registered.isBackupEligible)
        #expect(registered.isBackedUp)
        #expect(registered.transports == [.hybrid, .internal])
        #expect(registered.isDiscoverable == true)
        let passkey = authenticator.passkey
        let response = try AssertionResponse(
            try Ceremonies.json(try authenticator.assert(challenge: Ceremonies.challenge))
        )
        #expect(response.credentialID == authenticator.credentialID)
        #expect(response.userHandle == Ceremonies.userHandle)
        let verified = try relyingParty.verify(
            response,
            challenge: Ceremonies.challenge,
            passkey: passkey,
            isUserKnown: false
        )
        #expect(verified.signCount == 1)
        #expect(verified.isUserVerified)
        #expect(verified.isBackedUp)
    }

    @Test("a registration with one thing wrong fails for that")
    func registrations() throws {
        let cases = try RegistrationCases.all()
        #expect(cases.count > 140)
        for one in cases { #expect(try one.verdict() == one.expected, "\(one.name)") }
    }

    @Test("an assertion with one thing wrong fails for that")
    func assertions() throws {
        let cases = try AssertionCases.all()
        #expect(cases.count > 60)
        for one in cases { #expect(try one.verdict() == one.expected, "\(one.name)") }
    }

    @Test("every reason is among the cases, and none has two names")
    func reasons() throws {
        let seen = Set(try (RegistrationCases.all() + AssertionCases.all()).compactMap(\.expected))
        #expect(seen == Set(CeremonyError.allCases))
    }

    @Test("a key that is kept is canonical, whatever its order was")
    func canonical() throws {
        let rows = PublicKeyCases.rows.filter { $0.expected == nil }
        let authenticator = try Ceremonies.authenticator()
        for row in rows {
            let registered = try Ceremonies.relyingParty().register(
                try Ceremonies.json(authenticator.register(challenge: Ceremonies.challenge, row.change)),
                challenge: Ceremonies.challenge
            )
            let again = try CredentialPublicKey(registered.publicKey.bytes)
            #expect(again.bytes == registered.publicKey.bytes)
            #expect(again.algorithm == registered.publicKey.algorithm)
        }
        let sorted = try CredentialPublicKey(SoftAuthenticator.Key.cose(x: PublicKeyCases.x, y: PublicKeyCases.y))
        let unsorted = try #require(rows.first { $0.name.hasSuffix("in another order") })
        let registered = try Ceremonies.relyingParty().register(
            try Ceremonies.json(authenticator.register(challenge: Ceremonies.challenge, unsorted.change)),
            challenge: Ceremonies.challenge
        )
        #expect(registered.publicKey.bytes == sorted.bytes)
        #expect(throws: CeremonyError.unsupportedKey) { try CredentialPublicKey(sorted.bytes + [0]) }
    }

    @Test("what the client does not tell of discoverability and transports is not known")
    func untold() throws {
        let response = try Ceremonies.authenticator().register(challenge: Ceremonies.challenge) {
            $0.extensionResults = "{}"
            $0.transports = "null"
        }
        let registered = try Ceremonies.relyingParty().register(
            try Ceremonies.json(response),
            challenge: Ceremonies.challenge
        )
        #expect(registered.isDiscoverable == nil)
        #expect(registered.transports == [])
    }
}
