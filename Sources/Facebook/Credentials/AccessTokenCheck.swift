package import Domain
import Encodings

/// Decides whether a Facebook access token is valid for a login.
///
/// Graph's responses to `debug_token` and `/me` must agree with each other and with the application's app (decision
/// D2).
package enum AccessTokenCheck {
    /// The result of checking an access token.
    package enum Verdict: Sendable {
        /// Facebook confirms that the token is for this app and this user.
        case accepted(VerifiedIdentity)
        /// The token was issued for another app. The next app of the application may be tried.
        case otherApp
        case refused(Failure)
    }

    /// Returns the verdict on one token for one app, from Graph's two responses.
    ///
    /// Times are compared without tolerance. Facebook decides by its own clock, in `is_valid`, whether a token has
    /// expired. The comparison of `expires_at` with the service's clock is a second check, against contradictory
    /// responses. A tolerance of a minute would weaken that check. It would help only if the service's clock is fast
    /// and the token is about to expire.
    ///
    /// - Parameters:
    ///   - evidence: The responses of Graph.
    ///   - app: The app whose credentials were sent to Graph.
    ///   - provider: The operator's name for the provider.
    ///   - now: The current time in Unix seconds.
    /// - Returns: The verdict; `accepted` only if all evidence agrees.
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
                    "The Facebook app has no secret here, so tokens cannot be verified. The operator must set it."
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
                    VerifiedIdentity(
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

    /// Refuses tokens of pages, apps and system users.
    ///
    /// Facebook reports such tokens as valid (`is_valid`), and a page token even with a user id (T-17).
    private static func checkKind(_ token: TokenInspection) throws(Failure) {
        guard let type = token.type, !type.hasSameBytes(as: "USER") else { return }
        throw Failure(
            .credentialWrongKind,
            """
            This token belongs to a page, an app or a system user. Send the access token that the Facebook SDK returns \
            after a user has logged in.
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
                "Facebook refuses this access token. Log in with Facebook again."
            )
        }
        if isOver(token.dataAccessExpiresAt, now: now) {
            throw Failure(
                .credentialExpired,
                """
                The access to the user's Facebook data has expired, 90 days after the last use of the app. Log in with \
                Facebook again (reauthorize) to renew data access.
                """
            )
        }
        // A token that Graph cannot decode has neither member. But Graph does not call such a token valid.
        guard token.appID != nil, token.type != nil else {
            throw contradiction("debug_token calls a token valid without app_id or type")
        }
    }

    /// Returns whether the time `end` has passed.
    ///
    /// The result is false for nil, which means that the response has no such time, and for 0, which means never.
    /// Facebook itself states in `is_valid` whether a token has expired.
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
                "Facebook's two responses about this access token name different users. Log in with Facebook again.",
                cause: "debug_token and /me disagree on the user id"
            )
        }
    }

    private static func contradiction(_ cause: String) -> Failure {
        Failure(
            .providerBadReply,
            "Facebook's response about this access token cannot be read. Try again later.",
            retryAfter: 5,
            cause: cause
        )
    }

    // MARK: Two failures

    /// Returns the failure to report if `debug_token` gave no verdict: that of `debug_token`, or that of `/me`.
    ///
    /// The failure of `/me` is reported if `debug_token` failed for a temporary reason and `/me` gave a verdict on the
    /// credential or the request. A retry would not change that verdict.
    ///
    /// If `/me` refuses the `appsecret_proof`, that is not a verdict. The app secret may be wrong, or the token may
    /// belong to another app.
    private static func weightier(_ inspection: Failure, _ profile: AccessTokenEvidence.Profile) -> Failure {
        guard case .failed(let profile) = profile, inspection.reason.isTemporary, profile.reason.isVerdict else {
            return inspection
        }
        return profile
    }
}

extension Failure.Reason {
    /// Whether a retry of the same request may succeed.
    fileprivate var isTemporary: Bool {
        switch self {
        case .providerUnavailable, .providerTimeout, .providerBadReply, .providerRateLimited, .overloaded: true
        default: false
        }
    }

    /// Whether the reason concerns the credential or the request, so that a retry would fail for the same reason.
    fileprivate var isVerdict: Bool {
        switch self {
        case .credentialInvalid, .credentialExpired, .credentialRevoked, .credentialWrongKind, .userActionRequired,
            .permissionMissing, .mappingInvalid:
            true
        default: false
        }
    }
}
