import Domain
import Encodings
import Providers

/// Decides from Facebook's responses about a kept access token whether the token and the user's identity are still
/// valid.
///
/// The rules of a login apply (`AccessTokenCheck`). In addition, the token must belong to the user of the identity. If
/// a login would refuse the token, the verdict is revoked, invalid or unknown. There is one exception: a token remains
/// valid if only the access to the user's data has expired.
///
/// The check is a pure function of the responses.
struct KeptTokenCheck: Sendable {
    /// The identity of the user to whom the kept token must belong.
    let identity: IdentityKey
    /// The app whose credentials were sent to Graph with the token.
    let app: ProviderApp
    /// The current time in Unix seconds.
    let now: Int64

    /// Returns the verdict on the responses of `debug_token` and `/me`.
    ///
    /// The profile is nil if `/me` was not requested.
    func verdict(
        on inspection: AccessTokenEvidence.Inspection,
        _ profile: AccessTokenEvidence.Profile?
    ) -> TokenVerdict {
        // The subject of the identity is known, so it takes the place of a response of `/me`.
        let known = AccessTokenEvidence.Profile.user(["id": .string(identity.subject.text)])
        let alone = AccessTokenEvidence(inspection: inspection, profile: known)
        let judgement = AccessTokenCheck.verify(evidence: alone, app: app, of: identity.provider, now: now)
        guard case .token(let token) = inspection else {
            guard case .refused(let failure) = judgement else { return .invalid(Self.ofAnotherApp) }
            return .unknown(failure)
        }
        guard token.userID?.hasSameBytes(as: identity.subject.text) ?? true else {
            return .unknown(Self.ofAnotherPerson)
        }
        switch judgement {
        case .otherApp:
            return .invalid(Self.ofAnotherApp)
        case .refused(let failure):
            return refused(failure, token, profile)
        case .accepted:
            switch profile {
            case nil:
                return .stands(token.facts, .notAsked)
            case .user(let user):
                guard user["id"]?.string?.hasSameBytes(as: identity.subject.text) == true else {
                    return .unknown(Self.ofAnotherPerson)
                }
                return .stands(token.facts, .profile(user))
            case .failed(let failure):
                return failure.reason == .credentialRevoked
                    ? .revoked(failure) : .stands(token.facts, .failed(failure))
            }
        }
    }

    /// Returns the verdict on a kept token that a login would refuse.
    private func refused(
        _ failure: Failure,
        _ token: TokenInspection,
        _ profile: AccessTokenEvidence.Profile?
    ) -> TokenVerdict {
        switch failure.reason {
        case .credentialRevoked:
            return .revoked(failure)
        case .credentialExpired:
            // Access to the user's data expires 90 days after the user last used the app. The token itself remains
            // valid for requests that need no user data (docs/protocols/facebook.md §6).
            let hasEnded = token.expiresAt.map { $0 != 0 && $0 <= now } ?? false
            guard token.isValid, token.refusal == nil, !hasEnded else { return .invalid(failure) }
            guard case .failed(let failure) = profile else { return .stands(token.facts, .notAsked) }
            return .stands(token.facts, .failed(failure))
        // Facebook does not say that the user revoked this token. For example, a new app secret ends all tokens of the
        // app.
        case .credentialInvalid, .credentialWrongKind:
            return .invalid(failure)
        default:
            return .unknown(failure)
        }
    }

    private static let ofAnotherApp = Failure(
        .credentialInvalid,
        "The stored access token was issued for another Facebook app. Log in with Facebook again."
    )

    private static let ofAnotherPerson = Failure(
        .providerBadReply,
        "Facebook's response about the stored access token names another user. Try again later.",
        retryAfter: 60
    )
}

extension TokenInspection {
    fileprivate var facts: TokenFacts {
        TokenFacts(
            scopes: scopes,
            // 0 means never.
            dataAccessExpiresAt: dataAccessExpiresAt == 0 ? nil : dataAccessExpiresAt,
            expiresAt: expiresAt == 0 ? nil : expiresAt
        )
    }
}
