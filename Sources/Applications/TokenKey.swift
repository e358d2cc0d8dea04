import Crypto
package import Domain
package import Encodings
import FoundationEssentials
package import Secrets
package import Store

/// A key that signs tokens: ECDSA on P-256 with SHA-256 (ES256).
package struct TokenKey: Sendable {
    /// The thumbprint of the public key (RFC 7638).
    package let id: String
    private let key: P256.Signing.PrivateKey

    /// Generates a key.
    ///
    /// The cryptographic library draws the random bytes, for the key and for each signature.
    package init() {
        self.init(key: P256.Signing.PrivateKey())
    }

    /// Decrypts a stored key; nil when this instance lacks the key's master key.
    package init?(_ stored: StoredTokenKey, masterKeys: MasterKeys) {
        guard
            let secret = masterKeys.open(stored.secret, at: .tokenKey(id: stored.id, application: stored.application)),
            let bytes = Base64URL.decode(secret.reveal().utf8),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else { return nil }
        self.init(key: key)
        guard id.hasSameBytes(as: stored.id) else { return nil }
    }

    private init(key: P256.Signing.PrivateKey) {
        self.key = key
        let (x, y) = Self.coordinates(of: key.publicKey)
        // The members that RFC 7638 §3.2 requires, in its order and without white space.
        let members = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        id = Base64URL.encode(Digest.sha256(members))
    }

    /// The public key as a JWK, without the members that a key set adds (`use`, `alg` and `kid`).
    package var publicKey: JSONObject {
        let (x, y) = Self.coordinates(of: key.publicKey)
        return ["kty": .string("EC"), "crv": .string("P-256"), "x": .string(x), "y": .string(y)]
    }

    /// Returns the key in its stored form, for the tokens of an application.
    package func stored(for application: ApplicationID, under masterKeys: MasterKeys) -> NewTokenKey {
        let secret = Secret(Base64URL.encode(Array(key.rawRepresentation)))
        return NewTokenKey(
            id: id,
            application: application,
            secret: masterKeys.encrypt(secret, for: .tokenKey(id: id, application: application)),
            publicKey: publicKey
        )
    }

    /// Returns a signed token that contains the given claims: a JWT in its compact form.
    ///
    /// - Throws: `internal`. This does not happen with a key that was generated or decrypted.
    package func sign(_ claims: JSONObject) throws(Failure) -> Secret {
        let header: JSONObject = ["alg": .string("ES256"), "kid": .string(id), "typ": .string("JWT")]
        let message = [header, claims]
            .map { Base64URL.encode(Array(JSONValue.object($0).text.utf8)) }
            .joined(separator: ".")
        guard let signature = try? key.signature(for: Array(message.utf8)) else {
            throw Failure(.internal, "The token could not be signed.", cause: "P-256 refused to sign")
        }
        return Secret(message + "." + Base64URL.encode(Array(signature.rawRepresentation)))
    }

    private static func coordinates(of key: P256.Signing.PublicKey) -> (x: String, y: String) {
        let bytes = Array(key.rawRepresentation)
        return (Base64URL.encode(Array(bytes.prefix(32))), Base64URL.encode(Array(bytes.dropFirst(32))))
    }
}
