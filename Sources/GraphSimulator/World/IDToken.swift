import Crypto
import CryptoExtras
import Encodings
import FoundationEssentials

/// An ID token before it is signed.
///
/// It contains copies of all data that signing needs. Therefore the simulator's lock need not be held during signing.
struct UnsignedIDToken: Sendable {
    let header: [UInt8]
    let claims: [UInt8]
    let signature: IDTokenSignature
    let key: SigningKey
    let appSecret: String

    /// Signs the token and returns its text: `header.claims.signature`, each part in base64url.
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
    /// Makes an unsigned ID token.
    /// - Throws: ``DataError`` when the user, app or key does not exist.
    mutating func idToken(_ request: IDTokenRequest, now: Int) throws(DataError) -> UnsignedIDToken {
        let app = try requireApp(request.app)
        let person = try requireUser(request.person)
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
            header: request.headerText.map { Array($0.utf8) } ?? Array(header.merging(request.header).plainText.utf8),
            claims: request.claimsText.map { Array($0.utf8) } ?? claims.merging(request.claims).graphBytes,
            signature: request.signature,
            key: key,
            appSecret: app.secret
        )
    }

    /// Returns the claims of an ID token.
    ///
    /// They have the order of ID tokens that were captured from Facebook.
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
    /// Makes an access token for the simulator's own use, which no client gets.
    ///
    /// From it, a ``UserNode`` takes the app and the permissions.
    init(for person: Person, app: App, scopes: [String]?) {
        self.init(
            text: "",
            kind: .never,
            app: app.id,
            person: person.key,
            scopes: scopes.map { $0.contains("public_profile") ? $0 : $0 + ["public_profile"] }
        )
    }
}

extension UserNode {
    /// The claims about the user: the user's fields under their names in ID tokens.
    ///
    /// A field is absent if the user has not granted the permission that the field needs.
    fileprivate var claims: [(name: String, value: JSON)] {
        func field(_ name: String) -> JSON? {
            // A missing permission omits the field. Graph knows all names here, so no error can occur.
            (try? value(of: FieldSelection(name: name))) ?? nil
        }
        var picture = FieldSelection(name: "picture")
        picture.modifiers = ["width": "100", "height": "100"]
        let friends = scopes.contains("user_friends") ? person.friends.compactMap { world.people[$0] } : nil
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

extension GraphSimulator {
    /// How an ID token is signed, correctly or wrongly.
    public enum IDTokenSignature: Sendable, Equatable {
        /// RS256 with the newest key, as Facebook signs.
        case newest
        /// RS256 with the key of this id, which is a published key or a retired one.
        case key(kid: String)
        /// RS256 with a key that was never published.
        ///
        /// The header has the key's own `kid`.
        case unknown
        /// RS256 with the newest key.
        ///
        /// One bit of the signature is flipped afterwards.
        case broken
        /// No signature: `alg` is `none` and the third part is empty.
        case none
        /// RSASSA-PKCS1-v1_5 with SHA-384 and the newest key.
        case rs384
        /// RSASSA-PKCS1-v1_5 with SHA-512 and the newest key.
        case rs512
        /// RSASSA-PSS with SHA-256 and the newest key.
        case ps256
        /// HMAC-SHA256 whose secret key is the text of the newest public key.
        ///
        /// Since this text is public, a verifier must refuse the token. The notation says which text of the public key
        /// is used.
        case hs256WithPublicKey(PublicKeyNotation)
        /// HMAC-SHA256 with the app's secret as key.
        case hs256WithAppSecret
    }

    /// The notations of a public key.
    ///
    /// In attacks, the text of the public key serves as an HMAC key. Some verifiers have accepted this.
    public enum PublicKeyNotation: String, Sendable, CaseIterable {
        /// PEM without a newline at the end.
        case pem
        /// PEM with a newline at the end.
        case pemLine = "pem-line"
        /// The SubjectPublicKeyInfo in DER.
        case der
        /// The JWK's text as in the JWKS.
        case jwk
    }
}

typealias IDTokenSignature = GraphSimulator.IDTokenSignature
typealias PublicKeyNotation = GraphSimulator.PublicKeyNotation

/// The parameters of an ID token that the simulator is to make.
///
/// With the defaults, the token is like one from Facebook. Other values can make the token invalid in a chosen way.
struct IDTokenRequest {
    /// The user, by the key in the simulator's data, such as `ann`; the first user when `nil`.
    var person: String?
    /// The app's id; the first app when `nil`.
    var app: String?
    /// The nonce, which the token contains unchanged.
    ///
    /// Without a nonce, the token's claim `nonce` is `""`, as in Facebook's web flow.
    var nonce: String?
    /// The permissions that decide which claims about the user the token contains.
    ///
    /// `nil` stands for the permissions that the user has granted. The claims of `public_profile` are always included.
    var scopes: [String]?
    /// The patch of the claims (RFC 7396).
    ///
    /// A value replaces the claim of the same name or is appended as a new claim. `null` removes a claim.
    var claims: JSON = [:]
    /// A text that the token contains in place of its claims; it need not be JSON.
    var claimsText: String?
    /// The patch of the header (RFC 7396), applied as ``claims`` is.
    var header: JSON = [:]
    /// A text that the token contains in place of its header; it need not be JSON.
    var headerText: String?
    /// How the token is signed.
    ///
    /// This also determines the members `alg` and `kid` of the token's header, unless ``header`` replaces them.
    var signature = IDTokenSignature.newest
    /// The claim `iat`, in seconds from now.
    var issuedAtOffset = 0
    /// The claim `exp`, in seconds from now; `nil` for an hour after `iat`.
    var expiresAtOffset: Int?
    /// The claim `cnf.jkt`: the thumbprint of the key to which the token is bound.
    var keyThumbprint: String?
}

extension IDTokenRequest {
    init(json: JSON) throws(DataError) {
        var reader = try JSONReader(json)
        self.init(
            person: try reader.string("person"),
            app: try reader.string("app"),
            nonce: try reader.string("nonce"),
            scopes: try reader.strings("scopes"),
            claims: .object(try reader.members("claims") ?? []),
            claimsText: try reader.string("claimsText"),
            header: .object(try reader.members("header") ?? []),
            headerText: try reader.string("headerText"),
            issuedAtOffset: try reader.integer("iatOffset", in: .century) ?? 0,
            expiresAtOffset: try reader.integer("expOffset", in: .century),
            keyThumbprint: try reader.string("jkt")
        )
        if let name = try reader.string("signWith") {
            guard let signature = IDTokenSignature(name: name) else {
                throw reader.failure("signWith", "expected a kid or one of \(IDTokenSignature.names)")
            }
            self.signature = signature
        }
        try reader.finish()
    }
}

extension IDTokenSignature {
    /// The names of signatures in control requests.
    ///
    /// In place of a name, a control request can contain the id of the key that signs.
    private static let named: [(name: String, signature: IDTokenSignature)] =
        [
            ("newest", .newest), ("unknown", .unknown), ("broken", .broken), ("none", .none), ("rs384", .rs384),
            ("rs512", .rs512), ("ps256", .ps256), ("hs256-with-app-secret", .hs256WithAppSecret),
        ] + PublicKeyNotation.allCases.map { ("hs256-with-public-key-\($0.rawValue)", .hs256WithPublicKey($0)) }

    fileprivate static var names: String { named.map(\.name).joined(separator: ", ") }

    fileprivate init?(name: String) {
        if let known = Self.named.first(where: { $0.name.hasSameBytes(as: name) }) {
            self = known.signature
        } else if name.utf8.count == 40 {
            self = .key(kid: name)
        } else {
            return nil
        }
    }
}
