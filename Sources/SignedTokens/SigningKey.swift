import Crypto
import CryptoExtras
package import Encodings
import FoundationEssentials

/// A public key by which a provider's ID tokens are verified.
package struct SigningKey: Sendable {
    /// The id of the key: `kid` in the header of a token.
    package let id: String
    private let key: _RSA.Signing.PublicKey

    /// Reads a key of a JWK set (RFC 7517).
    ///
    /// Returns nil unless the key is an RSA key of an allowed size for RS256 signatures. The algorithm comes from the
    /// JWK set, never from a token.
    package init?(jwk: JSONObject) {
        guard let id = jwk["kid"]?.string, (1...255).contains(id.utf8.count), Self.isForRS256(jwk),
            let modulus = Self.number(jwk["n"]), let exponent = Self.number(jwk["e"]),
            Self.modulusBytes.contains(modulus.count),
            modulus[0] >= 0x80 || modulus.count > Self.modulusBytes.lowerBound,
            Self.isSane(exponent: exponent),
            let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent)
        else { return nil }
        self.id = id
        self.key = key
    }

    /// The allowed sizes of an RSA modulus in bytes: 2048 to 8192 bits.
    private static let modulusBytes = 256...1024

    /// Returns whether this key made a signature, by RSASSA-PKCS1-v1_5 with SHA-256.
    func hasSigned(_ digest: SHA256Digest, signature: [UInt8]) -> Bool {
        key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature),
            for: digest,
            padding: .insecurePKCS1v1_5
        )
    }

    private static func isForRS256(_ jwk: JSONObject) -> Bool {
        func isAbsent(_ name: String, or value: String) -> Bool {
            guard let member = jwk[name] else { return true }
            return member.string?.hasSameBytes(as: value) ?? false
        }
        guard jwk["kty"]?.string?.hasSameBytes(as: "RSA") ?? false else { return false }
        if let operations = jwk["key_ops"] {
            guard operations.array?.contains(.string("verify")) ?? false else { return false }
        }
        return isAbsent("use", or: "sig") && isAbsent("alg", or: "RS256")
    }

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
