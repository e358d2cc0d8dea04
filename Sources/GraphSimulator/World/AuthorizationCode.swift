import Crypto
import Encodings

extension GraphSimulator {
    /// The method by which a PKCE challenge is computed from its verifier (RFC 7636 §4.2).
    public enum CodeChallengeMethod: String, Sendable, CaseIterable {
        /// The SHA-256 of the verifier in base64url.
        case s256 = "S256"
        /// The verifier itself.
        case plain
    }
}

typealias CodeChallengeMethod = GraphSimulator.CodeChallengeMethod

/// The parameters of an authorization code, as if a user had completed the login dialog.
struct CodeRequest: Sendable {
    /// The user, by the key in the simulator's data, such as `ann`; the first user when `nil`.
    var person: String?
    /// The app's id; the first app when `nil`.
    var app: String?
    /// The redirect URI.
    ///
    /// The request that exchanges the code must repeat it byte for byte.
    var redirectURI: String
    /// The permissions of the token, to which `public_profile` is added; `nil` for those that the user has granted.
    var scopes: [String]?
    /// The nonce of the ID token to be issued, if there is one.
    var nonce: String?
    /// The PKCE challenge; `nil` if the exchange needs no verifier.
    var challenge: (text: String, method: CodeChallengeMethod)?
    /// The `metadata` of the token to be issued, made from parameters of the login dialog.
    var metadata: JSON?
    /// Whether an app's server requested the code for the app's client.
    ///
    /// If so, the client exchanges the code without the app secret.
    var isForClient = false
}

extension CodeRequest {
    init(json: JSON) throws(DataError) {
        var reader = try JSONReader(json)
        self.init(
            person: try reader.string("person"),
            app: try reader.string("app"),
            redirectURI: try reader.requiredString("redirectUri"),
            scopes: try reader.strings("scopes"),
            nonce: try reader.string("nonce")
        )
        let method = try reader.word("codeChallengeMethod") ?? CodeChallengeMethod.s256
        challenge = try reader.string("codeChallenge").map { ($0, method) }
        try reader.finish()
    }
}

/// An authorization code, which can be exchanged for an access token.
struct AuthorizationCode: Sendable {
    /// The lifetime of an authorization code, in seconds.
    static let lifetime = 600

    /// The parameters with which the code was made.
    ///
    /// Here, the user and the app are never `nil`.
    let request: CodeRequest
    let issuedAt: Int
    var isUsed = false

    /// Whether the PKCE verifier matches the challenge of this code.
    ///
    /// Without a challenge, every verifier matches.
    func accepts(verifier: String?) -> Bool {
        guard let challenge = request.challenge else { return true }
        guard let verifier, (43...128).contains(verifier.utf8.count) else { return false }
        let expected =
            switch challenge.method {
            case .plain: verifier
            case .s256: Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8))))
            }
        return expected.hasSameBytes(as: challenge.text)
    }
}

extension World {
    /// Issues an authorization code.
    /// - Returns: The code's text.
    /// - Throws: ``DataError`` when the user or app does not exist.
    mutating func code(_ request: CodeRequest, now: Int) throws(DataError) -> String {
        var request = request
        let app = try requireApp(request.app)
        request.app = app.id
        request.person = try requireUser(request.person).key
        if app.dropChallenge { request.challenge = nil }
        let text = TokenText.code(using: &generator)
        codes[text] = AuthorizationCode(request: request, issuedAt: now)
        return text
    }

    /// Returns the authorization code with the given text; `nil` if there is none.
    func code(_ text: String) -> AuthorizationCode? {
        guard text.utf8.count == 200, text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return codes[text]
    }
}
