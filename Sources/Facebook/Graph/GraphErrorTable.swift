import Domain
import Encodings
import Providers

/// Maps Graph's errors to the failures of this service (docs/protocols/facebook.md §3.2–§3.4).
///
/// The code decides first, then the subcode, then the text, since many real errors have less than the documentation
/// promises. If there is no code, the text determines it (`GraphError.meaning`). The HTTP status decides only if the
/// body says nothing.
struct GraphErrorTable {
    /// The token to which Graph's error refers.
    enum Subject {
        /// The app's own token, which authorizes `debug_token`.
        ///
        /// If Graph refuses it, the operator must correct the configuration.
        case appToken
        /// The user's token, which authorizes `/me` or is inspected by `debug_token`.
        case userToken
    }

    let subject: Subject
    /// Whether the user's token begins with `EAA`, like every access token that Graph has issued for years.
    let isGraphToken: Bool
    /// The seconds until a retry, as Graph requests.
    let retryAfter: Int?

    /// Returns the failure to report for an error in a response, with what the error shows about Graph's health.
    func fault(_ error: GraphError, status: Int) -> ProviderFault {
        if let signal = limitSignal(error, status: status) {
            let failure = Failure.limited(
                .facebook,
                details: error.details,
                retryAfter: retryAfter ?? RateLimit.defaultSeconds,
                cause: cause(error, status)
            )
            return ProviderFault(failure, signal)
        }
        if let answer = answer(error, status: status) { return ProviderFault(answer, .answered) }
        guard error.isTransient || error.meaning == 1 || error.meaning == 2 || status >= 500 else {
            return ProviderFault(.badReply(.facebook, details: error.details, cause: cause(error, status)), .answered)
        }
        return ProviderFault(.unavailable(.facebook, details: error.details, cause: cause(error, status)), .transient)
    }

    /// Returns what a rate-limit error shows about Graph's health; nil for any other error.
    ///
    /// The codes are those of docs/protocols/facebook.md §3.2. Code 17 limits only the requests of one user, so Graph
    /// counts as healthy.
    private func limitSignal(_ error: GraphError, status: Int) -> HealthSignal? {
        switch error.meaning {
        case 17: .answered
        case 4, 9, 32, 341, 613, .some(80000...80014): .limited(RateLimit(seconds: retryAfter))
        default: status == 429 ? .limited(RateLimit(seconds: retryAfter)) : nil
        }
    }

    /// Returns the failure for an error that the request, the token or the app has caused; nil for a failure of Graph.
    private func answer(_ error: GraphError, status: Int) -> Failure? {
        if let permanent = permanentDespiteItsCode(error, status) { return permanent }
        if error.isTransient { return nil }
        switch error.meaning {
        case 190, 102: return token(error, status)
        case 100, 2500: return parameter(error, status)
        case 12: return removed(error, status)
        case 3, 101, 2635: return misconfigured(error, status)
        case 104: return error.mentionsProof ? proof(error, status) : invalid(error, status)
        case 10, .some(200...299): return permission(error, status)
        case 368: return actionRequired(error, status)
        case 412, 450, 452: return invalid(error, status)
        default: return nil
        }
    }

    /// Returns the failure for an error with code 1 if its text shows that the error is permanent; nil otherwise.
    ///
    /// Usually, code 1 means a temporary error.
    private func permanentDespiteItsCode(_ error: GraphError, _ status: Int) -> Failure? {
        guard error.meaning == 1 else { return nil }
        if error.text.says("desktop app") || error.text.says("client secret") { return misconfigured(error, status) }
        if error.text.says("reduce the amount of data") {
            return failure(
                .mappingInvalid,
                "The mapping requests more from Facebook than one request may have. Map fewer fields.",
                error,
                status
            )
        }
        return nil
    }

    // MARK: Tokens

    private func token(_ error: GraphError, _ status: Int) -> Failure {
        if subject == .appToken, speaksOfApp(error) { return misconfigured(error, status) }
        switch error.subcode {
        case 458, 460, 466, 467: return revoked(error, status)
        case 459, 464, 490: return actionRequired(error, status)
        case 463: return expired(error, status)
        default: return tokenByText(error, status)
        }
    }

