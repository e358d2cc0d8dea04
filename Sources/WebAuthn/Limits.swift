import Vocabulary

/// The most bytes that parts of a response may have (docs/protocols/webauthn.md §6).
enum Limits {
    /// WebAuthn 5.1: an id has at most 1023 bytes.
    static let credentialID = 1023
    /// WebAuthn 5.4.3: a user handle has 1 to 64 bytes.
    static let userHandle = 64
    /// A chain of certificates in the statement of an attestation, which is skipped, takes most of it.
    static let attestationObject = 32_768
    static let authenticatorData = 4_096
    /// That of an RSA key of 4096 bits is the longest.
    static let signature = 512
    /// A challenge, an origin, and what clients add to try those who compare it as a text.
    static let clientData = JSONLimits(bytes: 4_096, depth: 8, members: 64, keyBytes: 128, asciiKeys: false)
    /// Transports that are listed; six are known.
    static let transports = 16
}
