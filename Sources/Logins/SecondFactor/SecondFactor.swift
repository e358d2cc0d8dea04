package import Applications
package import Domain
package import Encodings
package import Factors
package import Limiting
package import Logging
package import Messaging
import Providers
import Secrets
package import Store

/// A client's request that finishes a pending login, parsed at the edge.
package struct FactorAnswer: Sendable {
    /// The encrypted pending login.
    package let pending: String
    /// The id of the factor; nil for a passkey, which identifies itself.
    package let factor: ObjectID?
    package let response: FactorResponse
    /// Whether to trust the device, so that its next logins need no second factor for a while.
    package let trustsDevice: Bool
    package let idempotencyKey: IdempotencyKey?
    package let keyLabel: String?
    package let source: RequestSource

    package init(
        pending: String,
        factor: ObjectID?,
        response: FactorResponse,
        trustsDevice: Bool,
        idempotencyKey: IdempotencyKey?,
        keyLabel: String?,
        source: RequestSource
    ) {
        self.pending = pending
        self.factor = factor
        self.response = response
        self.trustsDevice = trustsDevice
        self.idempotencyKey = idempotencyKey
        self.keyLabel = keyLabel
        self.source = source
    }
}

/// A login finished by a second factor.
package struct FinishedSignIn: Sendable {
    package let signedIn: SignedIn
    /// The token by which the device is trusted from now on; nil without trust.
    package let trustedDevice: Secret?
    /// Recovery codes, shown once, to a user who has just enrolled the first factor.
    package let recoveryCodes: [Secret]
}

/// The result of a request with a second factor.
package enum FactorOutcome: Sendable {
    case signedIn(FinishedSignIn)
    /// The session has a new step-up.
    case reauthenticated
}

