import Encodings

/// An algorithm of JWS signatures that the service verifies (RFC 7518 §3.1, RFC 8037 §3.1).
///
/// The list is explicit. It has no algorithm with a shared secret, and not `none`: whoever knows the public key could
/// otherwise sign a token with it.
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// RSASSA-PSS with SHA-256.
    case ps256 = "PS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
    /// ECDSA on P-384 with SHA-384.
    case es384 = "ES384"
    /// Ed25519.
    case edDSA = "EdDSA"
}
