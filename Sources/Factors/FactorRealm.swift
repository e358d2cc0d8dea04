import Domain
import Encodings
import OneTimeCodes
import Secrets
import Store
import WebAuthn

/// The owners of second factors: the users of one application, or the operators.
///
/// The type holds the application, the name that authenticators display, and the relying party for passkeys.
struct FactorRealm: Sendable {
    /// The application whose users have the factors; nil for the factors of operators.
    let application: ApplicationID?
    /// The name of the application, or of this service, that authenticators display.
    let name: String
    /// The relying party for passkeys; nil if none is configured.
    let relyingParty: RelyingParty?

    init(application: ApplicationID?, name: String, relyingParty: RelyingParty?) {
        self.application = application
        self.name = name
        self.relyingParty = relyingParty
    }

    init(of application: Application) {
        self.init(
            application: application.id,
            name: application.name,
            relyingParty: RelyingParty(of: application)
        )
    }

    /// Checks a user's response against a second factor.
    ///
    /// The caller has already counted the attempt against the limits.
    ///
    /// - Parameters:
    ///   - response: The response of the user.
    ///   - assertion: The parsed response of an authenticator, if there is one.
    ///   - factor: The factor.
    ///   - occasion: The operation that needs the factor, such as a login or a step-up.
    ///   - hints: Decrypts the secret of the factor.
    ///   - now: The time in Unix seconds.
    /// - Returns: The factor, and whether the authenticator has verified its user. The caller must record the use of
    ///   the factor in the transaction that completes the operation.
    /// - Throws: `second_factor_invalid`, `stored_value_unreadable`.
    func hold(
        _ response: FactorResponse,
        _ assertion: AssertionResponse?,
        against factor: StoredFactor,
        for occasion: FactorOccasion,
        hints: FactorHints,
        at now: Int64
    ) throws(Failure) -> (ShownFactor, isUserVerified: Bool) {
        if let assertion {
            guard let relyingParty else { throw .factorInvalid }
            return try FactorChecks.hold(assertion, against: factor, for: occasion, by: relyingParty, isUserKnown: true)
        }
        guard case .code(let code) = response else { throw .factorInvalid }
        switch factor.kind {
        case .totp:
            guard let totp = hints.secret(of: factor, of: application).flatMap({ TOTP(base32: $0) }) else {
                throw .unreadable(factor, of: application)
            }
            guard let step = totp.matchingStep(of: code, at: now, after: factor.step) else { throw .factorInvalid }
            return (ShownFactor(id: factor.id, step: step), false)
        case .recoveryCode:
            guard let hash = RecoveryCode(typed: code).map({ $0.stored(of: factor.user) }),
                factor.codes.contains(where: { $0.hasSameBytes(as: hash) })
            else { throw .factorInvalid }
            return (ShownFactor(id: factor.id, code: hash), false)
        case .sms, .email:
            guard occasion.isCode(code, of: factor.id) else { throw .factorInvalid }
            return (ShownFactor(id: factor.id), false)
        case .passkey: throw .factorInvalid
        }
    }
}

// MARK: - Enrolment

extension FactorDraft {
    /// Returns the data that the user needs to confirm the factor, such as the QR code of an authenticator app.
    func begun(
        for person: FactorOwnership,
        in realm: FactorRealm,
        residentKey: ResidentKey,
        under masterKeys: MasterKeys
    ) throws(Failure) -> PendingEnrolment {
        let account = person.account ?? realm.name
        let totp = kind == .totp ? secret.flatMap { TOTP(base32: $0) } : nil
        let address = totp?.address(issuer: realm.name, account: account)
        var options: JSONObject?
        if kind == .passkey {
            guard let relyingParty = realm.relyingParty else { throw .kindNotOffered }
            options = relyingParty.creationOptions(
                challenge: occasion.challenge,
                user: PasskeyUser(handle: person.id.handle, name: account, displayName: person.user?.name ?? account),
                excluding: person.factors.compactMap(\.passkey?.descriptor),
                residentKey: residentKey,
                timeout: FactorChecks.seconds
            )
        }
        return PendingEnrolment(
            id: Secret(Base64URL.encode(encrypted(under: masterKeys, for: realm.application))),
            kind: kind,
            address: address,
            picture: address.flatMap { QRCode($0.reveal()) }.map { Secret($0.svg) },
            publicKey: options,
            sentTo: kind.isDelivered ? secret.flatMap { FactorHints.masked($0.reveal()) } : nil,
            expires: endsAt * 1000
        )
    }

    /// Decrypts the draft of a second factor.
    ///
    /// The id in the request contains the encrypted draft. Only the session or login that began the enrolment can use
    /// it.
    ///
    /// - Throws: `not_found` if another session or login began the enrolment, or if it has expired.
    init(
        _ id: String,
        of person: FactorOwnership,
        in realm: FactorRealm,
        under masterKeys: MasterKeys,
        at now: Int64
    ) throws(Failure) {
        guard let encrypted = Base64URL.decode(id.utf8),
            let draft = FactorDraft(encrypted: encrypted, under: masterKeys, for: realm.application, now: now),
            draft.user == person.id, draft.owner == person.owner
        else {
            throw Failure(
                .notFound,
                """
                This enrollment did not begin here, or is older than \(FactorEnrolment.seconds / 60) minutes. Start \
                again.
                """
            )
        }
        self = draft
    }

    /// Checks the user's confirmation of the draft, and returns the new factor.
    ///
    /// - Throws: `second_factor_invalid`, `passkey_invalid`, `malformed_request`.
    func confirmed(
        by response: FactorResponse,
        in realm: FactorRealm,
        under masterKeys: MasterKeys,
        at now: Int64
    ) throws(Failure) -> NewFactor {
        let place = MasterKey.Place.factor(application: realm.application, user: user, id: id)
        let encrypted = secret.map { masterKeys.encrypt($0, for: place) }
        switch (kind, response) {
        case (.totp, .code(let code)):
            let step = secret.flatMap { TOTP(base32: $0) }?.matchingStep(of: code, at: now, after: nil)
            guard let step else { throw .factorInvalid }
            return NewFactor(id: id, kind: .totp, label: label, secret: encrypted, step: step)
        case (.sms, .code(let code)), (.email, .code(let code)):
            guard occasion.isCode(code, of: id) else { throw .factorInvalid }
            return NewFactor(id: id, kind: kind, label: label, secret: encrypted)
        case (.passkey, .credential(let credential)):
            return NewFactor(id: id, kind: .passkey, label: label, passkey: try registered(credential, in: realm))
        case (_, _):
            throw Failure(
                .malformedRequest,
                kind == .passkey
                    ? "Confirm a passkey with \"credential\", as the browser returned it."
                    : "Confirm this factor with \"code\"."
            )
        }
    }

    private func registered(_ credential: JSONValue, in realm: FactorRealm) throws(Failure) -> StoredPasskey {
        guard let relyingParty = realm.relyingParty else { throw .kindNotOffered }
        do throws(CeremonyError) {
            let made = try relyingParty.register(credential, challenge: occasion.challenge)
            return StoredPasskey(
                credentialID: made.credentialID,
                publicKey: made.publicKey.bytes,
                signCount: Int64(made.signCount),
                isBackupEligible: made.isBackupEligible,
                transports: made.transports.map(\.rawValue)
            )
        } catch {
            throw error.failure(.passkeyInvalid)
        }
    }
}
