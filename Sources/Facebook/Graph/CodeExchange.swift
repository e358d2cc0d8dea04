import Curl
package import Domain
import Encodings
import Providers

/// An authorization code, with the parameters of the login dialog that issued it.
///
/// Facebook accepts the code only together with the same parameters.
package struct AuthorizationCode: Sendable {
    package let code: Secret
    let redirectURI: String
    let codeVerifier: Secret?

    /// The maximum size of a code in bytes.
    static let maxCodeBytes = 4096

    /// Checks the form of an authorization code and of a PKCE verifier, without a request to Facebook.
    ///
    /// - Parameters:
    ///   - code: The code as Facebook issued it, in printable ASCII.
    ///   - redirectURI: The redirect URI of the dialog, byte for byte.
    ///   - codeVerifier: The PKCE verifier: 43 to 128 unreserved characters (RFC 7636 §4.1).
    /// - Throws: `credential_invalid`.
    package init(_ code: Secret, redirectURI: String, codeVerifier: Secret?) throws(Failure) {
        let bytes = code.reveal().utf8
        guard (1...Self.maxCodeBytes).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw CodeExchange.invalid()
        }
        if let verifier = codeVerifier?.reveal().utf8 {
            let isVerifier = verifier.allSatisfy { $0.isASCIIAlphanumeric || $0.isOne(of: "-._~") }
            guard (43...128).contains(verifier.count), isVerifier else {
                throw Failure(
                    .credentialInvalid,
                    "codeVerifier is not a PKCE verifier, which has 43 to 128 letters, digits and -._~."
                )
            }
        }
        self.code = code
        self.redirectURI = redirectURI
        self.codeVerifier = codeVerifier
    }
}

extension AuthorizationCode {
    /// Checks the form of the code that a dialog ended with.
    ///
    /// - Throws: `credential_missing` without a redirect URI; `credential_invalid`.
    init(_ code: DialogCode) throws(Failure) {
        guard let redirectURI = code.redirectURI else { throw .codeWithoutRedirectURI }
        try self.init(code.code, redirectURI: redirectURI, codeVerifier: code.codeVerifier)
    }
}

extension GraphClient {
    /// Exchanges a single-use authorization code for its access token.
    ///
    /// The request is never retried (decision D13).
    ///
    /// Facebook may have used up the code even if no response arrives. Therefore, after each failed request, the client
    /// must begin a new login.
    ///
    /// - Parameters:
    ///   - code: The code. Facebook refuses it if it belongs to another app.
    ///   - app: The app that the dialog was opened for.
    ///   - settings: The Graph version.
    ///   - application: The application of the login.
    ///   - deadline: The moment by which the exchange must be done.
    ///   - claim: Marks the code as used, just before the request. If it throws, no request is sent.
    /// - Returns: The access token, which is not verified yet; or that Facebook has lost the dialog's challenge.
    /// - Throws: The reason why there is neither.
    package func exchange(
        _ code: AuthorizationCode,
        app: ProviderApp,
        settings: FacebookSettings,
        application: ApplicationID,
        deadline: ContinuousClock.Instant,
        claim: () async throws(Failure) -> Void
    ) async throws(Failure) -> ExchangedCode {
        let question = try CodeExchange.question(code, by: GraphCaller(app, settings, configuration))
        let link = link(AppLink.Key(application: application, app: app.id))
        let pass = try link.pass()
        do throws(Failure) {
            try await claim()
        } catch {
            link.record(.abandoned, of: pass)
            throw error
        }
        do throws(ProviderFault) {
            let reply = try await question.ask(curl, configuration, until: deadline, of: link)
            let answer = try CodeExchange.answer(reply)
            link.record(.answered, of: pass)
            return answer
        } catch {
            link.record(CircuitBreaker.Outcome(error.signal, nil), of: pass)
            throw error.failure.startingOver(at: FacebookProvider.title)
        }
    }
}

/// The result of exchanging a genuine authorization code.
package enum ExchangedCode: Sendable {
    case token(Secret)
    /// Facebook has lost the PKCE challenge of the dialog.
    ///
    /// It therefore refuses the code, since a verifier came with it. A new dialog without a challenge yields a code
    /// that Facebook accepts.
    case challengeLost(Failure)
}

