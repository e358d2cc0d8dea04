extension GraphSimulator {
    /// The wish for an ID token; see ``GraphSimulator/GraphSimulator/idToken(_:)``.
    ///
    /// Left as it is, the token is one that Facebook would have issued; every other member is a way to get it wrong.
    public struct IDTokenRequest: Sendable, Equatable {
        /// The person's key; the first person when `nil`.
        public var person: String?
        /// The app's id; the first app when `nil`.
        public var app: String?
        /// Echoed as it is; without one the claim is `""`, as in Facebook's web flow.
        public var nonce: String?
        /// The permissions whose claims it carries (`public_profile` is added); `nil` follows the person.
        public var scopes: [String]?
        /// Merged into the claims as RFC 7396 says: values replace in place, unknown names come last, `null` removes.
        public var claims: JSON
        /// The claims' text, whatever it is, in place of all that is above.
        public var claimsText: String?
        /// Merged into the header like ``claims``.
        public var header: JSON
        /// The header's text, whatever it is.
        public var headerText: String?
        /// How it is signed; this also sets the header's `alg` and `kid`, before ``header`` has its say.
        public var signature: IDTokenSignature
        /// `iat`, in seconds from now.
        public var issuedAtOffset: Int
        /// `exp`, in seconds from now; an hour after `iat` when `nil`.
        public var expiresAtOffset: Int?
        /// `cnf.jkt`: the thumbprint of the key that the token is bound to.
        public var keyThumbprint: String?

        /// Makes a wish.
        public init(
            person: String? = nil,
            app: String? = nil,
            nonce: String? = nil,
            scopes: [String]? = nil,
            claims: JSON = [:],
            header: JSON = [:],
            signature: IDTokenSignature = .newest
        ) {
            self.person = person
            self.app = app
            self.nonce = nonce
            self.scopes = scopes
            self.claims = claims
            self.header = header
            self.signature = signature
            issuedAtOffset = 0
        }
    }

    /// How an ID token is signed.
    public enum IDTokenSignature: Sendable, Equatable {
        /// RS256 by the newest key, as Facebook does it.
        case newest
        /// RS256 by a key that is published or was before a rotation.
        case key(kid: String)
        /// RS256 by a key that was never published, under its own `kid`.
        case unknown
        /// RS256 by the newest key, with one bit turned afterwards.
        case broken
        /// No signature: `alg` is `none` and the third part is empty.
        case none
        /// RSASSA-PKCS1-v1_5 with SHA-384 by the newest key.
        case rs384
        /// RSASSA-PKCS1-v1_5 with SHA-512 by the newest key.
        case rs512
        /// RSASSA-PSS with SHA-256 by the newest key.
        case ps256
        /// HMAC-SHA256, keyed with what everybody knows: the newest public key in some notation.
        case hs256WithPublicKey(PublicKeyNotation)
        /// HMAC-SHA256, keyed with the app's secret.
        case hs256WithAppSecret
    }

    /// The notations of a public key that verifiers have been known to take for an HMAC key.
    public enum PublicKeyNotation: String, Sendable, CaseIterable {
        /// PEM, its last line not ended.
        case pem
        /// PEM, its last line ended.
        case pemLine = "pem-line"
        /// SubjectPublicKeyInfo.
        case der
        /// The JWK's text as in the JWKS.
        case jwk
    }
}

typealias IDTokenRequest = GraphSimulator.IDTokenRequest
typealias IDTokenSignature = GraphSimulator.IDTokenSignature
typealias PublicKeyNotation = GraphSimulator.PublicKeyNotation

extension IDTokenRequest {
    /// A century, so that no sum of times can overflow.
    private static let century = 100 * 366 * 86400

    init(json: JSON) throws(DataError) {
        var reader = try JSONReader(json, path: "")
        self.init(
            person: try reader.string("person"),
            app: try reader.string("app"),
            nonce: try reader.string("nonce"),
            scopes: try reader.strings("scopes"),
            claims: .object(try reader.object("claims") ?? []),
            header: .object(try reader.object("header") ?? [])
        )
        if let name = try reader.string("signWith") {
            guard let signature = IDTokenSignature(name: name) else {
                throw reader.failure("signWith", "expected a kid or one of \(IDTokenSignature.names)")
            }
            self.signature = signature
        }
        claimsText = try reader.string("claimsText")
        headerText = try reader.string("headerText")
        let range = -Self.century...Self.century
        issuedAtOffset = try reader.integer("iatOffset", in: range) ?? 0
        expiresAtOffset = try reader.integer("expOffset", in: range)
        keyThumbprint = try reader.string("jkt")
        try reader.finish()
    }
}

extension IDTokenSignature {
    /// The names of the control API but for the kids.
    private static let named: [(name: String, signature: IDTokenSignature)] =
        [
            ("newest", .newest), ("unknown", .unknown), ("broken", .broken), ("none", .none), ("rs384", .rs384),
            ("rs512", .rs512), ("ps256", .ps256), ("hs256-with-app-secret", .hs256WithAppSecret),
        ] + PublicKeyNotation.allCases.map { ("hs256-with-public-key-\($0.rawValue)", .hs256WithPublicKey($0)) }

    static var names: String { named.map(\.name).joined(separator: ", ") }

    init?(name: String) {
        if let known = Self.named.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
            self = known.signature
        } else if name.utf8.count == 40 {
            self = .key(kid: name)
        } else {
            return nil
        }
    }
}
