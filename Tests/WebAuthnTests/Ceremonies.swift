import Encodings
import TestSupport
@testable import WebAuthn

/// A relying party, a challenge and a passkey from which the tests start.
enum Ceremonies {
    static let challenge = Array("sixteen bytes and more of it all".utf8)
    static let userHandle = Array("user-0001".utf8)
    static let origin = "https://login.example.org"
    static let origins = ["https://example.org", origin, "android:apk-key-hash:c2hhMjU2"]
    static let keys: Result<[SoftAuthenticator.Algorithm: SoftAuthenticator.Key], any Error> = Result {
        try Dictionary(uniqueKeysWithValues: SoftAuthenticator.Algorithm.allCases.map { ($0, try .init($0)) })
    }

    static func relyingParty(_ verification: RelyingParty.UserVerification = .required) -> RelyingParty {
        RelyingParty(
            id: "example.org",
            name: "Example",
            origins: origins,
            userVerification: verification
        )
    }

    static func authenticator(_ algorithm: SoftAuthenticator.Algorithm = .es256) throws -> SoftAuthenticator {
        guard let key = try keys.get()[algorithm] else { throw CeremonyError.unsupportedKey }
        return SoftAuthenticator(
            key: key,
            relyingPartyID: "example.org",
            origin: origin,
            userHandle: userHandle,
            credentialID: Array("credential 1, made by a software".utf8)
        )
    }

    static func json(_ text: String) throws -> JSONValue {
        try JSONParser.parse(text, limits: .request)
    }
}

extension SoftAuthenticator {
    /// The passkey as the service stores it after the registration.
    var passkey: Passkey {
        Passkey(
            credentialID: credentialID,
            publicKey: key.cose,
            signCount: signCount,
            isBackupEligible: flags.contains(.backupEligible),
            userHandle: userHandle ?? []
        )
    }
}

/// A response, the values to verify it against, and the expected error; nil for a valid response.
struct CeremonyCase: Sendable {
    let name: String
    let response: String
    var challenge = Ceremonies.challenge
    var relyingPartyID = "example.org"
    var origins = Ceremonies.origins
    var verification = RelyingParty.UserVerification.required
    /// The passkey to verify an assertion against; nil for a registration.
    var passkey: Passkey?
    var isUserKnown = true
    let expected: CeremonyError?

    /// Verifies the response and returns the error; nil when the response is accepted.
    func verdict() throws -> CeremonyError? {
        let relyingParty = RelyingParty(
            id: relyingPartyID,
            name: "Example",
            origins: origins,
            userVerification: verification
        )
        let json = try Ceremonies.json(response)
        do throws(CeremonyError) {
            if let passkey {
                let response = try AssertionResponse(json)
                _ = try relyingParty.verify(response, challenge: challenge, passkey: passkey, isUserKnown: isUserKnown)
            } else {
                _ = try relyingParty.register(json, challenge: challenge)
            }
            return nil
        } catch {
            return error
        }
    }
}
