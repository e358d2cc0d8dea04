import Domain
import Encodings
import Providers

/// The meaning of Facebook's responses about a kept token for its identity.
///
/// A pure function of the responses. The rules of a login apply (`AccessTokenCheck`), and the token must belong to the
/// user of the identity. A token that a login would refuse is revoked by the user, expired, or in an unknown state.
struct KeptTokenCheck: Sendable {
    /// The identity that the token was kept for.
    let identity: IdentityKey
    /// The app whose credentials were sent to Graph.
    let app: ProviderApp
    /// Unix seconds.
    let now: Int64

    /// Returns the verdict on the responses of `debug_token` and `/me`; the profile is nil when `/me` was not asked.
    func verdict(
        on inspection: AccessTokenEvidence.Inspection,
        _ profile: AccessTokenEvidence.Profile?
    ) -> TokenVerdict {
        // The known user of the identity stands in for the response of `/me`.
        let known = AccessTokenEvidence.Profile.user(["id": .string(identity.subject.text)])
        let alone = AccessTokenEvidence(inspection: inspection, profile: known)
        let judgement = AccessTokenCheck.verify(evidence: alone, app: app, of: identity.provider, now: now)
        guard case .token(let token) = inspection else {
            guard case .refused(let failure) = judgement else { return .worthless(Self.ofAnotherApp) }
            return .unknown(failure)
        }
        guard token.userID?.hasSameBytes(as: identity.subject.text) ?? true else {
            return .unknown(Self.ofAnotherPerson)
        }
        switch judgement {
        case .otherApp:
            return .worthless(Self.ofAnotherApp)
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

    /// Returns the verdict for a token that the login's rules refuse.
    private func refused(
        _ failure: Failure,
        _ token: TokenInspection,
        _ profile: AccessTokenEvidence.Profile?
    ) -> TokenVerdict {
        switch failure.reason {
        case .credentialRevoked:
            return .revoked(failure)
        case .credentialExpired:
            // Access to the user's data expires 90 days after the user's last use of the app. The token stays valid for
            // requests that need no such access (docs/protocols/facebook.md §6).
            let hasEnded = token.expiresAt.map { $0 != 0 && $0 <= now } ?? false
            guard token.isValid, token.refusal == nil, !hasEnded else { return .worthless(failure) }
            guard case .failed(let failure) = profile else { return .stands(token.facts, .notAsked) }
            return .stands(token.facts, .failed(failure))
        // Not revoked by the user, as far as Facebook says: a new app secret, for one, ends all tokens of the app.
        case .credentialInvalid, .credentialWrongKind:
            return .worthless(failure)
        default:
            return .unknown(failure)
        }
    }

    private static let ofAnotherApp = Failure(
        .credentialInvalid,
        "The kept access token was made for another Facebook app. Log in with Facebook again."
    )

    private static let ofAnotherPerson = Failure(
        .providerBadReply,
        "Facebook's answer about the kept access token names another person. Try again later.",
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
