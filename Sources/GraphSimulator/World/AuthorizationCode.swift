import Crypto

extension GraphSimulator {
    /// The wish for an authorization code, as if somebody had been through the login dialog.
    public struct CodeRequest: Sendable, Equatable {
        /// The person's key; the first person when `nil`.
        public var person: String?
        /// The app's id; the first app when `nil`.
        public var app: String?
        /// What the exchange must repeat to the byte.
        public var redirectURI: String
        /// The permissions of the token to come (`public_profile` is added); `nil` follows the person.
        public var scopes: [String]?
        /// The nonce of the ID token to come, if there is one.
        public var nonce: String?
        /// The challenge of PKCE, if the exchange is to need a verifier.
        public var codeChallenge: String?
        /// How the challenge was made.
        public var codeChallengeMethod: CodeChallengeMethod

        /// Makes a wish.
        public init(
            person: String? = nil,
            app: String? = nil,
            redirectURI: String,
            scopes: [String]? = nil,
            nonce: String? = nil,
            codeChallenge: String? = nil,
            codeChallengeMethod: CodeChallengeMethod = .s256
        ) {
            self.person = person
            self.app = app
            self.redirectURI = redirectURI
            self.scopes = scopes
            self.nonce = nonce
            self.codeChallenge = codeChallenge
            self.codeChallengeMethod = codeChallengeMethod
        }
    }

    /// How a challenge of PKCE is made from its verifier (RFC 7636 §4.2).
    public enum CodeChallengeMethod: String, Sendable, CaseIterable {
        /// base64url of the SHA-256.
        case s256 = "S256"
        /// The verifier itself.
        case plain
    }
}

typealias CodeRequest = GraphSimulator.CodeRequest
typealias CodeChallengeMethod = GraphSimulator.CodeChallengeMethod

extension CodeRequest {
    init(json: JSON) throws(DataError) {
        var reader = try JSONReader(json, path: "")
        self.init(
            person: try reader.string("person"),
            app: try reader.string("app"),
            redirectURI: try reader.requiredString("redirectUri"),
            scopes: try reader.strings("scopes"),
            nonce: try reader.string("nonce"),
            codeChallenge: try reader.string("codeChallenge")
        )
        if let name = try reader.string("codeChallengeMethod") {
            guard let method = CodeChallengeMethod(rawValue: name) else {
                throw reader.failure("codeChallengeMethod", "expected S256 or plain")
            }
            codeChallengeMethod = method
        }
        try reader.finish()
    }
}

/// A code that the dialog gave out.
struct AuthorizationCode: Sendable {
    /// Seconds for which it can be exchanged.
    static let lifetime = 600

    let app: String
    let person: String
    let redirectURI: String
    let scopes: [String]?
    let nonce: String?
    let challenge: (text: String, method: CodeChallengeMethod)?
    /// The token's, which repeats what the dialog was asked for.
    let metadata: JSON?
    /// Whether a server has asked for it on behalf of a client, which exchanges it without a secret.
    let isForClient: Bool
    let issuedAt: Int
    var isUsed = false

    /// Whether the verifier is the one behind the challenge; without a challenge there is none.
    func accepts(verifier: String?) -> Bool {
        guard let challenge else { return true }
        guard let verifier, (43...128).contains(verifier.utf8.count) else { return false }
        let expected =
            switch challenge.method {
            case .plain: verifier
            case .s256: Base64URL.encode(SHA256.hash(data: Array(verifier.utf8)))
            }
        return expected.utf8.elementsEqual(challenge.text.utf8)
    }
}

extension World {
    /// Makes a code as wished.
    /// - Returns: The code's text.
    /// - Throws: ``DataError`` when the person or app does not exist.
    mutating func code(
        _ request: CodeRequest,
        metadata: JSON? = nil,
        isForClient: Bool = false,
        now: Int
    ) throws(DataError) -> String {
        let app = try requireApp(request.app)
        let person = try requirePerson(request.person)
        let text = TokenText.code(using: &generator)
        codes[text] = AuthorizationCode(
            app: app.id,
            person: person.key,
            redirectURI: request.redirectURI,
            scopes: request.scopes,
            nonce: request.nonce,
            challenge: app.dropChallenge ? nil : request.codeChallenge.map { ($0, request.codeChallengeMethod) },
            metadata: metadata,
            isForClient: isForClient,
            issuedAt: now
        )
        return text
    }

    /// The code of that text, compared only when it is as long as one.
    func code(_ text: String) -> AuthorizationCode? {
        guard text.utf8.count == 200, text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return codes[text]
    }
}
