import Crypto
import CryptoExtras
import FoundationEssentials

/// An ID token before it is signed, apart from the world, so that no lock is held while it is.
struct UnsignedIDToken: Sendable {
    let header: [UInt8]
    let claims: [UInt8]
    let signature: IDTokenSignature
    let key: SigningKey
    let appSecret: String

    /// `header.claims.signature`, each in base64url.
    func signed() throws -> String {
        let text = Base64URL.encode(header) + "." + Base64URL.encode(claims)
        return text + "." + Base64URL.encode(try sign(Array(text.utf8)))
    }

    private func sign(_ text: [UInt8]) throws -> [UInt8] {
        func rsa(_ digest: some Digest, _ padding: _RSA.Signing.Padding = .insecurePKCS1v1_5) throws -> [UInt8] {
            Array(try key.key.signature(for: digest, padding: padding).rawRepresentation)
        }
        func hmac(_ secret: some ContiguousBytes) -> [UInt8] {
            Array(HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: secret)))
        }
        switch signature {
        case .newest, .key, .unknown: return try rsa(SHA256.hash(data: text))
        case .broken:
            var bytes = try rsa(SHA256.hash(data: text))
            bytes[bytes.count / 2] ^= 1
            return bytes
        case .none: return []
        case .rs384: return try rsa(SHA384.hash(data: text))
        case .rs512: return try rsa(SHA512.hash(data: text))
        case .ps256: return try rsa(SHA256.hash(data: text), .PSS)
        case .hs256WithAppSecret: return hmac(Array(appSecret.utf8))
        case .hs256WithPublicKey(let notation): return hmac(key.publicKey(in: notation))
        }
    }
}

extension SigningKey {
    fileprivate func publicKey(in notation: PublicKeyNotation) -> [UInt8] {
        switch notation {
        case .pem: Array(key.publicKey.pemRepresentation.utf8)
        case .pemLine: Array((key.publicKey.pemRepresentation + "\n").utf8)
        case .der: Array(key.publicKey.derRepresentation)
        case .jwk: jwk.graphBytes
        }
    }
}

extension IDTokenSignature {
    fileprivate var algorithm: String {
        switch self {
        case .newest, .key, .unknown, .broken: "RS256"
        case .none: "none"
        case .rs384: "RS384"
        case .rs512: "RS512"
        case .ps256: "PS256"
        case .hs256WithPublicKey, .hs256WithAppSecret: "HS256"
        }
    }
}

extension World {
    /// Makes an ID token as wished.
    /// - Throws: ``DataError`` when the person, app or key does not exist.
    mutating func idToken(_ request: IDTokenRequest, now: Int) throws(DataError) -> UnsignedIDToken {
        let app = try requireApp(request.app)
        let person = try requirePerson(request.person)
        let key: SigningKey
        switch request.signature {
        case .key(let kid):
            guard let known = keys.key(kid) else { throw DataError(path: "signWith", reason: "no key \(kid)") }
            key = known
        case .unknown: key = keys.unpublished
        default: key = keys.newer
        }
        let header: JSON = ["alg": .string(request.signature.algorithm), "typ": "JWT", "kid": .string(key.kid)]
        let claims = claims(request, app: app, person: person, now: now)
        return UnsignedIDToken(
            header: request.headerText.map { Array($0.utf8) } ?? header.merging(request.header).plainBytes,
            claims: request.claimsText.map { Array($0.utf8) } ?? claims.merging(request.claims).graphBytes,
            signature: request.signature,
            key: key,
            appSecret: app.secret
        )
    }

    /// The claims in the order of the captured tokens.
    private mutating func claims(_ request: IDTokenRequest, app: App, person: Person, now: Int) -> JSON {
        let issuedAt = now + request.issuedAtOffset
        let user = UserNode(
            world: self,
            person: person,
            token: Token(for: person, app: app, scopes: request.scopes),
            now: issuedAt
        )
        var claims: JSON = [
            "iss": "https://www.facebook.com", "aud": .string(app.id), "sub": .string(user.id),
            "iat": .integer(issuedAt),
            "exp": .integer(request.expiresAtOffset.map { now + $0 } ?? issuedAt + 3600),
            "jti": .string(TokenText.jti(using: &generator)),
            "nonce": .string(request.nonce ?? ""),
        ]
        for (name, value) in user.claims { claims[name] = value }
        claims["cnf"] = request.keyThumbprint.map { ["jkt": .string($0)] }
        return claims
    }
}

extension Token {
    /// A token that is in nobody's hands: it tells a ``UserNode`` which app asks, with which permissions.
    init(for person: Person, app: App, scopes: [String]?) {
        self.init(
            text: "",
            kind: .never,
            app: app.id,
            person: person.key,
            scopes: scopes.map { $0.contains("public_profile") ? $0 : $0 + ["public_profile"] },
            issuedAt: 0,
            expiresAt: 0,
            dataAccessExpiresAt: 0
        )
    }
}

extension UserNode {
    /// What an ID token tells about the person: the fields under the names of OpenID Connect, each if its permission is
    /// there.
    fileprivate var claims: [(name: String, value: JSON)] {
        func field(_ name: String) -> JSON? {
            // A permission that is missing leaves the field out, and no name here is unknown to Graph.
            (try? value(of: FieldSelection(name: name))) ?? nil
        }
        var picture = FieldSelection(name: "picture")
        picture.modifiers = ["width": "100", "height": "100"]
        let friends = scopes.contains("user_friends") ? person.friends.compactMap(world.person) : nil
        let claims: [(String, JSON?)] = [
            ("email", field("email")),
            ("given_name", field("first_name")), ("middle_name", field("middle_name")),
            ("family_name", field("last_name")), ("name", field("name")),
            ("picture", (try? value(of: picture))??["data"]?["url"]),
            ("user_friends", friends.map { .array($0.map { .string($0.id(for: token.app)) }) }),
            ("user_birthday", field("birthday")), ("user_age_range", field("age_range")),
            ("user_gender", field("gender")), ("user_hometown", field("hometown")),
            ("user_location", field("location")), ("user_link", field("link")),
        ]
        return claims.compactMap { claim in claim.1.map { (claim.0, $0) } }
    }
}
