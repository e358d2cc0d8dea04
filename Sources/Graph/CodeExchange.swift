internal import Curl
package import Identity
internal import Upstream

/// An authorization code with what the login dialog was opened with: all of it must fit together.
package struct AuthorizationCode: Sendable {
    let code: Secret
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
            let isVerifier = verifier.allSatisfy { $0.isASCIIAlphanumeric || "-._~".utf8.contains($0) }
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
    /// Facebook may have used the code up even when no answer of it arrives, so whatever goes wrong, the login starts over.
    ///
    /// - Parameters:
    ///   - code: The code; it is of this app or of none.
    ///   - app: The app that the dialog was opened for.
    ///   - settings: Which version of Graph to ask.
    ///   - application: Whose login it is.
    ///   - deadline: When the answer is worth nothing any more.
    /// - Returns: The access token, which proves nothing yet.
    /// - Throws: Why there is none.
    package func exchange(
        _ code: AuthorizationCode,
        app: ProviderApp,
        settings: FacebookSettings,
        application: ApplicationID,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Secret {
        let question = try CodeExchange.question(code, by: GraphCaller(app, settings, configuration))
        let link = link(AppLink.Key(application: application, app: app.id))
        let pass = try link.pass()
        do throws(ProviderFault) {
            let reply = try await question.ask(curl, configuration, until: deadline, of: link)
            let token = try CodeExchange.answer(reply)
            link.record(.answered, of: pass)
            return token
        } catch {
            link.record(CircuitBreaker.Outcome(error.significance, nil), of: pass)
            throw error.failure.startingOver
        }
    }
}

/// `oauth/access_token` for a code (facebook.md §1.3).
enum CodeExchange {
    /// The question: a form, so that the code is not in a URL.
    static func question(_ code: AuthorizationCode, by caller: GraphCaller) throws(Failure) -> GraphQuestion {
        try caller.question(ofGrant: "authorization_code") { form in
            form.add("redirect_uri", code.redirectURI)
            form.add("code", code.code.reveal())
            if let verifier = code.codeVerifier { form.add("code_verifier", verifier.reveal()) }
        }
    }

    /// The answer: the access token.
    ///
    /// - Throws: `ProviderFault` for everything else.
    static func answer(_ reply: GraphReply) throws(ProviderFault) -> Secret {
        switch try reply.content() {
        case .error(let error):
            if let failure = failure(of: error, status: reply.status) { throw ProviderFault(failure, .answered) }
            throw reply.fault(error, of: .appToken, isGraphToken: false)
        case .object(let object):
            guard let token = object["access_token"]?.string, TokenText.isToken(token) else {
                throw reply.misshapen("an exchange without an access token")
            }
            return Secret(token)
        }
    }

    /// What an error says of the code; nil when it says something of the app or of Graph.
    ///
    /// The subcodes first, then the texts, since not every error carries the subcode that the table promises.
    private static func failure(of error: GraphError, status: Int) -> Failure? {
        guard !error.isTransient, error.code == 100 || error.code == 191 else { return nil }
        let cause = "Graph error \(error.code ?? 0), HTTP status \(status)"
        func failure(_ reason: Failure.Reason, _ message: String, retryAfter: Int? = nil) -> Failure {
            Failure(reason, message, details: error.details, retryAfter: retryAfter, cause: cause)
        }
        if error.code == 191 {
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
            return failure(
                .credentialInvalid,
                "This authorization code has been used already, and it counts once. Log in with Facebook again."
            )
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
        return Failure(reason, message, details: details, retryAfter: retryAfter, cause: cause, isOutdated: isOutdated)
    }
}
