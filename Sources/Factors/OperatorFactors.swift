package import Applications
package import Domain
package import Encodings
import OneTimeCodes
package import Secrets
package import Store
import WebAuthn

/// Enrols, removes and checks the second factors of operators, at their own request.
///
/// Only human operators have second factors: routes refuse the token of a program before this code runs. The checks are
/// the same as for users. The service sends no codes to operators, since it knows neither their telephone numbers nor
/// their mailboxes.
package struct OperatorFactors: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let hints: FactorHints
    let realm: FactorRealm
    let clock: WallClock
    let random: RandomSource

    /// Creates the use case.
    ///
    /// - Parameters:
    ///   - store: The database.
    ///   - masterKeys: The keys that encrypt secrets.
    ///   - origin: The origin of operators' passkeys, such as `https://admin.example.com`; if it is not set, operators
    ///     cannot use passkeys.
    ///   - clock: The time of day.
    ///   - random: The source of unguessable values.
    package init(
        store: Store,
        masterKeys: MasterKeys,
        origin: PublicAddress,
        clock: WallClock,
        random: RandomSource
    ) {
        self.store = store
        self.masterKeys = masterKeys
        hints = FactorHints(masterKeys: masterKeys)
        let relyingParty = origin.origin.flatMap { (address: String) -> RelyingParty? in
            guard let host = origin.host else { return nil }
            return RelyingParty(id: host, name: Self.name, origins: [address], userVerification: .preferred)
        }
        realm = FactorRealm(application: nil, name: Self.name, relyingParty: relyingParty)
        self.clock = clock
        self.random = random
    }

    /// The name of this service that operators' authenticators display.
    private static let name = "Federation"

    private static let rule = FactorProofRule(
        seconds: Int(OperatorFactorDemand.within5Minutes.seconds ?? 0),
        max: FactorEnrolment.max
    )

    /// The kinds of factors that operators can enrol.
    private var kinds: [FactorKind] {
        realm.relyingParty == nil ? [.totp, .recoveryCode] : [.totp, .recoveryCode, .passkey]
    }

    /// Returns the second factors of the requesting operator, and the kinds of factors that operators can enrol.
    package func list(
        of caller: CallingOperator
    ) async throws(Failure) -> (factors: [Factor], offered: [FactorKind]) {
        let factors = try await store.operatorFactors(of: caller.id).factors
        return (factors.map { hints.shown($0, of: nil) }, kinds)
    }

    /// Returns the factors of an operator.
    ///
    /// - Throws: `not_found`.
    package func list(of name: OperatorName) async throws(Failure) -> [Factor] {
        guard let id = try await store.operatorID(name) else { throw .noSuchOperator }
        return try await store.operatorFactors(of: id).factors.map { hints.shown($0, of: nil) }
    }

    /// Begins to enrol a factor; nothing is stored before the confirmation.
    ///
    /// - Throws: `factor_not_offered`, `too_many_factors`, `malformed_request`.
    package func begin(_ wish: EnrolmentRequest, by caller: CallingOperator) async throws(Failure) -> PendingEnrolment {
        let person = try await person(caller)
        guard kinds.contains(wish.kind), wish.kind != .recoveryCode else { throw .operatorKindNotOffered }
        guard person.factors.count < FactorEnrolment.max else {
            throw Failure(
                .tooManyFactors,
                "An operator can have at most \(FactorEnrolment.max) factors. Remove one first."
            )
        }
        try wish.checkLabel()
        let draft = FactorDraft(
            id: random.objectID(),
            kind: wish.kind,
            user: person.id,
            owner: person.owner,
            label: wish.label,
            secret: wish.kind == .totp ? TOTP(random).base32 : nil,
            occasion: FactorOccasion(random),
            endsAt: clock.seconds + FactorEnrolment.seconds
        )
        return try draft.begun(for: person, in: realm, residentKey: .preferred, under: masterKeys)
    }

    /// Enrols a factor that the operator has confirmed.
    ///
    /// - Returns: The factor, and recovery codes for an operator without any.
    /// - Throws: `not_found`, `second_factor_invalid`, `passkey_invalid`, `too_many_factors`,
    ///   `second_factor_reauthentication_required`.
    package func confirm(
        _ id: String,
        by response: FactorResponse,
        of caller: CallingOperator,
        actor: ChangeAuthor
    ) async throws(Failure) -> (factor: Factor, recoveryCodes: [Secret]) {
        let person = try await person(caller)
        let draft = try FactorDraft(id, of: person, in: realm, under: masterKeys, at: clock.seconds)
        let factor = try draft.confirmed(by: response, in: realm, under: masterKeys, at: clock.seconds)
        let (shown, codes) = FactorEnrolment.recoveryCodes(of: caller.id, random)
        let hasCodes = try await store.addFactor(factor, with: codes, to: caller, by: Self.rule, actor: actor)
        guard let added = try await store.operatorFactors(of: caller.id).factors.first(where: { $0.id == factor.id })
        else { throw .noSuchFactor }
        return (hints.shown(added, of: nil), hasCodes ? shown : [])
    }

    /// Gives the requesting operator ten new recovery codes, which replace the remaining ones.
    package func renewRecoveryCodes(
        of caller: CallingOperator,
        actor: ChangeAuthor
    ) async throws(Failure) -> (factor: ObjectID, codes: [Secret]) {
        let (shown, factor) = FactorEnrolment.recoveryCodes(of: caller.id, random)
        _ = try await store.addFactor(factor, with: nil, to: caller, by: Self.rule, actor: actor)
        return (factor.id, shown)
    }

    /// Removes a factor of the requesting operator.
    ///
    /// - Throws: `not_found`.
    package func remove(_ id: String, of caller: CallingOperator, actor: ChangeAuthor) async throws(Failure) {
        try await remove(id, of: caller.name, actor: actor)
    }

    /// Removes one factor of an operator, or all factors if `id` is nil.
    ///
    /// - Throws: `not_found`.
    package func remove(_ id: String?, of name: OperatorName, actor: ChangeAuthor) async throws(Failure) {
        let factor = id.flatMap { ObjectID($0) }
        guard (id == nil) == (factor == nil) else { throw .noSuchFactor }
        let isThere = try await store.removeFactors(
            only: factor,
            ofOperator: name,
            forgetting: { id in GuessedCode.allCases.map { $0.attemptKey(of: id) } },
            by: actor
        )
        guard isThere else { throw .noSuchFactor }
    }

    /// Begins a step-up of the requesting operator.
    ///
    /// - Returns: `{"pending", "factors": [{"id", "kind", "label"}], "publicKey"?, "expires"}`.
    /// - Throws: `factor_not_offered` if the operator has no factor.
    package func start(by caller: CallingOperator) async throws(Failure) -> JSONObject {
        let (factors, now) = try await store.operatorFactors(of: caller.id)
        guard factors.contains(where: \.kind.standsAlone) else {
            throw Failure(.factorNotOffered, "This operator has no second factor.")
        }
        let pending = PendingFactor(
            occasion: FactorOccasion(random),
            tokenHash: caller.tokenHash,
            begunAt: now,
            endsAt: clock.seconds + PendingFactor.seconds
        )
        var members: JSONObject = [
            "pending": .string(Base64URL.encode(pending.encrypted(under: masterKeys, for: nil))),
            "factors": .array(
                factors.map { factor in
                    .object([
                        "id": .string(factor.id.description), "kind": .string(factor.kind.rawValue),
                        "label": factor.label.map(JSONValue.string) ?? .null,
                    ])
                }
            ),
        ]
        let passkeys = factors.compactMap(\.passkey?.descriptor)
        if let relyingParty = realm.relyingParty, !passkeys.isEmpty {
            let options = relyingParty.requestOptions(
                challenge: pending.occasion.challenge,
                allowing: passkeys,
                timeout: FactorChecks.seconds
            )
            members.append("publicKey", .object(options))
        }
        members.append("expires", .integer(pending.endsAt * 1000))
        return members
    }

    /// Checks a factor of the requesting operator and records the step-up.
    ///
    /// - Parameters:
    ///   - pending: The pending step-up that `start` returned to the same token.
    ///   - id: The id of the factor; nil for a passkey, which identifies itself.
    ///   - response: The response of the operator.
    ///   - caller: The requesting operator.
    ///   - actor: The actor in the audit log.
    /// - Throws: `pending_login_invalid`, `second_factor_invalid`, `too_many_attempts`.
    package func finish(
        _ pending: String,
        factor id: ObjectID?,
        by response: FactorResponse,
        of caller: CallingOperator,
        actor: ChangeAuthor
    ) async throws(Failure) {
        guard let encrypted = Base64URL.decode(pending.utf8),
            let pending = PendingFactor(encrypted: encrypted, under: masterKeys, for: nil, now: clock.seconds),
            pending.tokenHash.isEqualInConstantTime(to: caller.tokenHash)
        else { throw .pendingFactorInvalid }
        if case .code = response, id == nil { throw .noFactorNamed }
        let guess = GuessedCode(response)
        if let guess, let refusal = try await store.countGuess(of: guess.attemptCount(of: caller.id)) {
            throw Failure(
                .tooManyAttempts,
                """
                Too many wrong codes with all tokens. Wait \(refusal.seconds) seconds, use \(guess.alternative) or a \
                passkey, or let another owner remove the factor.
                """,
                retryAfter: refusal.seconds
            )
        }
        var assertion: AssertionResponse?
        if case .credential(let credential) = response { assertion = try FactorChecks.assertion(credential) }
        let factors = try await store.operatorFactors(of: caller.id).factors
        let found = factors.first { factor in
            assertion.map { factor.passkey?.credentialID == $0.credentialID } ?? (factor.id == id)
        }
        guard let found else { throw .factorInvalid }
        let (shown, _) = try realm.hold(
            response,
            assertion,
            against: found,
            for: pending.occasion,
            hints: hints,
            at: clock.seconds
        )
        let counted = try await store.noteFactor(
            shown,
            of: caller,
            askedAt: pending.begunAt,
            attemptKey: guess?.attemptKey(of: caller.id),
            by: actor
        )
        guard counted else { throw .pendingFactorInvalid }
    }

    /// Returns the requesting operator, with their present factors, as the future owner of a new factor.
    private func person(_ caller: CallingOperator) async throws(Failure) -> FactorOwnership {
        FactorOwnership(
            id: caller.id,
            user: nil,
            owner: caller.tokenHash,
            account: caller.name.text,
            finishesLogin: false,
            factors: try await store.operatorFactors(of: caller.id).factors
        )
    }
}