    /// Returns whether the error is about the app: the app secret is wrong, or the app id is unknown.
    private func speaksOfApp(_ error: GraphError) -> Bool {
        error.text.says("access token signature") || error.text.says("validating application")
            || error.text.says("client secret")
    }

    private func tokenByText(_ error: GraphError, _ status: Int) -> Failure {
        let text = error.text
        if text.says("bad signature") {
            return failure(
                .credentialWrongKind,
                """
                Facebook refuses this access token. It may be an ID token (JWT) of Limited Login. Send an ID token as \
                idToken.
                """,
                error,
                status
            )
        }
        if text.says("debug only access token") {
            return failure(
                .credentialWrongKind,
                "This token is only for debugging. Send the access token that the Facebook SDK returns after a login.",
                error,
                status
            )
        }
        if isUnreadable(text) { return unreadable(error, status) }
        if text.says("expired") { return expired(error, status) }
        if text.says("log in to www.facebook.com") || text.says("follow the instructions") || text.says("confirm")
            || text.says("checkpoint")
        {
            return actionRequired(error, status)
        }
        if text.says("invalidated") || text.says("changed the") || text.says("logged out")
            || text.says("has not authorized application")
        {
            return revoked(error, status)
        }
        return invalid(error, status)
    }

    /// Returns whether the text says that Graph cannot read the token.
    ///
    /// Graph has one present text for this and three older ones.
    private func isUnreadable(_ text: GraphText) -> Bool {
        text.says("cannot parse access token") || text.says("malformed access token")
            || text.says("invalid oauth access token data") || text.says("invalid oauth access token.")
    }

    /// Returns the failure for a token that Graph cannot parse.
    ///
    /// A token that begins with `EAA` was damaged on its way. Any other token was never an access token. Usually it is
    /// the placeholder that the iOS SDK has if tracking is denied. A new login would only bring another placeholder.
    private func unreadable(_ error: GraphError, _ status: Int) -> Failure {
        guard !isGraphToken else { return invalid(error, status) }
        return failure(
            .credentialWrongKind,
            """
            Facebook cannot read this access token. On iOS, when App Tracking Transparency is denied, the SDK's AccessToken \
            is only a placeholder: send AuthenticationToken.tokenString as idToken instead. Elsewhere, check that the token \
            arrives unchanged.
            """,
            error,
            status
        )
    }

    private func expired(_ error: GraphError, _ status: Int) -> Failure {
        failure(.credentialExpired, "The access token has expired. Log in with Facebook again.", error, status)
    }

    private func revoked(_ error: GraphError, _ status: Int) -> Failure {
        failure(
            .credentialRevoked,
            """
            Facebook has revoked the access token, because the user removed the app, logged out or changed the \
            password. Log in with Facebook again.
            """,
            error,
            status
        )
    }

    private func actionRequired(_ error: GraphError, _ status: Int) -> Failure {
        failure(
            .userActionRequired,
            """
            Facebook requires an action of the user. Open www.facebook.com, log in there and follow the instructions. \
            Then log in here again.
            """,
            error,
            status
        )
    }

    private func invalid(_ error: GraphError, _ status: Int) -> Failure {
        guard subject == .userToken || error.meaning == 190 || error.meaning == 102 else {
            return misconfigured(error, status)
        }
        return failure(
            .credentialInvalid,
            "Facebook does not accept this access token. Log in with Facebook again.",
            error,
            status
        )
    }

    // MARK: Parameters

    private func parameter(_ error: GraphError, _ status: Int) -> Failure {
        let text = error.text
        // The token does not belong to a user. For example, a page has other fields.
        if text.says(" on node type ("), !text.says(" on node type (user)") { return invalid(error, status) }
        for phrase in ["nonexisting field (", "unknown fields: ", "Syntax error \"Field "] {
            guard let field = text.name(after: phrase) else { continue }
            return mapping(field, error, status)
        }
        if text.says("nonexisting field") || text.says("unknown fields") || text.says("syntax error") {
            return mapping(nil, error, status)
        }
        if error.mentionsProof { return proof(error, status) }
        if subject == .appToken || text.says("unknown path components") { return misconfigured(error, status) }
        return invalid(error, status)
    }

