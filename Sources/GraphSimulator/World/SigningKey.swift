import Crypto
import CryptoExtras
import FoundationEssentials

/// One RSA key that signs ID tokens.
struct SigningKey: Sendable {
    /// 40 hexadecimal digits: the SHA-1 of the public key.
    let kid: String
    /// The public half as a JSON Web Key.
    let jwk: JSON
    let key: _RSA.Signing.PrivateKey

    private init(_ key: _RSA.Signing.PrivateKey) throws {
        self.key = key
        kid = Hexadecimal.encode(Insecure.SHA1.hash(data: key.publicKey.derRepresentation))
        let primitives = try key.publicKey.getKeyPrimitives()
        jwk = [
            "kid": .string(kid), "kty": "RSA", "alg": "RS256", "use": "sig",
            "n": .string(Base64URL.encode(primitives.modulus)),
            "e": .string(Base64URL.encode(primitives.publicExponent)),
        ]
    }

    /// A key nobody has seen before; takes some 100 ms.
    static func generate() throws -> SigningKey {
        try SigningKey(_RSA.Signing.PrivateKey(keySize: .bits2048))
    }

    /// Reads one of ``KnownKeys``.
    fileprivate init(base64: String) throws {
        guard let der = Data(base64Encoded: base64) else {
            throw DataError(path: "keys", reason: "a known key is not base64")
        }
        try self.init(_RSA.Signing.PrivateKey(derRepresentation: der))
    }
}

/// The keys behind the JWKS: always two published, and those that were, for tokens that outlive a rotation.
struct KeyRing: Sendable {
    /// Published, and the first to go.
    private(set) var older: SigningKey
    /// Published, and what signs unless another is asked for.
    private(set) var newer: SigningKey
    private(set) var retired: [SigningKey] = []
    /// Signs as well as the others and is in no JWKS.
    let unpublished: SigningKey

    /// The ring of ``KnownKeys``, read once in the life of the process.
    private static let initial = Result {
        try KeyRing(
            older: SigningKey(base64: KnownKeys.older),
            newer: SigningKey(base64: KnownKeys.newer),
            unpublished: SigningKey(base64: KnownKeys.unpublished)
        )
    }

    private init(older: SigningKey, newer: SigningKey, unpublished: SigningKey) {
        self.older = older
        self.newer = newer
        self.unpublished = unpublished
    }

    /// The ring that every simulator begins with.
    static func known() throws(DataError) -> KeyRing {
        do {
            return try initial.get()
        } catch {
            throw DataError(path: "keys", reason: "the known keys cannot be read: \(error)")
        }
    }

    /// Publishes a key, which signs from now on, and retires the oldest.
    mutating func rotate(to key: SigningKey) {
        retired.append(older)
        older = newer
        newer = key
    }

    /// A published or retired key.
    func key(_ kid: String) -> SigningKey? {
        ([older, newer] + retired).first { $0.kid.utf8.elementsEqual(kid.utf8) }
    }

    /// The claims of an ID token, if a key of this ring, published or retired, signed it.
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

    /// The key set as it is published: `{"keys":[…]}`.
    var jwks: JSON { ["keys": [older.jwk, newer.jwk]] }
}
