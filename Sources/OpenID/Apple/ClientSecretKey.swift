import Crypto
import Domain
import Encodings
import FoundationEssentials

/// The key by which the service makes client secrets for Apple (docs/protocols/openid.md §6).
///
/// Such a secret is a token that names the team, the client and the issuer. The service makes one for each request, so
/// none has to be renewed.
struct ClientSecretKey: Sendable {
    private let options: SigningKeyOptions
    private let key: P256.Signing.PrivateKey

    /// The lifetime of a secret in seconds.
    private static let seconds: Int64 = 300

    /// Creates the key; nil if the text is no private key of the curve P-256 in PEM.
    init?(_ options: SigningKeyOptions, pem: Secret) {
        guard let key = Self.read(pem) else { return nil }
        (self.options, self.key) = (options, key)
    }

    /// Reads a private key in PEM, as Apple hands it out in a file `.p8`; nil if the text is none.
    ///
    /// A form of one line, and an environment file, may have lost the line ends.
    static func read(_ pem: Secret) -> P256.Signing.PrivateKey? {
        let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----")
        let text = pem.reveal()
        guard let head = text.firstRange(of: begin), let tail = text.firstRange(of: end),
            head.upperBound <= tail.lowerBound
        else { return nil }
        let base64 = text[head.upperBound..<tail.lowerBound].utf8.filter { $0 > 0x20 }
        return Data(base64Encoded: Data(base64)).flatMap { try? P256.Signing.PrivateKey(derRepresentation: $0) }
    }

    /// Makes the secret of a client.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - issuer: The issuer's URL.
    ///   - now: The time in Unix seconds.
    /// - Returns: The secret.
    /// - Throws: `internal` if the key does not sign.
    func secret(of client: ProviderAppID, at issuer: String, now: Int64) throws(Failure) -> Secret {
        let header: JSONObject = ["alg": .string("ES256"), "kid": .string(options.keyID), "typ": .string("JWT")]
        let claims: JSONObject = [
            "iss": .string(options.teamID), "iat": .integer(now), "exp": .integer(now + Self.seconds),
            "aud": .string(issuer), "sub": .string(client.text),
        ]
        let signed = [header, claims].map { Base64URL.encode(JSONValue.object($0).bytes) }
            .joined(separator: ".")
        guard let signature = try? key.signature(for: Array(signed.utf8)) else {
            throw Failure(.internal, "The client secret could not be made.")
        }
        return Secret("\(signed).\(Base64URL.encode(Array(signature.rawRepresentation)))")
    }
}
