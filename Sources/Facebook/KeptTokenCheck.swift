import Providers
import Vocabulary

/// What Facebook's answers about a kept token mean for its identity; a pure function of them.
///
/// The rules of a login decide (`AccessTokenCheck`): what counts there counts here, and it must be the identity's own
/// person. What a login refuses is then one of three things: the person has withdrawn the token, the token has come to
/// its end, or nobody can tell.
struct KeptTokenCheck: Sendable {
    /// Whose token it was when it was kept.
    let identity: IdentityKey
    /// The app as which Graph was asked.
    let app: ProviderApp
    /// Unix seconds.
    let now: Int64

    /// Judges what `debug_token` said, and what `/me` said; nil when it was not asked.
    func verdict(
        on inspection: AccessTokenEvidence.Inspection,
        _ profile: AccessTokenEvidence.Profile?
    ) -> TokenVerdict {
        // The person whom we know stands in for what /me says.
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

    /// What it means that the token itself is refused.
    private func refused(
        _ failure: Failure,
        _ token: TokenInspection,
        _ profile: AccessTokenEvidence.Profile?
    ) -> TokenVerdict {
        switch failure.reason {
        case .credentialRevoked:
            return .revoked(failure)
        case .credentialExpired:
            // Access to the person's data ends 90 days after they came last; the token stays good for less
            // (docs/protocols/facebook.md §6).
            let hasEnded = token.expiresAt.map { $0 != 0 && $0 <= now } ?? false
            guard token.isValid, token.refusal == nil, !hasEnded else { return .worthless(failure) }
            guard case .failed(let failure) = profile else { return .stands(token.facts, .notAsked) }
            return .stands(token.facts, .failed(failure))
        // Not the person's doing, as far as Facebook says: a new app secret, for one, ends all tokens of the app.
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
            // 0 is never.
            dataAccessExpiresAt: dataAccessExpiresAt == 0 ? nil : dataAccessExpiresAt,
            expiresAt: expiresAt == 0 ? nil : expiresAt
        )
    }
}
