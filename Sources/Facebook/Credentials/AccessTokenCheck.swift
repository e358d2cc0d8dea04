package import Domain
import Encodings

/// The check of an access token: `debug_token`, `/me` and the application must agree (decision D2).
package enum AccessTokenCheck {
    /// The outcome of the check.
    package enum Verdict: Sendable {
        /// Facebook confirms the token, for this app and this user.
        case accepted(VerifiedPerson)
        /// The token was issued for another app; another app of the same application may be tried.
        case otherApp
        case refused(Failure)
    }

    /// Returns the verdict on the evidence about one token for one app.
    ///
    /// Times are compared without tolerance. Facebook decides by its own clock, in `is_valid`, whether a token has
    /// expired. Comparing `expires_at` with our clock is a second check against contradictory responses. A tolerance
    /// would weaken that check by a minute and would only help tokens that expire within the error of our clock.
    ///
    /// - Parameters:
    ///   - evidence: The responses of Graph.
    ///   - app: The app whose credentials were sent to Graph.
    ///   - provider: The operator's name for the provider.
    ///   - now: Unix seconds.
    /// - Returns: The verdict; `accepted` only when everything agrees.
    package static func verify(
        evidence: AccessTokenEvidence,
        app: ProviderApp,
        of provider: ProviderName,
        now: Int64
    ) -> Verdict {
        guard app.secret.byteCount > 0 else {
            return .refused(
                Failure(
                    .providerMisconfigured,
                    "The Facebook app has no secret here, so nothing can be verified. The operator has to set it."
                )
            )
        }
        switch evidence.inspection {
        case .otherApp:
            return .otherApp
        case .failed(let failure):
            return .refused(weightier(failure, evidence.profile))
        case .token(let token):
            return verdict(token, evidence.profile, app: app.id, of: provider, now: now)
        }
    }

    private static func verdict(
        _ token: TokenInspection,
        _ profile: AccessTokenEvidence.Profile,
        app: ProviderAppID,
        of provider: ProviderName,
        now: Int64
    ) -> Verdict {
        if let appID = token.appID, !appID.hasSameBytes(as: app.text) { return .otherApp }
        do throws(Failure) {
            try checkKind(token)
            try checkValidity(token, now: now)
            let subject = try subject(of: token)
            switch profile {
            case .failed(let failure):
                return .refused(failure)
            case .user(let user):
                try check(user, isOf: subject)
                // 0 means never.
                func end(_ time: Int64?) -> Int64? { time == 0 ? nil : time }
                return .accepted(
                    VerifiedPerson(
                        identity: IdentityKey(provider: provider, app: app, subject: subject),
                        profile: user,
                        scopes: token.scopes,
                        dataAccessExpiresAt: end(token.dataAccessExpiresAt),
                        credentialExpiresAt: end(token.expiresAt)
                    )
                )
            }
        } catch {
            return .refused(error)
        }
    }

    /// Throws for page, app and system-user tokens: they pass `is_valid`, and a page token even has a user id (T-17).
    private static func checkKind(_ token: TokenInspection) throws(Failure) {
        guard let type = token.type, !type.hasSameBytes(as: "USER") else { return }
        throw Failure(
            .credentialWrongKind,
            """
            This token does not stand for a person but for a page, an app or a system user. Send the access token that the \
            Facebook SDK gives after a person has logged in.
            """
        )
    }

    private static func checkValidity(_ token: TokenInspection, now: Int64) throws(Failure) {
        if let refusal = token.refusal { throw refusal }
        if isOver(token.expiresAt, now: now) {
            throw Failure(.credentialExpired, "The access token has expired. Log in with Facebook again.")
        }
        guard token.isValid else {
            throw Failure(
                .credentialInvalid,
                "Facebook says that this access token is not valid. Log in with Facebook again."
            )
        }
        if isOver(token.dataAccessExpiresAt, now: now) {
            throw Failure(
                .credentialExpired,
                """
                The access to the person's Facebook data has expired, 90 days after they last used the app. Log in with \
                Facebook again (reauthorize) to renew data access.
                """
            )
        }
        // An undecodable token has neither, but such a token is not valid either.
        guard token.appID != nil, token.type != nil else {
            throw contradiction("debug_token calls a token valid without app_id or type")
        }
    }

    /// Returns whether a time has passed; an absent time never has.
    ///
    /// Facebook's statement about expiry is `is_valid`, and not every token carries both times.
    private static func isOver(_ end: Int64?, now: Int64) -> Bool {
        guard let end, end != 0 else { return false }
        return end <= now
    }

    private static func subject(of token: TokenInspection) throws(Failure) -> Subject {
        guard let id = token.userID, let subject = Subject(decimal: id) else {
            throw contradiction("debug_token gives no user_id of decimal digits")
        }
        return subject
    }

    private static func check(_ user: JSONObject, isOf subject: Subject) throws(Failure) {
        guard let id = user["id"]?.string, Subject(decimal: id) != nil else {
            throw contradiction("/me gives no id of decimal digits")
        }
        guard id.hasSameBytes(as: subject.text) else {
            throw Failure(
                .credentialInvalid,
                "Facebook's two answers about this access token name different people. Log in with Facebook again.",
                cause: "debug_token and /me disagree on the user id"
            )
        }
    }

    private static func contradiction(_ cause: String) -> Failure {
        Failure(
            .providerBadReply,
            "Facebook's answer about this access token cannot be understood. Try again later.",
            retryAfter: 5,
            cause: cause
        )
    }

    // MARK: Two failures

    /// Returns the failure to report when `debug_token` gave no verdict.
    ///
    /// A verdict of `/me` on the credential or the request takes precedence over an upstream error of `debug_token`,
    /// because a retry would not change it. A misconfigured app takes precedence over both: `/me` refuses a good token,
    /// too, when the proof was made with the wrong secret. A failed proof at `/me` alone does not count as a
    /// misconfiguration: our proof does not fit a token of another app either.
    private static func weightier(_ inspection: Failure, _ profile: AccessTokenEvidence.Profile) -> Failure {
        guard case .failed(let profile) = profile, inspection.reason.isTemporary, profile.reason.isVerdict else {
            return inspection
        }
        return profile
    }
}

extension Failure.Reason {
    /// Whether the same request may succeed later.
    fileprivate var isTemporary: Bool {
        switch self {
        case .providerUnavailable, .providerTimeout, .providerBadReply, .providerRateLimited, .overloaded: true
        default: false
        }
    }

    /// Whether the reason concerns the credential or the request, so that a retry does not change it.
    fileprivate var isVerdict: Bool {
        switch self {
        case .credentialInvalid, .credentialExpired, .credentialRevoked, .credentialWrongKind, .userActionRequired,
            .permissionMissing, .mappingInvalid:
            true
        default: false
        }
    }
}