    /// Returns the failure for a field that this Graph version no longer has.
    ///
    /// Another version may have it.
    private func removed(_ error: GraphError, _ status: Int) -> Failure {
        guard subject == .userToken else { return misconfigured(error, status) }
        let names = [" field is deprecated", " API is deprecated", " is deprecated"].lazy
        let field = names.compactMap { error.text.name(before: $0) }.first
        return mapping(field, error, status, because: "which this Graph version no longer has")
    }

    private func mapping(
        _ field: String?,
        _ error: GraphError,
        _ status: Int,
        because problem: String = "which does not exist or was requested twice"
    ) -> Failure {
        var details = error.details
        if let field { details.append("field", .string(field)) }
        let subject = field.map { "the field \($0)" } ?? "one of the fields"
        return Failure(
            .mappingInvalid,
            "The mapping requests \(subject) from Facebook, \(problem). Correct the mapping.",
            details: details,
            cause: cause(error, status)
        )
    }

    /// Returns the failure for an `appsecret_proof` that Graph refuses.
    ///
    /// On `/me`, a token of another app causes this error, too. `AccessTokenCheck` compares it with the outcome of
    /// `debug_token`.
    private func proof(_ error: GraphError, _ status: Int) -> Failure {
        failure(
            .providerMisconfigured,
            """
            Facebook refuses the appsecret_proof of the request. The operator must check the app secret and the clock \
            of the server: a timed proof is valid for five minutes.
            """,
            error,
            status,
            retryAfter: 60
        )
    }

    private func misconfigured(_ error: GraphError, _ status: Int) -> Failure {
        failure(
            .providerMisconfigured,
            """
            Facebook refuses the settings of the app. The operator must check the app id, the app secret and the Graph \
            version, and that the app is not of the type "Native or desktop app".
            """,
            error,
            status,
            retryAfter: 60
        )
    }

    /// Returns the failure for an app that Facebook blocks from its API.
    ///
    /// No permission of the user would help.
    private func blocked(_ error: GraphError, _ status: Int) -> Failure {
        failure(
            .providerMisconfigured,
            """
            Facebook does not allow this app to call its API for users. The operator must check at \
            developers.facebook.com what Facebook requires: live mode, a review, a verification, or the end of a \
            restriction.
            """,
            error,
            status,
            retryAfter: 60
        )
    }

    // MARK: Permissions

    private func permission(_ error: GraphError, _ status: Int) -> Failure {
        if error.saysBlocked { return blocked(error, status) }
        if subject == .appToken || error.text.says("valid app id") { return misconfigured(error, status) }
        var details = error.details
        let named = Self.permissions.first { error.text.says($0) }
        if let named { details.append("permission", .string(named)) }
        let permission = named.map { "the permission \($0)" } ?? "a permission"
        return Failure(
            .permissionMissing,
            "The mapping needs \(permission) at Facebook. Log in again and request it.",
            details: details,
            cause: cause(error, status)
        )
    }

    /// The permissions that fields of a user may need (docs/protocols/facebook.md §2).
    ///
    /// A longer name must precede a name that it contains.
    private static let permissions = [
        "public_profile", "user_age_range", "user_birthday", "user_friends", "user_gender", "user_hometown",
        "user_link",
        "user_location", "user_likes", "user_photos", "user_posts", "user_videos", "email",
    ]

    // MARK: Building

    private func failure(
        _ reason: Failure.Reason,
        _ message: String,
        _ error: GraphError,
        _ status: Int,
        retryAfter: Int? = nil
    ) -> Failure {
        Failure(reason, message, details: error.details, retryAfter: retryAfter, cause: cause(error, status))
    }

    private func cause(_ error: GraphError, _ status: Int) -> String {
        "Graph error \(error.code.map(String.init) ?? "without code"), HTTP status \(status)"
    }
}