/// The request to `oauth/access_token` that exchanges an authorization code (docs/protocols/facebook.md §1.3).
enum CodeExchange {
    /// Returns the request that exchanges an authorization code.
    ///
    /// The body contains the code, so that no URL does.
    static func question(_ code: AuthorizationCode, by caller: GraphCaller) throws(Failure) -> GraphQuestion {
        try caller.question(.codeExchange, ofGrant: "authorization_code") { form in
            form.add("redirect_uri", code.redirectURI)
            form.add("code", code.code.reveal())
            if let verifier = code.codeVerifier { form.add("code_verifier", verifier.reveal()) }
        }
    }

    /// Reads the access token in the response.
    ///
    /// The response may instead say that Facebook has lost the dialog's PKCE challenge.
    ///
    /// - Throws: `ProviderFault` for every other response.
    static func answer(_ reply: GraphReply) throws(ProviderFault) -> ExchangedCode {
        switch try reply.content() {
        case .error(let error):
            if error.text.says("without a code_challenge") {
                return .challengeLost(challengeLost(error, status: reply.status))
            }
            if let failure = failure(of: error, status: reply.status) { throw ProviderFault(failure, .answered) }
            throw reply.fault(error, of: .appToken, isGraphToken: false)
        case .object(let object):
            guard let token = object["access_token"]?.string, TokenText.isToken(token) else {
                throw reply.misshapen("an exchange without an access token")
            }
            return .token(Secret(token))
        }
    }

    /// Returns the failure for a PKCE challenge that Facebook has lost.
    ///
    /// Facebook's code for it is 1, which usually means a temporary error. Here, no retry helps.
    private static func challengeLost(_ error: GraphError, status: Int) -> Failure {
        Failure(
            .credentialInvalid,
            """
            Facebook has lost the code_challenge of the login dialog and refuses its code. Log in with Facebook again.
            """,
            details: error.details,
            cause: cause(error, status) + ": code_verifier without a code_challenge"
        )
    }

    private static func cause(_ error: GraphError, _ status: Int) -> String {
        "Graph error \(error.code.map(String.init) ?? "without code"), HTTP status \(status)"
    }

    /// Returns the failure for an error about the code, its verifier or its redirect URI; nil for any other error.
    ///
    /// The subcode or the text decides which failure it is, since some errors lack the documented subcode.
    private static func failure(of error: GraphError, status: Int) -> Failure? {
        // Facebook also gives code 1 to a malformed verifier.
        let isOfVerifier = error.text.says("code verifier") || error.text.says("code_verifier")
        guard isOfVerifier || !error.isTransient && (error.meaning == 100 || error.meaning == 191) else { return nil }
        let cause = cause(error, status)
        func failure(_ reason: Failure.Reason, _ message: String, retryAfter: Int? = nil) -> Failure {
            Failure(reason, message, details: error.details, retryAfter: retryAfter, cause: cause)
        }
        if error.meaning == 191 {
            return failure(
                .providerMisconfigured,
                """
                Facebook does not know this redirect URI. The operator must add it to "Valid OAuth Redirect URIs" in \
                the app's settings at developers.facebook.com.
                """,
                retryAfter: 60
            )
        }
        let text = error.text
        if error.subcode == 36009 || text.says("has been used") {
            return .usedCode(of: FacebookProvider.title, details: error.details, cause: cause)
        }
        if error.subcode == 36007 || text.says("expired") {
            return failure(.credentialExpired, "This authorization code has expired. Log in with Facebook again.")
        }
        if error.subcode == 36008 || text.says("redirect_uri") {
            return failure(
                .credentialInvalid,
                """
                redirectUri is not the redirect URI with which the login dialog was opened. It must match byte for \
                byte. Log in with Facebook again, and send the same URI.
                """
            )
        }
        if text.says("verifier") {
            return failure(
                .credentialInvalid,
                """
                codeVerifier does not match the code_challenge of the login dialog. Log in with Facebook again with a \
                new pair.
                """
            )
        }
        return invalid(details: error.details, cause: cause)
    }

    /// Returns the failure for a text that is not a code, or is a code for another app.
    static func invalid(details: JSONObject = JSONObject(), cause: String? = nil) -> Failure {
        Failure(
            .credentialInvalid,
            """
            This is not an authorization code of this Facebook app. Send the code unchanged from the query of the \
            redirect, or log in with Facebook again.
            """,
            details: details,
            cause: cause
        )
    }
}
