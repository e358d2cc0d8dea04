import Curl
import Upstream
package import Vocabulary

/// An authorization code with what the login dialog was opened with: all of it must fit together.
package struct AuthorizationCode: Sendable {
    package let code: Secret
    let redirectURI: String
    let codeVerifier: Secret?

    /// Longest code that is sent on.
    static let maxCodeBytes = 4096

    /// Holds a code and a verifier to their rules, before anything is sent.
    ///
    /// - Parameters:
    ///   - code: The code as Facebook gave it; printable ASCII.
    ///   - redirectURI: The one that the dialog was opened with, to the byte.
    ///   - codeVerifier: The verifier of PKCE: 43 to 128 unreserved characters (RFC 7636 §4.1).
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
                    "codeVerifier cannot be a verifier of PKCE, which has 43 to 128 letters, digits and -._~ in it."
                )
            }
        }
        self.code = code
        self.redirectURI = redirectURI
        self.codeVerifier = codeVerifier
    }
}

extension GraphClient {
    /// Exchanges an authorization code for the access token behind it: once, and never again (decision D13).
    ///
    /// Facebook may have used the code up even when no answer of it arrives, so whatever goes wrong once it is asked,
    /// the login starts over.
    ///
    /// - Parameters:
    ///   - code: The code; it is of this app or of none.
    ///   - app: The app that the dialog was opened for.
    ///   - settings: Which version of Graph to ask.
    ///   - application: Whose login it is.
    ///   - deadline: When the answer is worth nothing any more.
    ///   - claim: Makes the code this login's, just before it is sent; what it throws keeps Facebook from being asked.
    /// - Returns: The access token, which is not verified yet; or that Facebook has lost the dialog's challenge.
    /// - Throws: Why there is neither.
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
            throw error.failure.startingOver
        }
    }
}

/// What Facebook gives for an authorization code that it takes for one.
package enum ExchangedCode: Sendable {
    case token(Secret)
    /// Nothing, since the verifier came with it: Facebook has not kept the challenge that the dialog was opened with.
    /// Another dialog without a challenge gives a code that it takes.
    case challengeLost(Failure)
}

/// `oauth/access_token` for a code (docs/protocols/facebook.md §1.3).
enum CodeExchange {
    /// The question: a form, so that the code is not in a URL.
    static func question(_ code: AuthorizationCode, by caller: GraphCaller) throws(Failure) -> GraphQuestion {
        try caller.question(.codeExchange, ofGrant: "authorization_code") { form in
            form.add("redirect_uri", code.redirectURI)
            form.add("code", code.code.reveal())
            if let verifier = code.codeVerifier { form.add("code_verifier", verifier.reveal()) }
        }
    }

    /// The answer: the access token, or that the challenge is lost.
    ///
    /// - Throws: `ProviderFault` for everything else.
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

    /// Facebook gives it code 1, which means a moment's trouble elsewhere; with this code no repetition helps.
    private static func challengeLost(_ error: GraphError, status: Int) -> Failure {
        Failure(
            .credentialInvalid,
            """
            Facebook has lost the code_challenge that the login dialog was opened with, and so does not take its code. Log in with \
            Facebook again.
            """,
            details: error.details,
            cause: cause(error, status) + ": code_verifier without a code_challenge"
        )
    }

    private static func cause(_ error: GraphError, _ status: Int) -> String {
        "Graph error \(error.code.map(String.init) ?? "without code"), HTTP status \(status)"
    }

    /// What an error says of the code; nil when it says something of the app or of Graph.
    ///
    /// The subcodes first, then the texts, since not every error carries the subcode that the table promises.
    private static func failure(of error: GraphError, status: Int) -> Failure? {
        // Facebook gives code 1 to a verifier that is none, too.
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
                Facebook does not know this redirect URI. The operator has to add it to "Valid OAuth Redirect URIs" in the app's \
                settings at developers.facebook.com.
                """,
                retryAfter: 60
            )
        }
        let text = error.text
        if error.subcode == 36009 || text.says("has been used") {
            return .usedCode(details: error.details, cause: cause)
        }
        if error.subcode == 36007 || text.says("expired") {
            return failure(.credentialExpired, "This authorization code has expired. Log in with Facebook again.")
        }
        if error.subcode == 36008 || text.says("redirect_uri") {
            return failure(
                .credentialInvalid,
                """
                Facebook says that the login dialog was opened with another redirect URI than redirectUri, which must be the same \
                to the byte. Log in with Facebook again and send the one that the dialog was opened with.
                """
            )
        }
        if text.says("verifier") {
            return failure(
                .credentialInvalid,
                """
                Facebook says that codeVerifier does not fit the code_challenge that the login dialog was opened with. Log in with \
                Facebook again, with a new pair.
                """
            )
        }
        return invalid(details: error.details, cause: cause)
    }

    /// A code that is none, or none of this app.
    static func invalid(details: JSONObject = JSONObject(), cause: String? = nil) -> Failure {
        Failure(
            .credentialInvalid,
            """
            Facebook does not take this for an authorization code of this app. Send the code unchanged, as it stands in the query \
            of the redirect, or log in with Facebook again.
            """,
            details: details,
            cause: cause
        )
    }
}

extension Failure {
    /// A code that has been exchanged before, in vain or not.
    static func usedCode(details: JSONObject = JSONObject(), cause: String) -> Failure {
        Failure(
            .credentialInvalid,
            "This authorization code has been used already, and it counts once. Log in with Facebook again.",
            details: details,
            cause: cause
        )
    }

    /// The same failure for whoever holds a code: a repetition with that code would be refused.
    package var startingOver: Failure {
        let message: String
        switch reason {
        case .providerUnavailable, .providerTimeout, .providerBadReply:
            message = """
                Facebook did not answer as it should, and an authorization code counts once. Start the login with Facebook over, in \
                a moment.
                """
        default: return self
        }
        return Failure(reason, message, details: details, retryAfter: retryAfter, cause: cause)
    }
}
