import Encodings

/// The maximum sizes of the parts of an authenticator's response, in bytes (docs/protocols/webauthn.md §6).
enum Limits {
    /// The maximum size of a credential id: 1023 bytes (WebAuthn 5.1).
    static let credentialID = 1023
    /// The maximum size of a user handle, which has 1 to 64 bytes (WebAuthn 5.4.3).
    static let userHandle = 64
    /// The maximum size of an attestation object in bytes.
    ///
    /// Most of the object is a chain of certificates in the attestation statement, which is skipped.
    static let attestationObject = 32_768
    static let authenticatorData = 4_096
    /// The maximum size of a signature: that of an RSA key of 4096 bits.
    static let signature = 512
    /// The limits of the client data's JSON, which has a challenge, an origin, and members that no standard defines.
    ///
    /// Clients add undefined members so that no server compares the data as a text.
    static let clientData = JSONLimits(bytes: 4_096, depth: 8, members: 64, keyBytes: 128, asciiKeys: false)
    /// The maximum number of transports that a client lists; WebAuthn has six.
    static let transports = 16
}