/// The kind of a code that an operator sends as second factor.
///
/// Failed attempts are counted for each kind. The counters belong to the operator, not to the token: the holder of one
/// token can make more tokens. Since each kind has its own counter, recovery codes remain usable after too many wrong
/// six-digit codes.
private enum GuessedCode: String, CaseIterable {
    case sixDigits
    case recoveryCode

    /// Recognizes the kind of code in a response; nil for a passkey, whose signature cannot be guessed.
    init?(_ response: FactorResponse) {
        guard case .code(let code) = response else { return nil }
        self = RecoveryCode(typed: code) == nil ? .sixDigits : .recoveryCode
    }

    func attemptKey(of id: ObjectID) -> [UInt8] { Digest.sha256("operator's second factor \(rawValue) \(id)") }

    func attemptCount(of id: ObjectID) -> AttemptCount {
        AttemptCount(for: attemptKey(of: id), by: self == .sixDigits ? .factor : .recoveryCode)
    }

    /// The other kind of code that an operator can still use, as words in an error message.
    var alternative: String {
        switch self {
        case .sixDigits: "a recovery code"
        case .recoveryCode: "a code of your app"
        }
    }
}

/// A pending step-up of an operator; the operator's client holds it in encrypted form.
private struct PendingFactor: EncryptedInTransit {
    let occasion: FactorOccasion
    /// The hash of the token that began the step-up; only the same token can finish it.
    let tokenHash: [UInt8]
    /// The time at which the step-up began, by the database's clock, in milliseconds since 1970.
    let begunAt: Int64
    let endsAt: Int64

