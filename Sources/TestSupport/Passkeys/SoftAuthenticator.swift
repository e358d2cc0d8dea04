package import Crypto
package import CryptoExtras

/// A WebAuthn authenticator in software, together with the browser that calls it.
///
/// The authenticator has one passkey, and performs registrations and assertions with it. The responses are JSON as from
/// a browser's `toJSON()`. A response is valid unless a test changes its draft. The draft contains every part of the
/// response, before the hashes and the signature are computed. The authenticator parses nothing, and writes its CBOR
/// and JSON by hand. So it shares no code with the code under test.
package struct SoftAuthenticator: Sendable {
    package enum Algorithm: String, Sendable, CaseIterable {
        case es256, edDSA, rs256
    }

    /// The private key of a passkey.
    package enum Key: Sendable {
        case es256(P256.Signing.PrivateKey)
        case edDSA(Curve25519.Signing.PrivateKey)
        case rs256(_RSA.Signing.PrivateKey)

        package init(_ algorithm: Algorithm) throws {
            switch algorithm {
            case .es256: self = .es256(P256.Signing.PrivateKey())
            case .edDSA: self = .edDSA(Curve25519.Signing.PrivateKey())
            case .rs256: self = .rs256(try _RSA.Signing.PrivateKey(keySize: .bits2048))
            }
        }
    }

    /// The flags of authenticator data (WebAuthn, 6.1).
    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let userPresent = Flags(rawValue: 0x01)
        package static let userVerified = Flags(rawValue: 0x04)
        package static let backupEligible = Flags(rawValue: 0x08)
        package static let backedUp = Flags(rawValue: 0x10)
        package static let attestedCredential = Flags(rawValue: 0x40)
        package static let extensions = Flags(rawValue: 0x80)
    }

    package let key: Key
    package var relyingPartyID: String
    package var origin: String
    package var credentialID: [UInt8]
    /// The user handle that assertions contain; `nil` for a passkey that is not discoverable.
    package var userHandle: [UInt8]?
    package var flags: Flags = [.userPresent, .userVerified]
    /// The signature counter of the passkey.
    ///
    /// It grows by one with each assertion. If ``counts`` is false, it does not grow, as with synced passkeys.
    package var signCount: UInt32 = 0
    package var counts = true

    /// Makes an authenticator with a passkey that has the given user handle.
    ///
    /// The origin is that of the web page or the app that calls the authenticator. By default, the credential id is 32
    /// random bytes.
    package init(
        key: Key,
        relyingPartyID: String,
        origin: String,
        userHandle: [UInt8]?,
        credentialID: [UInt8]? = nil
    ) {
        self.key = key
        self.relyingPartyID = relyingPartyID
        self.origin = origin
        self.userHandle = userHandle
        var generator = SystemRandomNumberGenerator()
        self.credentialID = credentialID ?? (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// Registers the passkey, and returns the response that a browser would send to the server.
    ///
    /// - Parameters:
    ///   - challenge: The challenge from the server's registration options.
    ///   - change: Changes the draft of the response.
    /// - Returns: A RegistrationResponseJSON.
    package func register(
        challenge: [UInt8],
        _ change: (inout RegistrationDraft) -> Void = { _ in }
    ) -> String {
        var draft = RegistrationDraft(
            credentialID: credentialID,
            clientData: ClientDataDraft(type: "webauthn.create", challenge: challenge, origin: origin),
            data: AuthenticatorDataDraft(
                relyingPartyID: relyingPartyID,
                flags: flags.union(.attestedCredential),
                signCount: signCount,
                credentialID: credentialID,
                publicKey: key.cose
            )
        )
        change(&draft)
        return draft.json
    }

    /// Signs a challenge with the passkey, and returns the response that a browser would send to the server.
    ///
    /// - Parameters:
    ///   - challenge: The challenge from the server's options.
    ///   - change: Changes the draft of the response.
    /// - Returns: An AuthenticationResponseJSON.
    /// - Throws: An error of the signing key.
    package mutating func assert(
        challenge: [UInt8],
        _ change: (inout AssertionDraft) -> Void = { _ in }
    ) throws -> String {
        if counts { signCount &+= 1 }
        var draft = AssertionDraft(
            credentialID: credentialID,
            clientData: ClientDataDraft(type: "webauthn.get", challenge: challenge, origin: origin),
            data: AuthenticatorDataDraft(
                relyingPartyID: relyingPartyID,
                flags: flags,
                signCount: signCount,
                credentialID: credentialID,
                publicKey: key.cose
            ),
            userHandle: userHandle
        )
        change(&draft)
        return try draft.json(signedBy: key)
    }
}

extension SoftAuthenticator.Key {
    /// The public key in COSE, in the canonical form of CTAP2.
    package var cose: [UInt8] {
        switch self {
        case .es256(let key):
            let point = Array(key.publicKey.rawRepresentation)
            return Self.cose(x: Array(point[..<32]), y: Array(point[32...]))
        case .edDSA(let key):
            let point = Array(key.publicKey.rawRepresentation)
            return [0xA4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21] + CBORText.bytes(point)
        case .rs256(let key):
            guard let numbers = try? key.publicKey.getKeyPrimitives() else { return [] }
            return Self.cose(modulus: Array(numbers.modulus), exponent: Array(numbers.publicExponent))
        }
    }

    /// Returns the COSE key for ES256 with the given coordinates of the public key.
    package static func cose(x: [UInt8], y: [UInt8]) -> [UInt8] {
        [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21] + CBORText.bytes(x) + [0x22] + CBORText.bytes(y)
    }

    /// Returns the COSE key for RS256 with the given modulus and exponent of the public key.
    package static func cose(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        [0xA4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20] + CBORText.bytes(modulus) + [0x21] + CBORText.bytes(exponent)
    }

    /// Signs a message with the algorithm of this key.
    ///
    /// As WebAuthn requires for assertions, an ES256 signature is in DER.
    package func signature(of message: [UInt8]) throws -> [UInt8] {
        switch self {
        case .es256(let key): Array(try key.signature(for: message).derRepresentation)
        case .edDSA(let key): Array(try key.signature(for: message))
        case .rs256(let key):
            Array(try key.signature(for: SHA256.hash(data: message), padding: .insecurePKCS1v1_5).rawRepresentation)
        }
    }
}
