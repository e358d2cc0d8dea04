package import Applications
package import Notifications
import OneTimeCodes
import Texting
package import Secrets
package import Store
package import Vocabulary
import WebAuthn

/// What somebody wants to enrol, parsed at the edge.
package struct FactorWish: Sendable {
    package let kind: FactorKind
    /// What the person calls it.
    package let label: String?
    /// Where codes shall be sent to; nil where the kind needs none, or for the user's own address.
    package let target: String?

    package init(kind: FactorKind, label: String?, target: String?) {
        self.kind = kind
        self.label = label
        self.target = target
    }

    private static let mostLabelBytes = 200

    /// Holds the label to what can be kept and shown.
    ///
    /// - Throws: `malformed_request`.
    func checkLabel() throws(Failure) {
        guard let label else { return }
        let isShown = label.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard isShown, (1...Self.mostLabelBytes).contains(label.utf8.count) else {
            let rule = "label must be a text of 1 to \(Self.mostLabelBytes) bytes, without control characters."
            throw Failure(.malformedRequest, rule)
        }
    }
}

/// For whom a factor is enrolled.
package struct FactorOwnership: Sendable {
    /// The user, who may not be there yet.
    package let id: ObjectID
    /// Nil while there is no such user.
    package let user: User?
    /// The session or the pending sign-in by which it is done.
    package let owner: [UInt8]
    /// What the person logs in by, for the authenticator to show.
    package let account: String?
    /// Whether a login waits for it, which takes only what the application asks for.
    package let finishesLogin: Bool
    /// The factors that there are.
    package let factors: [StoredFactor]

    package init(
        id: ObjectID,
        user: User?,
        owner: [UInt8],
        account: String?,
        finishesLogin: Bool,
        factors: [StoredFactor]
    ) {
        self.id = id
        self.user = user
        self.owner = owner
        self.account = account
        self.finishesLogin = finishesLogin
        self.factors = factors
    }
}

/// What a person needs to show that a factor is theirs.
package struct BegunFactor: Sendable {
    /// The factor's id until it is confirmed.
    package let id: Secret
    package let kind: FactorKind
    /// `otpauth://…`, of an authenticator app.
    package let address: Secret?
    /// The same as a picture, in SVG.
    package let picture: Secret?
    /// PublicKeyCredentialCreationOptionsJSON, of a passkey.
    package let publicKey: JSONObject?
    /// Where a code was sent, so far as it may be shown.
    package let sentTo: String?
    /// Milliseconds since 1970 at which it can be confirmed no more.
    package let expires: Int64
}

