import Crypto
import CryptoExtras
import Encodings
import FoundationEssentials

/// An RSA key that signs ID tokens.
struct SigningKey: Sendable {
    /// The key id: 40 hexadecimal digits, the SHA-1 of the public key.
    let kid: String
    /// The public key as a JSON Web Key.
    let jwk: JSON
    let key: _RSA.Signing.PrivateKey

    private init(_ key: _RSA.Signing.PrivateKey) throws {
        self.key = key
        kid = Hexadecimal.encode(Insecure.SHA1.hash(data: key.publicKey.derRepresentation))
        let primitives = try key.publicKey.getKeyPrimitives()
        jwk = [
            "kid": .string(kid), "kty": "RSA", "alg": "RS256", "use": "sig",
            "n": .string(Base64URL.encode(Array(primitives.modulus))),
            "e": .string(Base64URL.encode(Array(primitives.publicExponent))),
        ]
    }

    /// Generates a new key, which takes about 100 ms.
    static func generate() throws -> SigningKey {
        try SigningKey(_RSA.Signing.PrivateKey(keySize: .bits2048))
    }

    /// Parses one of ``KnownKeys``.
    fileprivate init(base64: String) throws {
        guard let der = Data(base64Encoded: base64) else {
            throw DataError(path: "keys", reason: "a known key is not base64")
        }
        try self.init(_RSA.Signing.PrivateKey(derRepresentation: der))
    }
}

/// The keys that sign ID tokens.
///
/// The JWKS contains two keys. Retired keys are kept, since clients may still present ID tokens that these keys signed.
struct KeyRing: Sendable {
    /// The published key that the next rotation retires.
    private(set) var older: SigningKey
    /// The published key that signs by default.
    private(set) var newer: SigningKey
    private(set) var retired: [SigningKey] = []
    /// A key that the JWKS never contains, for ID tokens that no client can verify.
    let unpublished: SigningKey

    /// The keys of ``KnownKeys``, parsed once per process.
    private static let initial = Result {
        try KeyRing(
            older: SigningKey(base64: KnownKeys.older),
            newer: SigningKey(base64: KnownKeys.newer),
            unpublished: SigningKey(base64: KnownKeys.unpublished)
        )
    }

    /// Returns the keys with which every simulator starts.
    static func known() throws(DataError) -> KeyRing {
        do {
            return try initial.get()
        } catch {
            throw DataError(path: "keys", reason: "the known keys cannot be read: \(error)")
        }
    }

    /// Publishes a key, and retires the older of the two published keys.
    ///
    /// From now on, the new key signs tokens.
    mutating func rotate(to key: SigningKey) {
        retired.append(older)
        older = newer
        newer = key
    }

    /// Returns the published or retired key with the given id; `nil` if there is none.
    func key(_ kid: String) -> SigningKey? {
        ([older, newer] + retired).first { $0.kid.hasSameBytes(as: kid) }
    }

    /// Returns the claims of an ID token; `nil` unless a published or retired key of this ring signed the token.
    func verifiedClaims(of token: String) -> JSON? {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard token.utf8.count <= 16384, parts.count == 3, let header = Base64URL.decode(parts[0]),
            let kid = (try? JSON(parsing: header))?["kid"]?.string, let key = key(kid),
            let signature = Base64URL.decode(parts[2]), let claims = Base64URL.decode(parts[1]),
            key.key.publicKey.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature),
                for: SHA256.hash(data: Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])),
                padding: .insecurePKCS1v1_5
            )
        else { return nil }
        return try? JSON(parsing: claims)
    }

    /// The published key set: `{"keys":[…]}`.
    var jwks: JSON { ["keys": [older.jwk, newer.jwk]] }
}
