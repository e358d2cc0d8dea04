import Crypto
import CryptoExtras
import Encodings

/// A key by which a simulated issuer signs.
struct IssuerKey: Sendable {
    enum Secret: Sendable {
        case rsa(SigningKey)
        case p256(P256.Signing.PrivateKey)
        case p384(P384.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)
    }

    /// The key's id; `nil` for a key without one.
    let kid: String?
    let secret: Secret

    /// Generates a key, which takes about 100 ms for RSA.
    static func generate(for algorithm: OpenIDAlgorithm, kid: String?) throws -> IssuerKey {
        let secret: Secret =
            switch algorithm {
            case .rs256, .ps256: .rsa(try SigningKey.generate())
            case .es256: .p256(P256.Signing.PrivateKey())
            case .es384: .p384(P384.Signing.PrivateKey())
            case .edDSA: .ed25519(Curve25519.Signing.PrivateKey())
            }
        return IssuerKey(kid: kid, secret: secret)
    }

    /// Whether the key is of the algorithm's kind.
    func fits(_ algorithm: OpenIDAlgorithm) -> Bool {
        switch (secret, algorithm) {
        case (.rsa, .rs256), (.rsa, .ps256), (.p256, .es256), (.p384, .es384), (.ed25519, .edDSA): true
        default: false
        }
    }

    /// The public key as a JSON Web Key for an algorithm.
    func jwk(for algorithm: OpenIDAlgorithm) -> JSON {
        var jwk: JSON
        switch secret {
        case .rsa(let key): jwk = key.jwk
        case .p256(let key): jwk = Self.jwk("P-256", key.publicKey.x963Representation.dropFirst().map { $0 })
        case .p384(let key): jwk = Self.jwk("P-384", key.publicKey.x963Representation.dropFirst().map { $0 })
        case .ed25519(let key):
            let x = Base64URL.encode(Array(key.publicKey.rawRepresentation))
            jwk = ["kty": "OKP", "crv": "Ed25519", "use": "sig", "x": .string(x)]
        }
        jwk["alg"] = .string(algorithm.rawValue)
        jwk["kid"] = kid.map { .string($0) }
        return jwk
    }

    private static func jwk(_ curve: JSON, _ point: [UInt8]) -> JSON {
        let size = point.count / 2
        return [
            "kty": "EC", "crv": curve, "use": "sig", "x": .string(Base64URL.encode(Array(point.prefix(size)))),
            "y": .string(Base64URL.encode(Array(point.suffix(size)))),
        ]
    }

    /// Signs bytes by an algorithm that fits the key.
    func signature(of bytes: [UInt8], by algorithm: OpenIDAlgorithm) throws -> [UInt8] {
        switch secret {
        case .rsa(let key):
            let padding: _RSA.Signing.Padding = algorithm == .ps256 ? .PSS : .insecurePKCS1v1_5
            let signature = try key.key.signature(for: SHA256.hash(data: bytes), padding: padding)
            return Array(signature.rawRepresentation)
        case .p256(let key): return Array(try key.signature(for: bytes).rawRepresentation)
        case .p384(let key): return Array(try key.signature(for: bytes).rawRepresentation)
        case .ed25519(let key): return Array(try key.signature(for: bytes))
        }
    }
}

extension OpenIDAlgorithm {
    /// Returns the value of `at_hash` for an access token (OpenID Connect Core 3.1.3.6).
    ///
    /// It is `nil` for EdDSA, about whose hash issuers disagree.
    func hash(ofAccessToken text: String) -> String? {
        let bytes = Array(text.utf8)
        switch self {
        case .rs256, .ps256, .es256: return Base64URL.encode(Array(SHA256.hash(data: bytes).prefix(16)))
        case .es384: return Base64URL.encode(Array(SHA384.hash(data: bytes).prefix(24)))
        case .edDSA: return nil
        }
    }
}
