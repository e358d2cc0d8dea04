import Encodings

/// The largest sizes in bytes of the parts of a response (docs/protocols/webauthn.md §6).
enum Limits {
    /// A credential id has at most 1023 bytes (WebAuthn 5.1).
    static let credentialID = 1023
    /// A user handle has 1 to 64 bytes (WebAuthn 5.4.3).
    static let userHandle = 64
    /// Most of the object is a chain of certificates in the attestation statement, which is skipped.
    static let attestationObject = 32_768
    static let authenticatorData = 4_096
    /// The longest signature is that of an RSA key of 4096 bits.
    static let signature = 512
    /// The client data have a challenge, an origin, and unknown members.
    ///
    /// Clients add unknown members so that no server compares the data as a text.
    static let clientData = JSONLimits(bytes: 4_096, depth: 8, members: 64, keyBytes: 128, asciiKeys: false)
    /// The number of listed transports; six are known.
    static let transports = 16
}
