import Crypto
import Encodings

/// A decoded access token.
enum Credential {
    /// An app token: `id|secret`, or the form that `client_credentials` returns.
    case app(App)
    /// A token that the simulator issued, with its app.
    ///
    /// The token may have expired or have been revoked.
    case issued(Token, App)
}

extension World {
    /// Decodes a token's text.
    ///
    /// Does not check whether the token has expired or was revoked.
    func credential(_ text: String) throws(GraphError) -> Credential {
        if let bar = text.utf8.firstIndex(of: UInt8(ascii: "|")) {
            guard let app = apps[String(text[..<bar])] else { throw .applicationUnavailable }
            let rest = text[text.utf8.index(after: bar)...]
            guard rest.utf8.elementsEqual(app.secret.utf8) || text.utf8.elementsEqual(TokenText.app(app).utf8) else {
                throw .badTokenSignature
            }
            return .app(app)
        }
        if let token = token(text) {
            switch token.kind {
            case .undecodable: throw .unparsableToken
            case .undecryptable: throw .undecryptableToken
            case .debugOnly: throw .debugOnlyToken
            default:
                guard let app = apps[token.app] else { throw .applicationUnavailable }
                return .issued(token, app)
            }
        }
        if Self.looksLikeJWT(text) { throw .badSignature }
        throw text.utf8.starts(with: "EAA".utf8) ? .undecryptableToken : .unparsableToken
    }

    /// Returns the error for a token that is no longer valid, with the reason; `nil` if the token is valid.
    func end(of token: Token, now: Int) -> GraphError? {
        func ended(_ subcode: Int?, _ reason: String) -> GraphError {
            GraphError(code: 190, subcode: subcode, message: "Error validating access token: \(reason)")
        }
        var unauthorized: GraphError { ended(458, "The user has not authorized application \(token.app).") }
        switch token.kind {
        case .passwordChanged:
            return ended(
                460,
                "The session has been invalidated because the user changed their password or Facebook has changed the "
                    + "session for security reasons."
            )
        case .appRemoved: return unauthorized
        case .invalidated: return ended(466, "The session was invalidated explicitly using an API call.")
        case .loggedOut: return ended(467, "The session is invalid because the user logged out.")
        case .checkpointed:
            return ended(
                459,
                "You cannot access the app till you log in to www.facebook.com and follow the instructions given."
            )
        case .unconfirmed:
            return ended(464, "Sessions for the user are not allowed because the user is not a confirmed user.")
        case .malformed: return ended(nil, "Session key is malformed.")
        case .app: return nil
        default: break
        }
        guard token.expiresAt == 0 || now < token.expiresAt else {
            let (end, now) = (CalendarText.pacific(token.expiresAt), CalendarText.pacific(now))
            return ended(463, "Session has expired on \(end). The current time is \(now).")
        }
        return token.person.flatMap { people[$0] } == nil ? unauthorized : nil
    }

    private static func looksLikeJWT(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0].starts(with: "eyJ".utf8)
    }
}

/// The `appsecret_proof`, with which a client shows that it knows the app secret.
enum AppSecretProof {
    /// The number of seconds by which the time of a proof (`appsecret_time`) may differ from the current time.
    static let window = 300

    /// Computes the `appsecret_proof` of a token: `hex(HMAC-SHA256(secret, token))`.
    ///
    /// If a time is given, `token|time` replaces `token` in this formula.
    static func make(token: String, time: Int? = nil, secret: String) -> String {
        let message = time.map { "\(token)|\($0)" } ?? token
        let key = SymmetricKey(data: Array(secret.utf8))
        return Hexadecimal.encode(HMAC<SHA256>.authenticationCode(for: Array(message.utf8), using: key))
    }

    /// Checks the `appsecret_proof` of a request.
    ///
    /// A request without a proof is accepted unless the token's app requires a proof.
    ///
    /// - Throws: ``GraphError`` for a wrong proof, and for a required proof that is missing.
    static func check(_ request: GraphRequest, token: String, app: App, now: Int) throws(GraphError) {
        if app.ignoreProof { return }
        guard let proof = request.parameter("appsecret_proof"), !proof.isEmpty else {
            if app.requireProof { throw .proofRequired }
            return
        }
        var time: Int?
        if let text = request.parameter("appsecret_time") {
            guard let given = Int(text), (now - window...now + window).contains(given) else { throw .proofInvalid }
            time = given
        }
        guard proof.hasSameBytes(as: make(token: token, time: time, secret: app.secret)) else { throw .proofInvalid }
    }
}
