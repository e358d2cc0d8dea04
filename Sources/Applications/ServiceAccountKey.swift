import CryptoExtras
package import Domain
package import Encodings
import Secrets

/// The RSA key of a new service account.
package struct ServiceAccountKey: Sendable {
    /// The id of the key, in hex: it follows from the public key.
    package let id: String
    /// The public key, a JWK.
    package let publicKey: JSONObject
    /// The private key: PKCS#8 in PEM.
    package let pem: Secret

    /// Generates a key of 2048 bits.
    ///
    /// The cryptographic library draws the random bytes.
    ///
    /// - Throws: `internal`. This does not happen while the system has memory.
    package init() throws(Failure) {
        do {
            let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
            publicKey = try key.publicKey.jwk
            pem = Secret(key.pkcs8PEMRepresentation + "\n")
        } catch {
            throw Failure(.internal, "The key could not be made.", cause: "\(error)")
        }
        id = Hexadecimal.encode(Digest.sha256(JSONValue.object(publicKey).text).prefix(20))
    }
}
