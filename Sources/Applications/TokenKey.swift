import Crypto
import CryptoExtras
package import Domain
package import Encodings
import FoundationEssentials
package import Secrets
package import Store
import SwiftASN1
import X509

/// A key that signs tokens.
package struct TokenKey: Sendable {
    /// The thumbprint of the public key (RFC 7638).
    package let id: String
    /// The public key as a JWK, without the members that a key set adds (`use`, `alg` and `kid`).
    package let publicKey: JSONObject
    private let key: PrivateKey
    /// The header of each token, in base64url.
    private let header: String

    fileprivate enum PrivateKey: Sendable {
        case p256(P256.Signing.PrivateKey)
        case rsa(_RSA.Signing.PrivateKey)
    }

    /// Generates a key; an RSA key has 2048 bits.
    ///
    /// The cryptographic library draws the random bytes, for the key and for each signature.
    ///
    /// - Throws: `internal`. This does not happen while the system has memory.
    package init(_ algorithm: TokenAlgorithm) throws(Failure) {
        do {
            switch algorithm {
            case .es256: try self.init(key: .p256(P256.Signing.PrivateKey()))
            case .rs256: try self.init(key: .rsa(_RSA.Signing.PrivateKey(keySize: .bits2048)))
            }
        } catch {
            throw Failure(.internal, "The key could not be made.", cause: "\(error)")
        }
    }

    /// Decrypts a stored key; nil when this instance lacks the key's master key.
    package init?(_ stored: StoredTokenKey, masterKeys: MasterKeys) {
        guard
            let secret = masterKeys.open(stored.secret, at: .tokenKey(id: stored.id, application: stored.application)),
            let bytes = Base64URL.decode(secret.reveal().utf8),
            let key = try? PrivateKey(bytes, for: stored.algorithm),
            let made = try? TokenKey(key: key), made.id.hasSameBytes(as: stored.id)
        else { return nil }
        self = made
    }

    private init(key: PrivateKey) throws {
        self.key = key
        publicKey = try key.publicKey
        id = Self.thumbprint(of: publicKey)
        let header: JSONObject = ["alg": .string(key.algorithm.rawValue), "kid": .string(id), "typ": .string("JWT")]
        self.header = Base64URL.encode(JSONValue.object(header).bytes)
    }

    /// Returns the thumbprint of a public key (RFC 7638), whose members are those of §3.2 in their order.
    static func thumbprint(of publicKey: JSONObject) -> String {
        Base64URL.encode(Digest.sha256(JSONValue.object(publicKey).text))
    }

    /// Returns the key in its stored form, for the tokens of an application.
    ///
    /// The public key of an RSA key has a certificate (`x5c`, RFC 7517 §4.7), since some clients take keys in this form
    /// only. The certificate is signed by the key itself.
    ///
    /// - Throws: `internal`. This does not happen with a key that was generated or decrypted.
    package func stored(
        for application: ApplicationID,
        under masterKeys: MasterKeys
    ) throws(Failure) -> NewTokenKey {
        var publicKey = publicKey
        if case .rsa(let key) = key {
            do {
                let certificate = try Self.certificate(of: key, for: application)
                publicKey.append("x5c", .array([.string(Data(certificate).base64EncodedString())]))
            } catch {
                throw Failure(.internal, "The certificate of a key could not be made.", cause: "\(error)")
            }
        }
        let secret = Secret(Base64URL.encode(key.bytes))
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
        let message = header + "." + Base64URL.encode(JSONValue.object(claims).bytes)
        guard let signature = try? key.signature(for: Array(message.utf8)) else {
            throw Failure(.internal, "The token could not be signed.", cause: "the key refused to sign")
        }
        return Secret(message + "." + Base64URL.encode(signature))
    }

    /// Returns a certificate of an RSA key in DER, with ten years of validity.
    private static func certificate(
        of key: _RSA.Signing.PrivateKey,
        for application: ApplicationID
    ) throws -> [UInt8] {
        let key = Certificate.PrivateKey(key)
        let name = try DistinguishedName { CommonName(application.text) }
        let day: TimeInterval = 86_400
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: key.publicKey,
            notValidBefore: .now - day,
            notValidAfter: .now + 3652 * day,
            issuer: name,
            subject: name,
            extensions: Certificate.Extensions(),
            issuerPrivateKey: key
        )
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}

extension TokenKey.PrivateKey {
    fileprivate var algorithm: TokenAlgorithm {
        switch self {
        case .p256: .es256
        case .rsa: .rs256
        }
    }

    /// Reads the stored form of a key: the number of a P-256 key, PKCS#8 in DER of an RSA key.
    fileprivate init(_ bytes: [UInt8], for algorithm: TokenAlgorithm) throws {
        switch algorithm {
        case .es256: self = .p256(try P256.Signing.PrivateKey(rawRepresentation: bytes))
        case .rs256: self = .rsa(try _RSA.Signing.PrivateKey(derRepresentation: bytes))
        }
    }

    fileprivate var bytes: [UInt8] {
        switch self {
        case .p256(let key): Array(key.rawRepresentation)
        case .rsa(let key): Array(key.pkcs8DERRepresentation)
        }
    }

    /// The public key as a JWK with its required members in the order of RFC 7638 §3.3.
    fileprivate var publicKey: JSONObject {
        get throws {
            switch self {
            case .p256(let key):
                let point = Array(key.publicKey.rawRepresentation)
                return [
                    "crv": .string("P-256"), "kty": .string("EC"), "x": .string(Base64URL.encode(Array(point[..<32]))),
                    "y": .string(Base64URL.encode(Array(point[32...]))),
                ]
            case .rsa(let key): return try key.publicKey.jwk
            }
        }
    }

    fileprivate func signature(for message: [UInt8]) throws -> [UInt8] {
        switch self {
        case .p256(let key): Array(try key.signature(for: message).rawRepresentation)
        case .rsa(let key): Array(try key.signature(for: message, padding: .insecurePKCS1v1_5).rawRepresentation)
        }
    }
}

extension _RSA.Signing.PublicKey {
    /// The key as a JWK with its required members in the order of RFC 7638 §3.3.
    var jwk: JSONObject {
        get throws {
            let numbers = try getKeyPrimitives()
            return [
                "e": .string(Base64URL.encode(Array(numbers.publicExponent))), "kty": .string("RSA"),
                "n": .string(Base64URL.encode(Array(numbers.modulus))),
            ]
        }
    }
}

extension StoredTokenKey {
    /// The key's certificate in PEM; nil for a key without one.
    package var certificate: String? {
        publicKey["x5c"]?.array?.first?.string.flatMap { Data(base64Encoded: $0) }.map {
            PEMDocument(type: "CERTIFICATE", derBytes: Array($0)).pemString + "\n"
        }
    }
}
