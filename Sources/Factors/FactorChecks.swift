package import Applications
package import Notifications
import OneTimeCodes
import Secrets
package import Store
package import Vocabulary
import WebAuthn

/// Factors that people are asked for and show.
///
/// A class, since what waits for a provider would have it in the frame of each function that waits.
package final class FactorChecks: Sendable {
    let store: Store
    let delivery: CodeDelivery
    let hints: FactorHints
    let attempts: AttemptCounter
    let limits: Limits
    let clock: WallClock

    package init(
        store: Store,
        delivery: CodeDelivery,
        hints: FactorHints,
        attempts: AttemptCounter,
        limits: Limits,
        clock: WallClock
    ) {
        self.store = store
        self.delivery = delivery
        self.hints = hints
        self.attempts = attempts
        self.limits = limits
        self.clock = clock
    }

    /// The factors of a user that the application takes and that can be asked for, from the oldest on.
    package func usable(_ factors: [StoredFactor], in application: Application) -> [StoredFactor] {
        let policy = application.settings.secondFactor
        let allowed = factors.filter { policy.allows($0.kind) && offers($0.kind) }
        return allowed.filter { $0.kind != .recoveryCode || !$0.codes.isEmpty }
    }

    /// Whether this deployment has what a kind needs.
    package func offers(_ kind: FactorKind) -> Bool { !kind.isDelivered || delivery.canSend(kind) }

    /// Asks a person for one of their factors: sends a code, or makes a challenge.
    ///
    /// - Parameters:
    ///   - id: The factor; of a passkey, all of the user's are as good.
    ///   - user: Whose it is.
    ///   - occasion: What it is asked for.
    ///   - source: Where the request comes from.
    ///   - loaded: The application.
    /// - Returns: What the person needs to know.
    /// - Throws: `not_found`, `too_many_attempts`, `code_not_delivered` and what else stands in the way of a code.
    package func challenge(
        _ id: ObjectID,
        of user: ObjectID,
        for occasion: FactorOccasion,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> FactorChallenge {
        let application = loaded.application
        let factors = usable(try await store.factors(of: user, in: application), in: application)
        guard let factor = factors.first(where: { $0.id == id }) else { throw .notOffered }
        switch factor.kind {
        case .totp, .recoveryCode: return FactorChallenge(sentTo: nil, publicKey: nil)
        case .passkey: return passkeyChallenge(among: factors, for: occasion, in: application)
        case .sms, .email:
            guard let target = hints.target(of: factor, of: application.id) else {
                throw .unreadable(factor, of: application.id)
            }
            let person = try await store.person(user, of: application)?.user
            try await delivery.send(
                occasion,
                of: id,
                by: factor.kind,
                to: target,
                for: .showing,
                user: person,
                seconds: Self.seconds,
                from: source,
                in: loaded
            )
            return FactorChallenge(sentTo: FactorHints.masked(target), publicKey: nil)
        }
    }

    /// What a factor asks for by itself: of a passkey the challenge, and nothing that would be sent.
    package func challenge(
        _ factor: Factor,
        among factors: [StoredFactor],
        for occasion: FactorOccasion,
        in application: Application
    ) -> FactorChallenge {
        factor.kind == .passkey
            ? passkeyChallenge(among: factors, for: occasion, in: application)
            : FactorChallenge(sentTo: nil, publicKey: nil)
    }

    private func passkeyChallenge(
        among factors: [StoredFactor],
        for occasion: FactorOccasion,
        in application: Application
    ) -> FactorChallenge {
        FactorChallenge(
            sentTo: nil,
            publicKey: RelyingParty(of: application)?.requestOptions(
                challenge: occasion.challenge,
                allowing: factors.compactMap(\.passkey?.descriptor),
                timeout: Self.seconds
            )
        )
    }

    /// Seconds for which a factor that was asked for may be shown.
    package static let seconds: Int64 = 300

    /// The one place where what somebody shows is held against a factor.
    ///
    /// The guess is counted for the factor before it is looked at, on whatever instance, and counts until what was
    /// shown is used up: every road goes through here, so none leads around the limit. The source and the occasion must
    /// not have to wait; what was wrong counts for them when it is known to be, so guesses under way at once can be
    /// more than they allow, and never more than the factor does. A passkey that is none of the user's is no guess.
    ///
    /// - Parameters:
    ///   - response: What was shown.
    ///   - id: The factor; nil where the credential of a passkey says which.
    ///   - user: Whose it is.
    ///   - factors: Those that count, where they are not those that the user has now.
    ///   - occasion: What it was asked for.
    ///   - use: What that is: guesses of who knows a password shut out no session and no link.
    ///   - source: Where the request comes from.
    ///   - loaded: The application.
    /// - Returns: What the write of the occasion uses up.
    /// - Throws: `second_factor_invalid`; `pending_sign_in_invalid` when the occasion has had its guesses;
    ///   `too_many_attempts`.
    package func check(
        _ response: FactorResponse,
        by id: ObjectID?,
        of user: ObjectID,
        among factors: [StoredFactor]? = nil,
        for occasion: FactorOccasion,
        use: FactorUse,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> CheckedFactor {
        let application = loaded.application
        let id = try await factor(of: response, by: id, of: user, among: factors, in: application)
        var assertion: AssertionResponse?
        if case .credential(let credential) = response { assertion = try Self.assertion(credential) }
        let guess = response.canBeGuessed ? Digest.sha256("factor \(user) \(id) \(use.rawValue)") : nil
        let failures = AttemptCount.failures(for: occasion, from: source)
        let counted = try await attempts.counting(of: application, before: .now + limits.login) { () throws(Failure) in
            try await store.countGuess(
                at: id,
                of: user,
                for: guess.map { [AttemptCount(for: $0, by: .factor)] } ?? [],
                unlessHeld: failures,
                in: application
            )
        }
        if let refusal = counted.refusal { throw refusal.failure }
        do throws(Failure) {
            guard let factor = factors.map({ $0.first { $0.id == id } }) ?? counted.factor,
                usable([factor], in: application).count == 1
            else { throw .factorInvalid }
            let (shown, isVerified) = try FactorRealm(of: application).hold(
                response,
                assertion,
                against: factor,
                for: occasion,
                hints: hints,
                at: clock.seconds
            )
            return CheckedFactor(kind: factor.kind, shown: shown, isUserVerified: isVerified, guess: guess)
        } catch {
            _ = try await attempts.count(failures, of: application, before: .now + limits.login)
            throw error
        }
    }

    /// Which factor of a user's is shown.
    ///
    /// - Throws: `malformed_request` for a code of nothing; `second_factor_invalid` for a passkey of nobody's.
    package func factor(
        of response: FactorResponse,
        by id: ObjectID?,
        of user: ObjectID,
        among known: [StoredFactor]? = nil,
        in application: Application
    ) async throws(Failure) -> ObjectID {
        guard case .credential(let credential) = response else {
            guard let id else { throw .noFactorNamed }
            return id
        }
        let credentialID = try Self.assertion(credential).credentialID
        var factors = known ?? []
        if known == nil { factors = try await store.factors(of: user, in: application) }
        guard let factor = factors.first(where: { $0.passkey?.credentialID == credentialID }) else {
            throw .factorInvalid
        }
        return factor.id
    }

    /// The passkey by which somebody logs in who has not said who they are; it has made sure who holds it.
    ///
    /// - Parameters:
    ///   - credential: What an authenticator gave.
    ///   - occasion: What it was asked for.
    ///   - isRepeated: Whether it has logged in before, for the same occasion: it was checked then.
    ///   - application: Whose user it may be.
    /// - Returns: Whose passkey it is, and what the write of the login uses up.
    /// - Throws: `second_factor_invalid`, for every reason alike.
    package func checkLogin(
        by credential: JSONValue,
        for occasion: FactorOccasion,
        isRepeated: Bool,
        in application: Application
    ) async throws(Failure) -> (user: ObjectID, factor: ShownFactor) {
        let assertion = try Self.assertion(credential)
        let found = try await store.passkey(ofCredential: assertion.credentialID, in: application)
        guard let found, let relyingParty = RelyingParty(of: application, verifying: true) else {
            throw .factorInvalid
        }
        guard !isRepeated else { return (found.user, ShownFactor(id: found.id)) }
        let shown = try Self.hold(assertion, against: found, for: occasion, by: relyingParty, isUserKnown: false)
        return (found.user, shown.0)
    }

    /// What somebody gets who is to log in by a passkey.
    package func loginOptions(for occasion: FactorOccasion, in application: Application) -> JSONObject? {
        RelyingParty(of: application, verifying: true)?.requestOptions(
            challenge: occasion.challenge,
            allowing: [],
            timeout: Self.seconds
        )
    }

    static func assertion(_ credential: JSONValue) throws(Failure) -> AssertionResponse {
        do throws(CeremonyError) {
            return try AssertionResponse(credential)
        } catch {
            throw error.failure(.secondFactorInvalid)
        }
    }

    static func hold(
        _ assertion: AssertionResponse,
        against factor: StoredFactor,
        for occasion: FactorOccasion,
        by relyingParty: RelyingParty,
        isUserKnown: Bool
    ) throws(Failure) -> (ShownFactor, isUserVerified: Bool) {
        guard let stored = factor.passkey else { throw .factorInvalid }
        do throws(CeremonyError) {
            let verified = try relyingParty.verify(
                assertion,
                challenge: occasion.challenge,
                passkey: stored.passkey(of: factor.user),
                isUserKnown: isUserKnown
            )
            return (ShownFactor(id: factor.id, signCount: Int64(verified.signCount)), verified.isUserVerified)
        } catch {
            throw error.failure(.secondFactorInvalid)
        }
    }
}

/// What a factor is shown for.
package enum FactorUse: String, Sendable {
    case login, session, link
}

extension FactorResponse {
    /// Whether it may be tried until it is right: 80 bits and signatures may not.
    var canBeGuessed: Bool {
        guard case .code(let code) = self else { return false }
        return RecoveryCode(typed: code) == nil
    }
}

extension FactorOccasion {
    /// For what guesses are counted within it.
    var attemptKey: [UInt8] { Digest.sha256("occasion " + Base64URL.encode(bytes)) }
}

extension RecoveryCode {
    /// As it stands in the list of those that are left.
    func stored(of user: ObjectID) -> String { Base64URL.encode(hash(of: user)) }
}

extension AttemptCount {
    /// For what a wrong guess is counted beside the factor.
    static func failures(for occasion: FactorOccasion, from source: RequestSource) -> [AttemptCount] {
        [
            AttemptCount(for: source.attemptKey, by: .source),
            AttemptCount(for: occasion.attemptKey, by: .pendingSignIn),
        ]
    }
}

extension AttemptRefusal {
    /// The position of the occasion among `AttemptCount.failures`.
    private static let occasion = 1

    /// Why nothing may be guessed now; of the occasion itself, nothing ever.
    fileprivate var failure: Failure {
        guard position != Self.occasion else {
            return Failure(.pendingSignInInvalid, "Too many wrong codes: this login has ended. Log in again.")
        }
        return Failure(
            .tooManyAttempts,
            "Too many attempts with a wrong code. Wait \(seconds) s, or use another second factor.",
            retryAfter: seconds
        )
    }
}

extension Failure {
    static let factorInvalid = Failure(
        .secondFactorInvalid,
        "This code is not the right one, or it has been used. Look again, and type the newest one."
    )
    static let notOffered = Failure(
        .notFound,
        "There is no such second factor here. Choose one of those that were offered."
    )
    /// That nobody said which factor a code is of.
    package static let noFactorNamed = Failure(
        .malformedRequest,
        "factorId must be the id of one of the factors that were offered."
    )

    static func unreadable(_ factor: StoredFactor, of application: ApplicationID?) -> Failure {
        let owner = application?.text ?? "an operator"
        return Failure(
            .storedValueUnreadable,
            "This second factor cannot be read. Use another one, and ask the operator of the app.",
            cause: "factor \(factor.id) of \(owner) is under master key \(factor.secret?.keyID ?? "none")"
        )
    }
}