/// The second factors of logins, and the step-up of sessions.
///
/// A class, since each function that waits for a provider would have a copy in its frame.
package final class SecondFactor: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let sessions: Sessions
    let pendings: PendingSignIns
    let checks: FactorChecks
    let authenticator: Authenticator
    let writer: SignInWriter
    let admission: Admission
    let log: LoginLog
    let limits: Limits
    let clock: WallClock
    let random: RandomSource

    package init(
        store: Store,
        directory: ApplicationDirectory,
        sessions: Sessions,
        pendings: PendingSignIns,
        checks: FactorChecks,
        authenticator: Authenticator,
        writer: SignInWriter,
        admission: Admission,
        log: LoginLog,
        limits: Limits,
        clock: WallClock,
        random: RandomSource
    ) {
        self.store = store
        self.directory = directory
        self.sessions = sessions
        self.pendings = pendings
        self.checks = checks
        self.authenticator = authenticator
        self.writer = writer
        self.admission = admission
        self.log = log
        self.limits = limits
        self.clock = clock
        self.random = random
    }

    /// Starts the challenge for a factor of a pending login.
    ///
    /// - Throws: `pending_sign_in_invalid`, `not_found`, and the errors of sending a code.
    package func start(
        _ pending: String,
        factor: ObjectID,
        by keyLabel: String?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (challenge: FactorChallenge, expires: Int64) {
        let pending = try pendings.opened(pending, by: keyLabel, in: loaded.application)
        guard let user = pending.user, !pending.enrols else { throw .pendingInvalid }
        let challenge = try await checks.challenge(
            factor,
            of: user,
            for: pending.occasion,
            from: source,
            in: loaded
        )
        return (challenge, pending.endsAt * 1000)
    }

    /// Begins a step-up of a session.
    ///
    /// - Returns: The same members that the failure of a pending login has in its `errorData`.
    /// - Throws: `session_invalid`; `factor_not_offered` if the user has no factor.
    package func startReauthentication(
        of token: SessionToken?,
        by keyLabel: String?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> JSONObject {
        let (user, token) = try await sessions.session(of: token, in: loaded)
        let factors = try await store.factors(of: user.objectID, in: loaded.application)
        guard !checks.usable(factors, in: loaded.application).isEmpty else {
            throw Failure(.factorNotOffered, "This user has no second factor to show.")
        }
        let pending = PendingSignIn(
            occasion: FactorOccasion(random),
            purpose: .reauthentication(token.hash),
            user: user.objectID,
            isUserThere: true,
            enrols: false,
            keyLabel: keyLabel,
            previousToken: nil,
            begunAt: StoreMoment(seconds: clock.seconds),
            endsAt: clock.seconds + PendingSignIn.seconds
        )
        return pendings.details(of: pending, factors, in: loaded.application)
    }

    /// Begins a login by a passkey, of any user.
    ///
    /// - Returns: `pending`, `publicKey` and `expires`.
    /// - Throws: `factor_not_offered` if the application does not allow passkey logins.
    package func startPasskeyLogin(
        by client: LoginClient,
        previousToken: SessionToken?,
        in loaded: LoadedApplication
    ) throws(Failure) -> JSONObject {
        let occasion = FactorOccasion(random)
        guard loaded.application.settings.secondFactor.passkeys.isLoginMethod,
            let options = checks.loginOptions(for: occasion, in: loaded.application)
        else { throw .noPasskeyLogin }
        let pending = PendingSignIn(
            occasion: occasion,
            purpose: .passkey,
            user: nil,
            isUserThere: false,
            enrols: false,
            keyLabel: client.keyLabel,
            previousToken: previousToken,
            begunAt: StoreMoment(seconds: clock.seconds),
            endsAt: clock.seconds + PendingSignIn.seconds
        )
        return [
            "pending": .string(pendings.sealed(pending, of: loaded.application.id).reveal()),
            "publicKey": .object(options), "expires": .integer(pending.endsAt * 1000),
        ]
    }

    /// Finishes a pending login, with the response of the login itself, or a step-up of a session.
    ///
    /// - Throws: `pending_sign_in_invalid`, `second_factor_invalid`, `too_many_attempts`, and the errors of the login.
    package func finish(
        _ answer: FactorAnswer,
        session: SessionToken?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> FactorOutcome {
        let pending = try pendings.opened(answer.pending, by: answer.keyLabel, in: loaded.application)
        switch pending.purpose {
        case .reauthentication(let tokenHash):
            guard let session, session.hash.isEqualInConstantTime(to: tokenHash), let user = pending.user else {
                throw .pendingInvalid
            }
            try await reauthenticate(user, by: answer, of: pending, session: session, in: loaded)
            return .reauthenticated
        case .link: throw .pendingInvalid
        case .passkey:
            return .signedIn(try await finishPasskeyLogin(answer, of: pending, in: loaded, logger: logger))
        case .signIn(let firstFactor):
            guard let user = pending.user, !pending.enrols else { throw .pendingInvalid }
            let finished = try await telling(of: firstFactor, in: loaded, logger) { () throws(Failure) in
                let once = pending.once(by: answer, random)
                let (shown, guess) = try await shown(by: answer, of: user, for: pending, once: once, in: loaded)
                let days = loaded.application.settings.secondFactor.trustedDeviceDays
                let device = answer.trustsDevice && days > 0 ? OneTimeToken(random) : nil
                let proof = FactorProof(
                    user: pending.isUserThere ? user : nil,
                    evidence: .shown(shown),
                    guess: guess,
                    device: device.map { TrustedDevice(tokenHash: $0.hash, days: days) }
                )
                let signedIn = try await write(
                    firstFactor,
                    with: proof,
                    once: once,
                    of: pending,
                    by: answer,
                    in: loaded
                )
                return FinishedSignIn(signedIn: signedIn, trustedDevice: device?.secret, recoveryCodes: [])
            }
            return .signedIn(finished)
        }
    }

    /// Returns the checked factor of a login.
    ///
    /// A retry whose session exists is not checked again: its first request was checked and used up the factor.
    private func shown(
        by answer: FactorAnswer,
        of user: ObjectID,
        for pending: PendingSignIn,
        once: SingleUse,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (ShownFactor, guess: [UInt8]?) {
        let application = loaded.application
        if try await isRepetition(answer, once: once, in: loaded) {
            let factor = try await checks.factor(of: answer.response, by: answer.factor, of: user, in: application)
            return (ShownFactor(id: factor), nil)
        }
        let checked = try await checks.check(
            answer.response,
            by: answer.factor,
            of: user,
            for: pending.occasion,
            use: .login,
            from: answer.source,
            in: loaded
        )
        return (checked.shown, checked.guess)
    }

    /// Returns whether a request under the same `Idempotency-Key` has finished the login before, with a live session.
    ///
    /// - Throws: `idempotency_key_reused` if a different request under that key has finished the login.
    func isRepetition(
        _ answer: FactorAnswer,
        once: SingleUse,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Bool {
        guard let key = answer.idempotencyKey,
            let owner = try await store.owner(of: .pendingSignIn, hash: once.hash, in: loaded.application)
        else { return false }
        try key.requireSameRequest(as: owner)
        let token = writer.sessionToken(of: once, isRepeatable: true, in: loaded)
        return try await store.sessionProofs(tokenHash: token.hash, in: loaded.application) != nil
    }

    private func reauthenticate(
        _ user: ObjectID,
        by answer: FactorAnswer,
        of pending: PendingSignIn,
        session: SessionToken,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        let checked = try await checks.check(
            answer.response,
            by: answer.factor,
            of: user,
            for: pending.occasion,
            use: .session,
            from: answer.source,
            in: loaded
        )
        let application = loaded.application
        let isFirst = try await store.use(
            .pendingSignIn,
            hash: pending.hash,
            seconds: PendingSignIn.enrolmentSeconds,
            of: application
        )
        guard isFirst else { throw .pendingInvalid }
        let counted = try await store.noteFactor(
            checked.shown,
            guess: checked.guess,
            isAuthentication: checked.kind == .passkey && checked.isUserVerified,
            of: user,
            session: session.hash,
            in: application
        )
        guard counted else { throw .pendingInvalid }
    }

    private func finishPasskeyLogin(
        _ answer: FactorAnswer,
        of pending: PendingSignIn,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> FinishedSignIn {
        try await log.telling(of: "passkey login", by: .passkey, in: loaded, logger, signedIn: \.signedIn) {
            () throws(Failure) in
            guard loaded.application.settings.secondFactor.passkeys.isLoginMethod else { throw .noPasskeyLogin }
            guard case .credential(let credential) = answer.response else {
                throw Failure(.malformedRequest, "A passkey is shown by \"credential\", as the browser gave it.")
            }
            let once = pending.once(by: answer, random)
            let (user, shown) = try await checks.checkLogin(
                by: credential,
                for: pending.occasion,
                isRepeated: try await isRepetition(answer, once: once, in: loaded),
                in: loaded.application
            )
            let proof = FactorProof(user: user, evidence: .shown(shown), guess: nil)
            let token = writer.sessionToken(of: once, isRepeatable: answer.idempotencyKey != nil, in: loaded)
            let opening = SessionOpening(
                user: user,
                grounds: .passkey,
                login: shown.id.description,
                tokenHash: token.hash,
                previousTokenHash: pending.previousToken?.hash,
                finish: .init(factor: proof, once: once)
            )
            let signedIn = try await open(opening, token: token, in: loaded)
            return FinishedSignIn(signedIn: signedIn, trustedDevice: nil, recoveryCodes: [])
        }
    }

    func write(
        _ firstFactor: FirstFactor,
        with proof: FactorProof,
        once: SingleUse,
        of pending: PendingSignIn,
        by answer: FactorAnswer,
        in loaded: LoadedApplication
    ) async throws(Failure) -> SignedIn {
        switch firstFactor {
        case .password(let password):
            let token = writer.sessionToken(of: once, isRepeatable: answer.idempotencyKey != nil, in: loaded)
            let opening = SessionOpening(
                user: password.objectID,
                grounds: .password(password.hash),
                login: password.login,
                tokenHash: token.hash,
                previousTokenHash: pending.previousToken?.hash,
                finish: .init(factor: proof, once: once)
            )
            return try await open(opening, token: token, in: loaded)
        case .provider(let vouched, let guest):
            let attempt = LoginAttempt(
                request: LoginRequest(
                    provider: vouched.result.person.identity.provider,
                    credential: CredentialFields(),
                    mapping: vouched.mapping,
                    appID: nil,
                    previousToken: pending.previousToken,
                    client: LoginClient(keyLabel: answer.keyLabel, trustedDevice: nil),
                    idempotencyKey: answer.idempotencyKey,
                    guest: guest
                ),
                loaded: loaded,
                end: .now + limits.login,
                limits: limits
            )
            let login = AuthenticatedLogin(
                vouched.result,
                mapping: vouched.mapping,
                once: once,
                factor: proof,
                freshID: pending.isUserThere ? nil : pending.user,
                invitation: vouched.invitation
            )
            return try await admission.admit(loaded.application.id) { () throws(Failure) in
                try await authenticator.withAuthentication(login, in: attempt) {
                    (login, plan, attempt) throws(Failure) in
                    try await writer.complete(login, by: plan, in: attempt)
                }
            }
        }
    }

    private func open(
        _ opening: SessionOpening,
        token: SessionToken,
        in loaded: LoadedApplication
    ) async throws(Failure) -> SignedIn {
        let user = try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
            try await admission.write(of: loaded.application) {
                () throws(Failure) in
                try await store.openSession(opening, of: loaded.application)
            }
        }
        guard let user else { throw .pendingInvalid }
        return SignedIn(user: user, token: token, created: false)
    }

    /// Performs the second-factor request of a login and reports its outcome as that of the login.
    func telling(
        of firstFactor: FirstFactor,
        in loaded: LoadedApplication,
        _ logger: Logger,
        _ body: () async throws(Failure) -> FinishedSignIn
    ) async throws(Failure) -> FinishedSignIn {
        let started = ContinuousClock.now
        let (subject, provider): (LoginLog.Subject, ProviderName) =
            switch firstFactor {
            case .password(let password): (.login(password.login), .password)
            case .provider(let login, _): (.code(nil), login.result.person.identity.provider)
            }
        do throws(Failure) {
            let finished = try await body()
            log.tell(.success(finished.signedIn), of: subject, by: provider, in: loaded, since: started, logger)
            return finished
        } catch {
            log.tell(.failure(error), of: subject, by: provider, in: loaded, since: started, logger)
            throw error.logged
        }
    }
}

extension PendingSignIn {
    /// The login name that the user typed for a login by password.
    var login: String? {
        guard case .signIn(.password(let password)) = purpose else { return nil }
        return password.login
    }

    /// The hash that uses up the pending login.
    var hash: [UInt8] { Digest.sha256("pending sign-in " + Base64URL.encode(occasion.bytes)) }

    /// Returns the single-use record of the pending login.
    ///
    /// If our access to the identity has ended since the pending login began, the pending login is invalid, too.
    func once(by answer: FactorAnswer, _ random: RandomSource) -> SingleUse {
        .pendingSignIn(hash, begunAt: begunAt, owner: answer.idempotencyKey?.owner ?? random.bytes(16))
    }
}

extension SingleUse {
    static func pendingSignIn(_ hash: [UInt8], begunAt: StoreMoment, owner: [UInt8]) -> SingleUse {
        SingleUse(
            hash: hash,
            // `SingleUse` allows a second more, since providers give whole seconds. This time is exact, so the second
            // is subtracted.
            issuedAt: begunAt.earlierBySecond,
            seconds: PendingSignIn.enrolmentSeconds + 3600,
            owner: owner,
            nonceHash: nil
        )
    }
}

extension Failure {
    static let noPasskeyLogin = Failure(
        .factorNotOffered,
        "Nobody logs in to this app by a passkey alone. Log in in another way."
    )
}
