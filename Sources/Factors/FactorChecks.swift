package import Applications
package import Domain
package import Encodings
package import Messaging
import OneTimeCodes
import Secrets
package import Store
import WebAuthn

/// Sends or creates the challenges of second factors, and checks users' responses.
///
/// The type is a class: with a struct, the frame of each function that waits for a provider would contain a copy.
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

    /// Returns the factors that the application accepts and the deployment can use, from the oldest to the newest.
    package func usable(_ factors: [StoredFactor], in application: Application) -> [StoredFactor] {
        let policy = application.settings.secondFactor
        let allowed = factors.filter { policy.allows($0.kind) && offers($0.kind) }
        return allowed.filter { $0.kind != .recoveryCode || !$0.codes.isEmpty }
    }

    /// Returns the usable factors of a user who has shown access to a mailbox already.
    ///
    /// A code by mail to that mailbox, in any spelling of its address, would be the same factor again. So it is left
    /// out.
    ///
    /// - Parameters:
    ///   - factors: The factors of the user.
    ///   - address: An address of the mailbox; nil if the user has shown access to none.
    ///   - application: The application of the user.
    /// - Returns: The factors, from the oldest to the newest.
    package func usable(
        _ factors: [StoredFactor],
        besidesMailbox address: String?,
        in application: Application
    ) -> [StoredFactor] {
        let usable = usable(factors, in: application)
        guard let address else { return usable }
        let mailbox = EmailAddress(address)?.mailbox
        return usable.filter { factor in
            factor.kind != .email
                || hints.target(of: factor, of: application.id).flatMap { EmailAddress($0)?.mailbox } != mailbox
        }
    }

    /// Returns whether this deployment can use factors of a kind.
    package func offers(_ kind: FactorKind) -> Bool { !kind.isDelivered || delivery.canSend(kind) }

    /// Starts the challenge for a factor: sends a code, or makes a passkey challenge.
    ///
    /// - Parameters:
    ///   - id: The id of the factor; for a passkey, the challenge allows all passkeys of the user.
    ///   - user: The id of the user.
    ///   - address: An address of the mailbox to which the user has shown access already; nil if there is none.
    ///   - occasion: The operation that needs the factor, such as a login or a step-up.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    /// - Returns: The challenge for the user.
    /// - Throws: `not_found`, `too_many_attempts`, `code_not_delivered` and other errors of sending a code.
    package func challenge(
        _ id: ObjectID,
        of user: ObjectID,
        besidesMailbox address: String? = nil,
        for occasion: FactorOccasion,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> FactorChallenge {
        let application = loaded.application
        let stored = try await store.factors(of: user, in: application)
        let factors = usable(stored, besidesMailbox: address, in: application)
        guard let factor = factors.first(where: { $0.id == id }) else { throw .notOffered }
        switch factor.kind {
        case .totp, .recoveryCode: return FactorChallenge(sentTo: nil, publicKey: nil)
        case .passkey: return passkeyChallenge(among: factors, for: occasion, in: application)
        case .sms, .email:
            guard let target = hints.target(of: factor, of: application.id) else {
                throw .unreadable(factor, of: application.id)
            }
            let person = try await store.storedUser(user, of: application)?.user
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

    /// Returns the challenge for a factor without sending a code.
    ///
    /// For a passkey, the challenge has the options for the browser; for any other factor, the challenge is empty.
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

    /// The seconds within which a user must present a second factor that the service has asked for.
    package static let seconds: Int64 = 300

    /// Checks a user's response against a second factor.
    ///
    /// Every check of a user's factor goes through this method, so none bypasses the limits. There are three limits: of
    /// the factor, of the source and of the occasion. The limit of the factor counts each response that an attacker
    /// could guess, before the check and across all instances. A right response is no longer counted once its use is
    /// recorded. The other two limits count only wrong responses, after the check. So concurrent attempts may exceed
    /// the limits of source and occasion, but never that of the factor. A passkey of another user counts against none
    /// of the limits.
    ///
    /// - Parameters:
    ///   - response: The response of the user.
    ///   - id: The id of the factor; nil if the credential of a passkey identifies the factor.
    ///   - user: The id of the user.
    ///   - factors: The valid factors, if they differ from the user's present factors.
    ///   - occasion: The operation that needs the factor, such as a login or a step-up.
    ///   - use: The use of the factor. Wrong responses are counted for each use separately. So an attacker who has the
    ///     password and guesses codes at logins does not lock the user out of step-ups and mailed links.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    /// - Returns: The checked factor. The caller must record its use in the transaction that completes the login,
    ///   step-up or enrolment.
    /// - Throws: `second_factor_invalid`; `pending_login_invalid` when too many wrong codes were sent for the occasion;
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
        if let refusal = counted.refusal { throw refusal.failure(orTry: "use another second factor") }
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

    /// Returns the id of the factor that a response is for: the given id for a code, that of the passkey otherwise.
    ///
    /// - Throws: `malformed_request` for a code without a factor id; `second_factor_invalid` for an unknown passkey.
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

    /// Checks the passkey of a login by a passkey alone.
    ///
    /// - Parameters:
    ///   - credential: The credential from the authenticator.
    ///   - occasion: The operation that needs the factor, such as a login or a step-up.
    ///   - isRepeated: Whether the request is a retry. Then the signature of the credential is not checked, since the
    ///     first request has used it up.
    ///   - application: The application of the user.
    /// - Returns: The user of the passkey, and the factor. The caller must record the use of the factor when it writes
    ///   the login.
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

    /// Returns the options for a login by passkey; nil if no relying party is configured.
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

// MARK: - Codes that show access to an account's mailbox

extension FactorChecks {
    /// Mails a one-time code to an account, which a first login by a provider may belong to.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - provider: The displayed name of the provider.
    ///   - occasion: The pending login.
    ///   - seconds: The seconds until the pending login's expiry.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    /// - Returns: The masked address.
    /// - Throws: `too_many_attempts` beyond the limits of the mailbox; `mail_off`.
    package func mailCode(
        to account: User,
        connecting provider: String,
        for occasion: FactorOccasion,
        seconds: Int64,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> String? {
        let address = account.email ?? ""
        try await delivery.send(
            occasion,
            of: account.objectID,
            by: .email,
            to: address,
            for: .connecting(provider: provider),
            user: account,
            seconds: seconds,
            from: source,
            in: loaded
        )
        return FactorHints.masked(address)
    }

    /// Checks the code that was mailed to an account.
    ///
    /// Wrong codes are limited as those of a second factor: for each account, each source and each pending login.
    ///
    /// - Throws: `login_invalid` for a wrong code; `pending_login_invalid` after too many wrong codes for the pending
    ///   login; `too_many_attempts`.
    package func checkCode(
        _ code: String,
        mailedTo id: ObjectID,
        for occasion: FactorOccasion,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        let application = loaded.application
        let account = Digest.sha256("account code \(id)")
        let counts = AttemptCount.failures(for: occasion, from: source) + [AttemptCount(for: account, by: .factor)]
        let refusal = try await attempts.count(counts, of: application, before: .now + limits.login)
        if let refusal { throw refusal.failure(orTry: "log in to the account in another way") }
        guard occasion.isCode(code, of: id) else {
            throw Failure(.loginInvalid, "This code is wrong. Enter the code of the newest mail.")
        }
        try await store.forgiveAttempt(AttemptKeys(source: source.attemptKey, account: account), of: application)
    }
}

/// What a second factor is needed for: a login, a step-up of a session, or a mailed link that sets a password.
package enum FactorUse: String, Sendable {
    case login, session, link
}

extension FactorResponse {
    /// Whether an attacker can guess the response.
    ///
    /// True for codes of six digits; false for recovery codes of 80 bits and for the signatures of passkeys.
    var canBeGuessed: Bool {
        guard case .code(let code) = self else { return false }
        return RecoveryCode(typed: code) == nil
    }
}

extension FactorOccasion {
    /// The key under which the wrong codes of one login, step-up or enrolment are counted.
    var attemptKey: [UInt8] { Digest.sha256("occasion " + Base64URL.encode(bytes)) }
}

extension RecoveryCode {
    /// Returns the recovery code in the form in which it is stored in the list of unused codes.
    func stored(of user: ObjectID) -> String { Base64URL.encode(hash(of: user)) }
}

extension AttemptCount {
    /// Returns the counters of wrong codes: one for the source of the request, and one for the login, step-up or
    /// enrolment.
    ///
    /// The counter of the factor is not among them.
    static func failures(for occasion: FactorOccasion, from source: RequestSource) -> [AttemptCount] {
        [
            AttemptCount(for: source.attemptKey, by: .source),
            AttemptCount(for: occasion.attemptKey, by: .pendingLogin),
        ]
    }
}

extension AttemptRefusal {
    /// The index in the result of `AttemptCount.failures(for:from:)` of the counter for the occasion of the check.
    ///
    /// The occasion is a login, a step-up or an enrolment.
    private static let occasion = 1

    /// The error for a code that was refused because of too many wrong codes.
    ///
    /// If there were too many for one login or step-up, that login or step-up has ended. If there were too many for a
    /// factor or a source, the user can try again later.
    fileprivate func failure(orTry other: String) -> Failure {
        guard position != Self.occasion else {
            return Failure(.pendingLoginInvalid, "Too many wrong codes. This login has ended. Log in again.")
        }
        return Failure(
            .tooManyAttempts,
            "Too many wrong codes. Wait \(seconds) seconds, or \(other).",
            retryAfter: seconds
        )
    }
}

extension Failure {
    static let factorInvalid = Failure(
        .secondFactorInvalid,
        "This code is wrong or has been used. Enter the newest code."
    )
    package static let notOffered = Failure(
        .notFound,
        "This second factor does not exist. Choose one of the offered factors."
    )
    /// The failure for a code without a factor id.
    package static let noFactorNamed = Failure(
        .malformedRequest,
        "factorId must be the id of one of the offered factors."
    )

    static func unreadable(_ factor: StoredFactor, of application: ApplicationID?) -> Failure {
        let owner = application?.text ?? "an operator"
        return Failure(
            .storedValueUnreadable,
            "This second factor cannot be read. Use another one, and contact the operator of the app.",
            cause: "factor \(factor.id) of \(owner) is under master key \(factor.secret?.keyID ?? "none")"
        )
    }
}