/// How factors come to people.
///
/// A class, since what waits for a provider would have it in the frame of each function that waits.
package final class FactorEnrolment: Sendable {
    let masterKeys: MasterKeys
    let delivery: CodeDelivery
    let attempts: AttemptCounter
    let limits: Limits
    let clock: WallClock
    let random: RandomSource

    package init(
        masterKeys: MasterKeys,
        delivery: CodeDelivery,
        attempts: AttemptCounter,
        limits: Limits,
        clock: WallClock,
        random: RandomSource
    ) {
        self.masterKeys = masterKeys
        self.delivery = delivery
        self.attempts = attempts
        self.limits = limits
        self.clock = clock
        self.random = random
    }

    /// Factors that a user may have.
    package static let most = 10
    /// Seconds within which a factor is confirmed.
    package static let seconds: Int64 = 900

    /// Begins to enrol a factor; nothing is kept before it is confirmed.
    ///
    /// - Throws: `factor_not_offered`, `too_many_factors`, `malformed_request`, and what stands in the way of a code.
    package func begin(
        _ wish: FactorWish,
        for person: FactorOwnership,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> BegunFactor {
        let application = loaded.application
        let policy = application.settings.secondFactor
        let isOffered = person.finishesLogin ? policy.allows(wish.kind) : policy.enrols(wish.kind)
        guard isOffered, wish.kind != .recoveryCode else { throw .kindNotOffered }
        guard person.factors.count < Self.most else {
            throw Failure(.tooManyFactors, "A user has \(Self.most) factors at most. Remove one first.")
        }
        try wish.checkLabel()
        let totp = wish.kind == .totp ? TOTP(random) : nil
        let target = try Self.target(of: wish, for: person)
        let draft = FactorDraft(
            id: random.objectID(),
            kind: wish.kind,
            user: person.id,
            owner: person.owner,
            label: wish.label,
            secret: totp?.base32 ?? target.map(Secret.init),
            occasion: FactorOccasion(random),
            endsAt: clock.seconds + Self.seconds
        )
        if let target {
            try await delivery.send(
                draft.occasion,
                of: draft.id,
                by: wish.kind,
                to: target,
                for: .enrolment(by: person.id),
                user: person.user,
                seconds: Self.seconds,
                from: source,
                in: loaded
            )
        }
        return try begun(draft, for: person, in: application)
    }

    /// What was begun, once more: its person has made a mistake.
    ///
    /// - Throws: `not_found` as `confirm`.
    package func begun(
        _ id: String,
        for person: FactorOwnership,
        in loaded: LoadedApplication
    ) throws(Failure) -> BegunFactor {
        let realm = FactorRealm(of: loaded.application)
        let draft = try FactorDraft(id, of: person, in: realm, under: masterKeys, at: clock.seconds)
        return try begun(draft, for: person, in: loaded.application)
    }

    private func begun(
        _ draft: FactorDraft,
        for person: FactorOwnership,
        in application: Application
    ) throws(Failure) -> BegunFactor {
        try draft.begun(
            for: person,
            in: FactorRealm(of: application),
            residentKey: application.settings.secondFactor.passkeys.isLoginMethod ? .required : .preferred,
            under: masterKeys
        )
    }

    /// The factor of a draft that its person has shown to hold.
    ///
    /// - Throws: `not_found` for what was not begun by the same session or sign-in, or too long ago;
    ///   `factor_not_offered` when the application has the kind no more; `second_factor_invalid`, `passkey_invalid`,
    ///   `too_many_attempts`.
    package func confirm(
        _ id: String,
        by response: FactorResponse,
        for person: FactorOwnership,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> NewFactor {
        let realm = FactorRealm(of: loaded.application)
        let draft = try FactorDraft(id, of: person, in: realm, under: masterKeys, at: clock.seconds)
        guard loaded.application.settings.secondFactor.enrols(draft.kind) else { throw .kindNotOffered }
        if draft.kind.isDelivered { try await countGuess(for: draft, from: source, in: loaded) }
        return try draft.confirmed(by: response, in: realm, under: masterKeys, at: clock.seconds)
    }

    /// Recovery codes: as they are shown, once, and as they are kept.
    package func recoveryCodes(of user: ObjectID) -> (shown: [Secret], factor: NewFactor) {
        Self.recoveryCodes(of: user, random)
    }

    static func recoveryCodes(
        of user: ObjectID,
        _ random: RandomSource
    ) -> (shown: [Secret], factor: NewFactor) {
        let codes = RecoveryCode.ten(random)
        let factor = NewFactor(
            id: random.objectID(),
            kind: .recoveryCode,
            codes: codes.map { $0.stored(of: user) }
        )
        return (codes.map(\.text), factor)
    }

    private static func target(of wish: FactorWish, for person: FactorOwnership) throws(Failure) -> String? {
        switch wish.kind {
        case .totp, .recoveryCode, .passkey: return nil
        case .sms:
            guard let target = wish.target else {
                throw Failure(.malformedRequest, "Codes by SMS need \"phone\": a number like +41791234567.")
            }
            return try CodeDelivery.number(target)
        case .email:
            guard let email = (wish.target ?? person.user?.email).flatMap({ EmailAddress($0) }) else {
                throw .noAddress
            }
            return email.text
        }
    }

    /// A code that was sent shows whose the telephone or the mailbox is, so it is guessed as seldom as at a login.
    private func countGuess(
        for draft: FactorDraft,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        let counts = AttemptCount.failures(for: draft.occasion, from: source)
        let refusal = try await attempts.count(counts, of: loaded.application, before: .now + limits.login)
        guard let refusal else { return }
        throw Failure(
            .tooManyAttempts,
            "Too many wrong codes. Begin anew in a while.",
            retryAfter: refusal.seconds
        )
    }
}

extension CodeDelivery {
    /// A number as it is kept.
    ///
    /// - Throws: `malformed_request` with what is wrong with it.
    static func number(_ text: String) throws(Failure) -> String {
        do throws(InvalidPhoneNumber) {
            return try PhoneNumber(text).text
        } catch {
            throw Failure(.malformedRequest, "\(error)")
        }
    }
}

extension Failure {
    static let kindNotOffered = Failure(
        .factorNotOffered,
        "This app does not offer this kind of second factor. GET users/factors says which it does."
    )
}
