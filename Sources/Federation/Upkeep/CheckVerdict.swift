import Identity
import Store
import Verification

/// What Facebook's answers about a kept token mean for its identity; a pure function of them.
///
/// The rules of a login decide (`AccessTokenCheck`): what counts there counts here, and it must be the identity's own person. What a
/// login refuses is then one of three things: the person has withdrawn the token, the token has come to its end, or nobody can tell.
enum CheckVerdict: Sendable {
    /// The token stands; with the profile, if one was asked for and may be used.
    case stands(TokenInspection, profile: JSONObject?)
    /// Facebook has withdrawn the token, or does not know it any more: the identity is revoked.
    case revoked(Failure)
    /// The token has come to its end without anybody's doing; the identity stays as it is.
    case worthless(Failure)
    /// Nothing is known; worth asking again.
    case unknown(Failure)

    /// Judges the answers.
    ///
    /// - Parameters:
    ///   - inspection: What `debug_token` said.
    ///   - profile: What `/me` said; nil when it was not asked.
    ///   - app: The app as which Graph was asked.
    ///   - subject: Whose token it was when it was kept.
    ///   - now: Unix seconds.
    init(
        inspection: AccessTokenEvidence.Inspection,
        profile: AccessTokenEvidence.Profile?,
        app: ProviderApp,
        subject: Subject,
        now: Int64
    ) {
        // The person whom we know stands in for what /me says.
        let known = AccessTokenEvidence.Profile.user(["id": .string(subject.text)])
        let alone = AccessTokenEvidence(inspection: inspection, profile: known)
        guard case .token(let token) = inspection else {
            if case .refused(let failure) = AccessTokenCheck.verify(evidence: alone, app: app, now: now) {
                self = .unknown(failure)
            } else {
                self = .worthless(Self.ofAnotherApp)
            }
            return
        }
        guard token.userID?.hasSameBytes(as: subject.text) ?? true else {
            self = .unknown(Self.ofAnotherPerson)
            return
        }
        switch AccessTokenCheck.verify(evidence: alone, app: app, now: now) {
        case .otherApp:
            self = .worthless(Self.ofAnotherApp)
        case .refused(let failure):
            self = Self.refused(failure, token, now: now)
        case .accepted:
            switch profile {
            case nil:
                self = .stands(token, profile: nil)
            case .user(let user):
                guard user["id"]?.string?.hasSameBytes(as: subject.text) == true else {
                    self = .unknown(Self.ofAnotherPerson)
                    return
                }
                self = .stands(token, profile: user)
            case .failed(let failure):
                self = failure.reason == .credentialRevoked ? .revoked(failure) : .stands(token, profile: nil)
            }
        }
    }

    /// What it means that the token itself is refused.
    private static func refused(_ failure: Failure, _ token: TokenInspection, now: Int64) -> CheckVerdict {
        switch failure.reason {
        case .credentialRevoked:
            return .revoked(failure)
        case .credentialExpired:
            // Access to the person's data ends 90 days after they came last; the token stays good for less
            // (docs/protocols/facebook.md §6).
            let hasEnded = token.expiresAt.map { $0 != 0 && $0 <= now } ?? false
            return token.isValid && token.refusal == nil && !hasEnded
                ? .stands(token, profile: nil) : .worthless(failure)
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
