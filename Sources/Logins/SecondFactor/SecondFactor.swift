package import Applications
package import Factors
package import Limiting
package import Logging
package import Notifications
import Providers
import Secrets
package import Store
package import Vocabulary

/// What finishes a login that was put off, parsed at the edge.
package struct FactorAnswer: Sendable {
    /// The pending sign-in.
    package let pending: String
    /// Which factor is shown; nil where a passkey says it.
    package let factor: ObjectID?
    package let response: FactorResponse
    /// Whether the device is not to be asked again for a while.
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

/// A login that a second factor has finished.
package struct FinishedSignIn: Sendable {
    package let signedIn: SignedIn
    /// By what the device is trusted from now on; nil where it is not.
    package let trustedDevice: Secret?
    /// Shown once, to who has just enrolled the first factor.
    package let recoveryCodes: [Secret]
}

/// What a session has after its person was asked for a second factor.
package enum FactorOutcome: Sendable {
    case signedIn(FinishedSignIn)
    /// The session has shown it anew.
    case reauthenticated
}

/// The second step of logins, and of what a session may do only when it was taken of late.
///
/// A class, since what waits for a provider would have it in the frame of each function that waits.
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

    /// Asks for a factor of a login that was put off.
    ///
    /// - Throws: `pending_sign_in_invalid`, `not_found`, and what stands in the way of a code.
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

    /// Begins to ask the person of a session for a second factor.
    ///
    /// - Returns: The members that a login that is put off has in its `errorData`.
    /// - Throws: `session_invalid`, `factor_not_offered` when the user has none.
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

    /// Begins a login by a passkey, whoever's it is.
    ///
    /// - Returns: `pending`, `publicKey` and `expires`.
    /// - Throws: `factor_not_offered` where the application has no such login.
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

    /// Finishes what was put off: the login, whose reply is that of the login itself; or notes that a session's person
    /// has shown the factor.
    ///
    /// - Throws: `pending_sign_in_invalid`, `second_factor_invalid`, `too_many_attempts`, and what the login throws.
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

    /// What finishes a login, checked; of a repetition, whose session is there, it was checked before and used up.
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

    /// Whether an answer has finished the login before, under the same key of its client's: the session is there.
    ///
    /// - Throws: `idempotency_key_reused` when another answer under that key has finished the login.
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

    /// Writes a login with its second factor.
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

    /// Does the second step of a login and tells how it went, as of the login itself.
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
    /// What the person has typed to log in by a password.
    var login: String? {
        guard case .signIn(.password(let password)) = purpose else { return nil }
        return password.login
    }

    /// By what it is used up.
    var hash: [UInt8] { Digest.sha256("pending sign-in " + Base64URL.encode(occasion.bytes)) }

    /// What counts once of it: what ended our access to the identity since it was begun has ended it, too.
    func once(by answer: FactorAnswer, _ random: RandomSource) -> SingleUse {
        .pendingSignIn(hash, begunAt: begunAt, owner: answer.idempotencyKey?.owner ?? random.bytes(16))
    }
}

extension SingleUse {
    static func pendingSignIn(_ hash: [UInt8], begunAt: StoreMoment, owner: [UInt8]) -> SingleUse {
        SingleUse(
            hash: hash,
            // `SingleUse` allows a second, since providers tell whole ones. This time is exact: the second is taken
            // back.
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