    static let keyName = "federation: second factors of operators"
    /// The seconds within which the operator must present the factor.
    static let seconds = FactorChecks.seconds

    private enum Key {
        static let (occasion, token, begun, end) = ("occasion", "token", "begun", "end")
    }

    var text: Secret {
        let object: JSONObject = [
            Key.occasion: .string(Base64URL.encode(occasion.bytes)), Key.token: .string(Base64URL.encode(tokenHash)),
            Key.begun: .integer(begunAt), Key.end: .integer(endsAt),
        ]
        return Secret(JSONValue.object(object).text)
    }

    init(occasion: FactorOccasion, tokenHash: [UInt8], begunAt: Int64, endsAt: Int64) {
        self.occasion = occasion
        self.tokenHash = tokenHash
        self.begunAt = begunAt
        self.endsAt = endsAt
    }

    init?(_ object: JSONObject) {
        guard let occasion = object[Key.occasion]?.string.flatMap({ Base64URL.decode($0.utf8) }),
            let token = object[Key.token]?.string.flatMap({ Base64URL.decode($0.utf8) }),
            let begun = object[Key.begun]?.integer, let end = object[Key.end]?.integer
        else { return nil }
        self.init(occasion: FactorOccasion(bytes: occasion), tokenHash: token, begunAt: begun, endsAt: end)
    }
}

extension Failure {
    fileprivate static let operatorKindNotOffered = Failure(
        .factorNotOffered,
        """
        Operators cannot enrol this kind of second factor here. GET operator/factors lists the available kinds. \
        Passkeys need FEDERATION_OPERATOR_ORIGIN.
        """
    )
    fileprivate static let pendingFactorInvalid = Failure(
        .pendingLoginInvalid,
        """
        This began with another token, took too long, or the code has been used. Start again with POST \
        operator/secondFactor/start.
        """
    )
    fileprivate static let noSuchOperator = Failure(.notFound, "This operator does not exist.")
}
