/// An algorithm by which the service signs tokens (RFC 7518 §3.1).
package enum TokenAlgorithm: String, Sendable, CaseIterable {
    /// ECDSA on P-256 with SHA-256, for the tokens of the setting `tokens`.
    case es256 = "ES256"
    /// RSASSA-PKCS1-v1_5 with SHA-256, for the ID tokens of Firebase's client protocol.
    case rs256 = "RS256"
}
