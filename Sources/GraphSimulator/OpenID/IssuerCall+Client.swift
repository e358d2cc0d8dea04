import Crypto
import Encodings

/// The authentication of clients at an issuer.
extension IssuerCall {
    /// Returns the client that the request authenticates.
    ///
    /// - Throws: `invalid_client` also if the client authenticates in another way than the issuer's.
    func client() throws(OAuthError) -> String {
        switch issuer.authentication {
        case .basic:
            guard request.parameter("client_secret") == nil, let client = request.basicClient,
                issuer.clients[client.id]?.hasSameBytes(as: client.secret) ?? false
            else { throw .invalidClient }
            return client.id
        case .post:
            let client = try formClient()
            guard issuer.clients[client.id]?.hasSameBytes(as: client.secret) ?? false else {
                throw .invalidFormClient
            }
            return client.id
        case .apple:
            let client = try formClient()
            guard issuer.clients[client.id] != nil, isSigned(client.secret, for: client.id) else {
                throw OAuthError("invalid_client")
            }
            return client.id
        }
    }

    private func formClient() throws(OAuthError) -> (id: String, secret: String) {
        guard request.basicClient == nil, let id = request.parameter("client_id"),
            let secret = request.parameter("client_secret")
        else { throw .invalidFormClient }
        return (id, secret)
    }

    /// The longest life of a secret that Apple accepts: six months, in seconds.
    private static let longestLife = 15_777_000

    /// Whether a JWT is a secret for the client that the developer signed, as Apple defines it.
    private func isSigned(_ secret: String, for client: String) -> Bool {
        let parts = secret.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard let developer = issuer.clientKey, parts.count == 3,
            let header = Base64URL.decode(parts[0]).flatMap({ try? JSON(parsing: $0) }),
            let claims = Base64URL.decode(parts[1]).flatMap({ try? JSON(parsing: $0) }),
            let bytes = Base64URL.decode(parts[2]),
            header["alg"] == "ES256", header["kid"] == .string(developer.kid),
            claims["iss"] == .string(developer.team), claims["sub"] == .string(client),
            claims["aud"] == .string(identifier),
            let issuedAt = claims["iat"]?.integer, issuedAt <= now,
            let end = claims["exp"]?.integer, end > now, end - now <= Self.longestLife,
            let key = try? P256.Signing.PublicKey(pemRepresentation: developer.publicKey),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes)
        else { return false }
        return key.isValidSignature(signature, for: Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1]))
    }
}
