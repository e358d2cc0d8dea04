package import Crypto
package import Domain
package import Encodings

/// An ID token that is split into its parts and not verified yet.
///
/// It is a compact JWS (RFC 7515 §7.1).
///
/// The claims can be read only by `claims(signedBy:)`, which verifies the signature.
package struct SignedToken: Sendable {
    /// The id of the key that must have signed the token: 1 to 255 bytes; empty if the header names no key.
    package let keyID: String
    /// The SHA-256 of the signed bytes.
    ///
    /// Two texts with the same digest are the same token, since each of the three parts has only one encoding.
    package let digest: SHA256Digest
    private let algorithm: SignatureAlgorithm
    private let signedBytes: ArraySlice<UInt8>
    private let claims: [UInt8]
    private let signature: [UInt8]

    /// The maximum size of an ID token in bytes.
    ///
    /// Most tokens have some 1,200 bytes.
    static let longest = 8192
    private static let headerLimits = JSONLimits(bytes: 2048, depth: 4, members: 32, keyBytes: 64, asciiKeys: true)
    /// The limits for the JSON of the claims in an ID token.
    ///
    /// The claim with the most members is a list of friends.
    private static let claimsLimits: JSONLimits = {
        var limits = JSONLimits(bytes: longest, depth: 8, members: 1024, keyBytes: 128, asciiKeys: false)
        // This concerns the claims of the profile. A claim that identifies the user is compared as bytes or has a
        // strict form.
        limits.readsUnusableEscapes = true
        return limits
    }()

    /// Splits the text of an ID token into its parts, without verifying the signature.
    ///
    /// The initializer makes checks 0, 1, 7 and 8 of docs/security.md#id-tokens, except for what needs the key.
    ///
    /// - Parameters:
    ///   - text: The text of the token.
    ///   - algorithms: The accepted algorithms.
    ///   - type: The value of `typ` that is accepted besides `JWT`, such as `logout+jwt`.
    ///   - namesKey: Whether the header must name the key. An issuer with a single key may leave that out.
    /// - Throws: `credential_invalid`.
    package init(
        _ text: Secret,
        by algorithms: [SignatureAlgorithm] = [.rs256],
        type: String = "JWT",
        namingKey namesKey: Bool = true
    ) throws(Failure) {
        let text = Array(text.reveal().utf8)
        let parts = try Self.parts(of: text)
        let header = try Self.object(parts.header, limits: Self.headerLimits, "header")
        algorithm = try Self.algorithm(header, among: algorithms, type: type)
        keyID = header["kid"] == nil && !namesKey ? "" : try Self.keyID(header)
        claims = parts.claims
        signature = parts.signature
        signedBytes = text[..<parts.signedEnd]
        digest = SHA256.hash(data: signedBytes)
    }

    /// Verifies the token's signature with a key (check 6) and returns the claims.
    ///
    /// - Throws: `credential_invalid`.
    package func claims(signedBy key: SigningKey) throws(Failure) -> JSONObject {
        guard isSigned(by: key) else {
            throw .untrusted(
                "The signature of this ID token is not valid. Send the token unchanged, as the SDK returned it.",
                check: 6,
                "the signature does not fit the key"
            )
        }
        return try Self.object(claims, limits: Self.claimsLimits, "claims")
    }

    /// The issuer in the claims, before the signature is verified; nil if there is none.
    ///
    /// The issuer only decides whose key must have signed the token.
    package var namedIssuer: String? {
        guard let claims = try? Self.object(claims, limits: Self.claimsLimits, "claims") else { return nil }
        return claims["iss"]?.string
    }

    /// Returns whether a key has signed the token.
    func isSigned(by key: SigningKey) -> Bool { key.hasSigned(signedBytes, by: algorithm, signature: signature) }

    /// Checks a claim that holds the hash of another credential, if the token has the claim (docs/protocols/openid.md
    /// §3).
    ///
    /// The claim is the first half of the hash that belongs to the token's algorithm, in base64url.
    ///
    /// - Parameters:
    ///   - name: The name of the claim, such as `at_hash`.
    ///   - text: The other credential, such as an access token.
    ///   - claims: The token's claims.
    /// - Throws: `credential_invalid`.
    package func checkHash(_ name: String, of text: String, in claims: JSONObject) throws(Failure) {
        guard let claim = claims[name] else { return }
        let bytes = Array(text.utf8)
        let hash: [UInt8] =
            switch algorithm {
            case .rs256, .ps256, .es256: Array(SHA256.hash(data: bytes))
            case .es384: Array(SHA384.hash(data: bytes))
            case .edDSA: Array(SHA512.hash(data: bytes))
            }
        let half = Base64URL.encode(Array(hash.prefix(hash.count / 2)))
        guard let claim = claim.string, claim.utf8.isEqualInConstantTime(to: half.utf8) else {
            throw .untrusted("This ID token belongs to another login.", check: 11, "\(name) does not fit")
        }
    }

    /// Returns whether a text has a dot and begins like a JSON object in base64url.
    ///
    /// In base64url, `{` determines the first character, which is `e`. It limits the second character to the last
    /// quarter of the alphabet.
    package static func hasForm(of text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.first == UInt8(ascii: "e"), let second = bytes.dropFirst().first else { return false }
        return "wxyz0123456789-_".utf8.contains(second) && bytes.contains(UInt8(ascii: "."))
    }

    /// Returns whether a text has the form of an ID token for one of our clients, and not that of an access token.
    ///
    /// An access token may be signed, too. It is for another audience, or says what it is. Nothing is verified here:
    /// the result only decides which checks follow, and each of them is complete.
    package static func isIDToken(byForm text: String, for clients: [ProviderAppID]) -> Bool {
        guard hasForm(of: text), let parts = try? parts(of: Array(text.utf8)),
            let claims = try? object(parts.claims, limits: claimsLimits, "claims")
        else { return false }
        let type = (try? object(parts.header, limits: headerLimits, "header"))?["typ"]?.string ?? ""
        return !["at+jwt", "AT+JWT"].contains(where: { $0.hasSameBytes(as: type) }) && !claims.isOfAccessToken
            && claims.audiences.contains { name in clients.contains { $0.text.hasSameBytes(as: name) } }
    }

    // MARK: Checks

    /// Makes checks 0 and 1: the token is not too long, and has three parts in base64url without padding.
    ///
    /// A token with five parts is encrypted and refused.
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

    /// Makes checks 7 and 8: the header names an accepted algorithm and has no unknown member.
    ///
    /// Facebook's headers have the first three members of `known` (docs/protocols/facebook.md §4.2). Some other members
    /// contain a key (`jwk`, `jku`, `x5u`), change the meaning of the signed bytes (`b64`, `zip`, `cty`), or require an
    /// extension (`crit`, RFC 7515 §4.1.11). A list of refused members would never be complete, since an unknown member
    /// can have any meaning.
    private static func algorithm(
        _ header: JSONObject,
        among algorithms: [SignatureAlgorithm],
        type: String
    ) throws(Failure) -> SignatureAlgorithm {
        let name = header["alg"]?.string ?? ""
        guard let algorithm = algorithms.first(where: { $0.rawValue.hasSameBytes(as: name) }) else {
            let names = algorithms.map(\.rawValue).joined(separator: ", ")
            throw .untrusted(
                "This ID token is not signed with \(names). Send the token that the SDK returned.",
                check: 7,
                "alg is not \(names)"
            )
        }
        guard header.members.allSatisfy({ member in known.contains { $0.hasSameBytes(as: member.key) } }) else {
            throw malformed(check: 7, "the header has a member that could change what the token means")
        }
        // A proof of possession and an access token in JWT form have another type.
        if let given = header["typ"] {
            guard let given = given.string, given.hasSameBytes(as: "JWT") || given.hasSameBytes(as: type) else {
                throw malformed(check: 7, "typ is not \(type)")
            }
        }
        return algorithm
    }

    /// The names of the accepted members of a token's header.
    ///
    /// The thumbprints of a certificate (`x5t`, `x5t#S256`) identify the same key again, and are ignored.
    private static let known = ["alg", "kid", "typ", "x5t", "x5t#S256"]

    private static func keyID(_ header: JSONObject) throws(Failure) -> String {
        guard let keyID = header["kid"]?.string, (1...255).contains(keyID.utf8.count) else {
            throw malformed(check: 6, "no kid")
        }
        return keyID
    }

    private static func malformed(check: Int, _ cause: String) -> Failure {
        .untrusted(
            """
            This is not a complete ID token. Send the token unchanged, as the SDK returned it (with Facebook, the \
            AuthenticationToken).
            """,
            check: check,
            cause
        )
    }
}

extension Failure {
    /// Returns the failure for an ID token that did not pass a check.
    ///
    /// - Parameters:
    ///   - message: The message for the client.
    ///   - check: The number of the check in docs/security.md#id-tokens.
    ///   - cause: The text for the service's log, which contains no part of the token.
    /// - Returns: `credential_invalid`.
    package static func untrusted(_ message: String, check: Int, _ cause: String) -> Failure {
        Failure(.credentialInvalid, message, cause: "ID token, check \(check): \(cause)")
    }
}
