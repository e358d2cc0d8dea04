import Crypto
import CryptoExtras
package import Encodings
import FoundationEssentials

/// A public key by which an issuer's tokens are verified.
package struct SigningKey: Sendable {
    /// The id of the key: `kid` in the header of a token; empty if the JWK set gives the key no id.
    package let id: String
    private let key: Key
    /// The only algorithm for which the JWK set allows the key; nil if the JWK set does not say.
    private let algorithm: SignatureAlgorithm?

    private enum Key: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
        case p384(P384.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)

        func fits(_ algorithm: SignatureAlgorithm) -> Bool {
            switch self {
            case .rsa: algorithm == .rs256 || algorithm == .ps256
            case .p256: algorithm == .es256
            case .p384: algorithm == .es384
            case .ed25519: algorithm == .edDSA
            }
        }
    }

    /// Reads a key of a JWK set (RFC 7517, RFC 7518 §6, RFC 8037 §2).
    ///
    /// Returns nil unless the key is for signatures of a ``SignatureAlgorithm``, and has an allowed size.
    package init?(jwk: JSONObject) {
        let id = jwk["kid"] == nil ? "" : jwk["kid"]?.string
        guard let id, id.utf8.count <= 255, jwk["kid"] == nil || !id.utf8.isEmpty, Self.isForSignatures(jwk),
            let key = Self.key(jwk)
        else { return nil }
        let algorithm = jwk["alg"]?.string.flatMap { SignatureAlgorithm(rawValue: $0) }
        guard jwk["alg"] == nil || algorithm.map(key.fits) ?? false else { return nil }
        self.id = id
        self.key = key
        self.algorithm = algorithm
    }

    /// Returns whether this key made a signature by an algorithm.
    ///
    /// The algorithm is the token's. It counts only if the type of the key fits, and if the JWK set allows it.
    func hasSigned(_ bytes: ArraySlice<UInt8>, by algorithm: SignatureAlgorithm, signature: [UInt8]) -> Bool {
        guard key.fits(algorithm), self.algorithm == nil || self.algorithm == algorithm else { return false }
        switch key {
        case .rsa(let key):
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature),
                for: SHA256.hash(data: bytes),
                padding: algorithm == .ps256 ? .PSS : .insecurePKCS1v1_5
            )
        case .p256(let key):
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: SHA256.hash(data: bytes))
        case .p384(let key):
            guard let signature = try? P384.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: SHA384.hash(data: bytes))
        case .ed25519(let key):
            return key.isValidSignature(signature, for: bytes)
        }
    }

    private static func isForSignatures(_ jwk: JSONObject) -> Bool {
        if let use = jwk["use"] {
            guard use.string?.hasSameBytes(as: "sig") ?? false else { return false }
        }
        guard let operations = jwk["key_ops"] else { return true }
        return operations.array?.contains(.string("verify")) ?? false
    }

    private static func key(_ jwk: JSONObject) -> Key? {
        func coordinate(_ name: String, _ bytes: Int) -> [UInt8]? {
            jwk[name]?.string.flatMap { Base64URL.decode($0.utf8) }.flatMap { $0.count == bytes ? $0 : nil }
        }
        switch (jwk["kty"]?.string, jwk["crv"]?.string) {
        case ("RSA", _):
            guard let modulus = number(jwk["n"]), let exponent = number(jwk["e"]), modulusBytes.contains(modulus.count),
                modulus[0] >= 0x80 || modulus.count > modulusBytes.lowerBound, isSane(exponent: exponent)
            else { return nil }
            return (try? _RSA.Signing.PublicKey(n: modulus, e: exponent)).map(Key.rsa)
        case ("EC", "P-256"):
            guard let x = coordinate("x", 32), let y = coordinate("y", 32) else { return nil }
            return (try? P256.Signing.PublicKey(x963Representation: [4] + x + y)).map(Key.p256)
        case ("EC", "P-384"):
            guard let x = coordinate("x", 48), let y = coordinate("y", 48) else { return nil }
            return (try? P384.Signing.PublicKey(x963Representation: [4] + x + y)).map(Key.p384)
        case ("OKP", "Ed25519"):
            guard let x = coordinate("x", 32) else { return nil }
            return (try? Curve25519.Signing.PublicKey(rawRepresentation: x)).map(Key.ed25519)
        default: return nil
        }
    }

    /// The allowed sizes of an RSA modulus in bytes: 2048 to 8192 bits.
    private static let modulusBytes = 256...1024

    /// Returns the bytes of a number in base64url.
    ///
    /// The number has no leading zeros (RFC 7518 §2).
    private static func number(_ value: JSONValue?) -> [UInt8]? {
        guard let text = value?.string, let bytes = Base64URL.decode(text.utf8), let first = bytes.first, first != 0
        else { return nil }
        return bytes
    }

    /// Returns whether an RSA public exponent is odd, at least 65537, and at most 32 bits long.
    private static func isSane(exponent: [UInt8]) -> Bool {
        guard exponent.count <= 4 else { return false }
        let value = exponent.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return value >= 65_537 && value & 1 == 1
    }
}
