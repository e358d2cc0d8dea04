package import Applications
package import Domain
package import Encodings
package import Messaging
import OneTimeCodes
package import Secrets
package import Store
import WebAuthn

/// A request to enrol a factor, after parsing.
package struct EnrolmentRequest: Sendable {
    package let kind: FactorKind
    /// The user's name for the factor.
    package let label: String?
    /// The telephone number or e-mail address to which codes are sent.
    ///
    /// Nil for a kind of factor without sent codes, and for codes to the user's own e-mail address.
    package let target: String?

    package init(kind: FactorKind, label: String?, target: String?) {
        self.kind = kind
        self.label = label
        self.target = target
    }

    private static let maxLabelBytes = 200

    /// Checks that the label can be stored and displayed.
    ///
    /// - Throws: `malformed_request`.
    func checkLabel() throws(Failure) {
        guard let label else { return }
        let isShown = label.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard isShown, (1...Self.maxLabelBytes).contains(label.utf8.count) else {
            let rule = "label must be a text of 1 to \(Self.maxLabelBytes) bytes, without control characters."
            throw Failure(.malformedRequest, rule)
        }
    }
}

/// The user for whom a second factor is enrolled, and what the enrolment needs to know about the user.
package struct FactorOwnership: Sendable {
    /// The id of the user, who may not exist yet.
    package let id: ObjectID
    /// The user; nil if the factor is for a login that has not created its user yet.
    package let user: User?
    /// The hash of the session or the pending login that enrols the factor.
    package let owner: [UInt8]
    /// The text that the authenticator displays for the account, such as the login name.
    package let account: String?
    /// Whether the user enrols the factor to finish a pending login.
    ///
    /// If so, the application must accept this kind of factor as a second factor.
    package let finishesLogin: Bool
    /// The user's present factors.
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

/// An enrolment that has begun, with the data that the user needs to confirm the factor.
package struct PendingEnrolment: Sendable {
    /// The id by which the client confirms the factor: the encrypted draft of the factor.
    package let id: Secret
    package let kind: FactorKind
    /// The `otpauth://…` URL with which an authenticator app adds the account; nil for other factors.
    package let address: Secret?
    /// The QR code of the `otpauth://…` URL, in SVG; nil for other factors.
    package let picture: Secret?
    /// The options with which a browser creates a passkey (WebAuthn's PublicKeyCredentialCreationOptionsJSON); nil for
    /// other factors.
    package let publicKey: JSONObject?
    /// The masked telephone number or e-mail address to which a code was sent; nil if none was sent.
    package let sentTo: String?
    /// The expiry of the enrolment, in milliseconds since 1970.
    package let expires: Int64
}

/// Enrols second factors of users.
///
/// The type is a class: with a struct, the frame of each function that waits for a provider would contain a copy.
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

    /// The maximum number of factors of a user.
    package static let max = 10
    /// The seconds within which the user must confirm a factor that is being enrolled.
    package static let seconds: Int64 = 900

    /// Begins to enrol a factor; nothing is stored before the confirmation.
    ///
    /// - Throws: `factor_not_offered`, `too_many_factors`, `malformed_request`, and the errors of sending a code.
    package func begin(
        _ wish: EnrolmentRequest,
        for person: FactorOwnership,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> PendingEnrolment {
        let application = loaded.application
        let policy = application.settings.secondFactor
        let isOffered = person.finishesLogin ? policy.allows(wish.kind) : policy.enrols(wish.kind)
        guard isOffered, wish.kind != .recoveryCode else { throw .kindNotOffered }
        guard person.factors.count < Self.max else {
            throw Failure(.tooManyFactors, "A user can have at most \(Self.max) factors. Remove one first.")
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

    /// Returns the data of an enrolment again, so that the user can make another attempt to confirm the factor.
    ///
    /// - Throws: `not_found` if another session or login began the enrolment, or if it has expired.
    package func begun(
        _ id: String,
        for person: FactorOwnership,
        in loaded: LoadedApplication
    ) throws(Failure) -> PendingEnrolment {
        let realm = FactorRealm(of: loaded.application)
        let draft = try FactorDraft(id, of: person, in: realm, under: masterKeys, at: clock.seconds)
        return try begun(draft, for: person, in: loaded.application)
    }

    private func begun(
        _ draft: FactorDraft,
        for person: FactorOwnership,
        in application: Application
    ) throws(Failure) -> PendingEnrolment {
        try draft.begun(
            for: person,
            in: FactorRealm(of: application),
            residentKey: application.settings.secondFactor.passkeys.isLoginMethod ? .required : .preferred,
            under: masterKeys
        )
    }

    /// Checks the response with which the user confirms a new factor, and returns the factor, which is not stored yet.
    ///
    /// A label replaces the label from the beginning of the enrolment.
    ///
    /// - Throws: `not_found` if another session or login began the enrolment, or if the enrolment has expired;
    ///   `factor_not_offered` if the application no longer offers the kind; `second_factor_invalid`, `passkey_invalid`,
    ///   `too_many_attempts`.
    package func confirm(
        _ id: String,
        by response: FactorResponse,
        label: String? = nil,
        for person: FactorOwnership,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> NewFactor {
        let realm = FactorRealm(of: loaded.application)
        let draft = try FactorDraft(id, of: person, in: realm, under: masterKeys, at: clock.seconds)
        guard loaded.application.settings.secondFactor.enrols(draft.kind) else { throw .kindNotOffered }
        try EnrolmentRequest(kind: draft.kind, label: label, target: nil).checkLabel()
        if draft.kind.isDelivered { try await countGuess(for: draft, from: source, in: loaded) }
        var factor = try draft.confirmed(by: response, in: realm, under: masterKeys, at: clock.seconds)
        if let label { factor.label = label }
        return factor
    }

    /// Makes recovery codes: the texts, which are shown once, and the factor for storage.
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

    private static func target(of wish: EnrolmentRequest, for person: FactorOwnership) throws(Failure) -> String? {
        switch wish.kind {
        case .totp, .recoveryCode, .passkey: return nil
        case .sms:
            guard let target = wish.target else {
                throw Failure(
                    .malformedRequest,
                    "Codes by SMS need a telephone number like +41791234567. Send it as \"phone\"."
                )
            }
            return try CodeDelivery.number(target)
        case .email:
            guard let email = (wish.target ?? person.user?.email).flatMap({ EmailAddress($0) }) else {
                throw .noAddress
            }
            return email.text
        }
    }

    /// Counts an attempt to enter the code that was sent to enrol a telephone or a mailbox.
    ///
    /// The counters are the same as for wrong codes at logins. Without the limit, an attacker could guess the code and
    /// enrol a telephone or a mailbox of another human.
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
            "Too many wrong codes. Try again later.",
            retryAfter: refusal.seconds
        )
    }
}

extension CodeDelivery {
    /// Returns a telephone number in its stored form.
    ///
    /// - Throws: `malformed_request` with the error.
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
        "This app does not offer this kind of second factor. GET users/factors lists the offered kinds."
    )
}
