internal import Curl
internal import Identity

/// What one login asks of Graph.
struct LoginQuestion {
    /// The access token, which `isToken` holds for.
    let token: String
    let app: FacebookApp
    let settings: FacebookSettings
    /// Graph's field syntax.
    let fields: String
    let configuration: GraphConfiguration
    /// Unix seconds, for timed proofs.
    let now: Int64

    /// Longest token that is sent on.
    static let maxTokenBytes = 8192

    /// Whether a text can be sent as a token without changing the request that carries it (security.md V-15): the characters of
    /// a bearer token (RFC 6750 §2.1), not empty and not too long.
    static func isToken(_ text: String) -> Bool {
        (1...maxTokenBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-._~+/=".utf8.contains($0) }
    }

    /// Whether the app secret can be sent: printable ASCII without spaces, and not empty.
    static func isSecret(_ text: String) -> Bool {
        !text.utf8.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Holds a token and a secret to the rules.
    ///
    /// - Throws: `credential_invalid` or `provider_misconfigured`.
    func check() throws(Failure) {
        guard Self.isToken(token) else { throw Self.noToken }
        try Self.check(secretOf: app)
    }

    /// Holds the secret of an app to its rule.
    ///
    /// - Throws: `provider_misconfigured`.
    static func check(secretOf app: FacebookApp) throws(Failure) {
        guard isSecret(app.secret.reveal()) else {
            throw Failure(
                .providerMisconfigured,
                "The secret of the Facebook app is missing or has characters that no secret has. The operator has to set it.",
                retryAfter: 60
            )
        }
    }

    static let noToken = Failure(
        .credentialInvalid,
        """
        This cannot be an access token: it is too long or has characters that no token has. Send the token unchanged, as the \
        Facebook SDK gives it.
        """
    )

    /// Begins like every token that Graph has issued for years.
    var isGraphToken: Bool { token.utf8.starts(with: "EAA".utf8) }

    /// The path to an endpoint, in the application's version of Graph; without one it is the oldest that the app may use.
    func target(_ endpoint: String) -> Target {
        Target(configuration.basePath, settings.graphVersion, endpoint)
    }

    /// The question at a target, asked with a token.
    ///
    /// - Throws: `tooLong` when the target is too long to be sent, `provider_misconfigured` when it is none.
    func question(_ target: Target, bearer: String, tooLong: Failure? = nil) throws(Failure) -> GraphQuestion {
        do throws(CurlError) {
            let url = try configuration.base.withTarget(target.text)
            return GraphQuestion(url: url, bearer: Secret(bearer), version: settings.graphVersion)
        } catch {
            if case .invalidRequest(.urlTooLong) = error, let tooLong { throw tooLong }
            throw GraphFault(error).failure
        }
    }

    /// The token of the app itself.
    var appToken: String { app.id.text + "|" + app.secret.reveal() }

    func proof(of token: String) -> AppSecretProof {
        AppSecretProof(of: token, secret: app.secret, form: settings.proof, now: now)
    }
}
