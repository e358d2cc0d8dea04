package import Crypto
package import Domain
package import Encodings

/// An ID token as received: a compact JWS (RFC 7515 §7.1), split into its parts and not verified yet.
///
/// The claims can be read only with the key that signed them (`claims(signedBy:)`).
package struct SignedToken: Sendable {
    /// The id of the key that should have signed the token: 1 to 255 bytes.
    package let keyID: String
    /// SHA-256 of the signed bytes.
    ///
    /// Two texts with the same digest are the same token, since each of the three parts has only one encoding.
    package let digest: SHA256Digest
    private let claims: [UInt8]
    private let signature: [UInt8]

    /// The largest size of a token in bytes; usual tokens have some 1,200.
    static let longest = 8192
    private static let headerLimits = JSONLimits(bytes: 2048, depth: 4, members: 32, keyBytes: 64, asciiKeys: true)
    /// A list of friends has the most members.
    private static let claimsLimits: JSONLimits = {
        var limits = JSONLimits(bytes: longest, depth: 8, members: 1024, keyBytes: 128, asciiKeys: false)
        // This is for claims of the profile. Claims that identify the user are compared as bytes, or have a form of
        // their own.
        limits.readsUnusableEscapes = true
        return limits
    }()

    /// Splits a token: checks 0, 1, 7 and 8 of docs/security.md#id-tokens, as far as they need no key.
    ///
    /// - Throws: `credential_invalid`.
    package init(_ text: Secret) throws(Failure) {
        let text = Array(text.reveal().utf8)
        let parts = try Self.parts(of: text)
        let header = try Self.object(parts.header, limits: Self.headerLimits, "header")
        try Self.checkAlgorithm(header)
        keyID = try Self.keyID(header)
        claims = parts.claims
        signature = parts.signature
        digest = SHA256.hash(data: text[..<parts.signedEnd])
    }

    /// Returns the claims, after check 6: the key has signed them.
    ///
    /// - Throws: `credential_invalid`.
    package func claims(signedBy key: SigningKey) throws(Failure) -> JSONObject {
        guard key.hasSigned(digest, signature: signature) else {
            throw .untrusted(
                "The signature of this ID token is not its issuer's. Send the token exactly as the SDK gave it.",
                check: 6,
                "the signature does not fit the key"
            )
        }
        return try Self.object(claims, limits: Self.claimsLimits, "claims")
    }

    // MARK: Checks

    /// Checks 0 and 1: the size, and three parts in base64url without padding; a token with five parts is encrypted.
    private static func parts(
        of text: [UInt8]
    ) throws(Failure) -> (header: [UInt8], claims: [UInt8], signature: [UInt8], signedEnd: Int) {
        guard text.count <= longest else { throw malformed(check: 0, "longer than 8 KB") }
        let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 5, omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw malformed(check: parts.count == 5 ? 1 : 0, "not three parts")
        }
        guard let header = Base64URL.decode(parts[0]), let claims = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw malformed(check: 0, "a part is not base64url") }
        return (header, claims, signature, parts[1].endIndex)
    }

    private static func object(
        _ bytes: [UInt8],
        limits: JSONLimits,
        _ part: StaticString
    ) throws(Failure) -> JSONObject {
        guard let object = try? JSONParser.parse(bytes, limits: limits).object else {
            throw malformed(check: 0, "the \(part) are no JSON object without duplicate keys")
        }
        return object
    }

    /// Checks 7 and 8: the only accepted algorithm, and the known members of the header.
    ///
    /// Facebook's headers have the first three of `known` (docs/protocols/facebook.md §4.2). Other members bring a key
    /// along (`jwk`, `jku`, `x5u`), change the meaning of the signed bytes (`b64`, `zip`, `cty`), or demand an
    /// extension (`crit`, RFC 7515 §4.1.11). The meaning of an unknown member cannot be known, so a list of refused
    /// members would never be complete.
    private static func checkAlgorithm(_ header: JSONObject) throws(Failure) {
        guard let algorithm = header["alg"]?.string, algorithm.hasSameBytes(as: "RS256") else {
            throw .untrusted(
                "This ID token is not signed by RS256, which alone is taken. Send the one that the SDK gave.",
                check: 7,
                "alg is not RS256"
            )
        }
        guard header.members.allSatisfy({ member in known.contains { $0.hasSameBytes(as: member.key) } }) else {
            throw malformed(check: 7, "the header has a member that could change what the token means")
        }
        // A proof of possession or an access token in JWT form has another type.
        if let type = header["typ"] {
            guard let type = type.string, type.hasSameBytes(as: "JWT") else {
                throw malformed(check: 7, "typ is not JWT")
            }
        }
    }

    /// The accepted members of a header; the thumbprints of a certificate only name the key once more, and are ignored.
    private static let known = ["alg", "kid", "typ", "x5t", "x5t#S256"]

    private static func keyID(_ header: JSONObject) throws(Failure) -> String {
        guard let keyID = header["kid"]?.string, (1...255).contains(keyID.utf8.count) else {
            throw malformed(check: 6, "no kid")
        }
        return keyID
    }

    private static func malformed(check: Int, _ cause: String) -> Failure {
        .untrusted(
            "This is not a whole ID token. Send the text that the SDK gave (of Facebook's, the AuthenticationToken), unchanged.",
            check: check,
            cause
        )
    }
}

extension Failure {
    /// Returns the failure of an ID token that did not pass a check.
    ///
    /// - Parameters:
    ///   - message: The message for the client.
    ///   - check: The number of the check in docs/security.md#id-tokens.
    ///   - cause: The text for our log; no part of the token.
    /// - Returns: `credential_invalid`.
    package static func untrusted(_ message: String, check: Int, _ cause: String) -> Failure {
        Failure(.credentialInvalid, message, cause: "ID token, check \(check): \(cause)")
    }
}
