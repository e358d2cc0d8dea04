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

/// A client's request that finishes a pending login, already parsed.
package struct FactorAnswer: Sendable {
    /// The encrypted pending login.
    package let pending: String
    /// The id of the factor; nil for a passkey, since its response has the passkey's own id.
    package let factor: ObjectID?
    package let response: FactorResponse
    /// Whether the user trusts the device.
    ///
    /// Then the next logins on it need no second factor for a while.
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
package struct FinishedLogin: Sendable {
    package let signedIn: LoginResult
    /// The token by which the service trusts the device from now on; nil if the user does not trust the device.
    package let trustedDevice: Secret?
    /// The recovery codes of a user who has just enrolled the first factor.
    ///
    /// They are shown only once.
    package let recoveryCodes: [Secret]
}

/// The result of a request with a second factor.
package enum FactorOutcome: Sendable {
    case signedIn(FinishedLogin)
    /// The factor was accepted as the step-up of a session.
    case reauthenticated
}

/// Starts and finishes the use of a second factor: for a pending login, or for a step-up of a session.
///
/// A class, since a struct would be copied into the frame of each async function that waits for a provider.
package final class SecondFactor: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let sessions: Sessions
    let pendings: PendingLogins
    let checks: FactorChecks
    let writer: LoginWriter
    let completion: LoginCompletion
    let admission: Admission
    let log: LoginLog
    let limits: Limits
    let clock: WallClock
    let random: RandomSource

    package init(
        store: Store,
        directory: ApplicationDirectory,
        sessions: Sessions,
        pendings: PendingLogins,
        checks: FactorChecks,
        writer: LoginWriter,
        completion: LoginCompletion,
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
        self.writer = writer
        self.completion = completion
        self.admission = admission
        self.log = log
        self.limits = limits
        self.clock = clock
        self.random = random
    }

    /// Starts the challenge of a factor that can finish a pending login.
    ///
    /// - Throws: `pending_login_invalid`, `not_found`, and the errors of sending a code.
    package func start(
        _ pending: String,
        factor: ObjectID,
        by keyLabel: String?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (challenge: FactorChallenge, expires: Int64) {
        let pending = try pendings.opened(pending, by: keyLabel, in: loaded.application)
        guard let user = pending.user, !pending.enrols, pending.waitsForFactor else { throw .pendingInvalid }
        let challenge = try await checks.challenge(
            factor,
            of: user,
            besidesMailbox: pending.mailbox,
            for: pending.occasion,
            from: source,
            in: loaded
        )
        return (challenge, pending.endsAt * 1000)
    }

    /// Begins a step-up of a session.
    ///
    /// - Returns: The members `pending`, `factors` and `expires`, which are the same as in `errorData` of a login that
    ///   needs a second factor.
    /// - Throws: `session_invalid`; `factor_not_offered` if the user has no factor.
    package func startReauthentication(
        of token: SessionKey?,
        by keyLabel: String?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> JSONObject {
        let (user, token) = try await sessions.session(of: token, in: loaded)
        let factors = try await store.factors(of: user.objectID, in: loaded.application)
        guard !checks.usable(factors, in: loaded.application).isEmpty else {
            throw Failure(.factorNotOffered, "This user has no second factor.")
        }
        let pending = PendingLogin(
            occasion: FactorOccasion(random),
            purpose: .reauthentication(token.hash),
            user: user.objectID,
            isUserThere: true,
            enrols: false,
            keyLabel: keyLabel,
            previousSession: nil,
            begunAt: StoreMoment(seconds: clock.seconds),
            endsAt: clock.seconds + PendingLogin.seconds
        )
        return pendings.details(of: pending, factors, in: loaded.application)
    }

    /// Begins a login by a passkey alone.
    ///
    /// The service does not know yet which user logs in.
    ///
    /// - Returns: A JSON object with `pending` (the encrypted pending login), `publicKey` (the options for the passkey)
    ///   and `expires`.
    /// - Throws: `factor_not_offered` if the application does not allow logins by a passkey.
    package func startPasskeyLogin(
        by client: LoginClient,
        previousSession: SessionKey?,
        in loaded: LoadedApplication
    ) throws(Failure) -> JSONObject {
        let occasion = FactorOccasion(random)
        guard loaded.application.settings.secondFactor.passkeys.isLoginMethod,
            let options = checks.loginOptions(for: occasion, in: loaded.application)
        else { throw .noPasskeyLogin }
        let pending = PendingLogin(
            occasion: occasion,
            purpose: .passkey,
            user: nil,
            isUserThere: false,
            enrols: false,
            keyLabel: client.keyLabel,
            previousSession: previousSession,
            begunAt: StoreMoment(seconds: clock.seconds),
            endsAt: clock.seconds + PendingLogin.seconds
        )
        return [
            "pending": .string(pendings.encrypted(pending, of: loaded.application.id).reveal()),
            "publicKey": .object(options), "expires": .integer(pending.endsAt * 1000),
        ]
    }

    /// Finishes a pending login or a step-up of a session.
    ///
    /// A finished login has the same response as a login without a second factor.
    ///
    /// - Throws: `pending_login_invalid`, `second_factor_invalid`, `too_many_attempts`, and the errors of the login.
    package func finish(
        _ answer: FactorAnswer,
        session: SessionKey?,
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
        case .link, .sameAddress: throw .pendingInvalid
        case .passkey:
            return .signedIn(try await finishPasskeyLogin(answer, of: pending, in: loaded, logger: logger))
        case .login(let firstFactor):
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
                    in: loaded,
                    logger: logger
                )
                return FinishedLogin(signedIn: signedIn, trustedDevice: device?.secret, recoveryCodes: [])
            }
            return .signedIn(finished)
        }
    }

    /// Checks the second factor of a request, and returns the factor.
    ///
    /// If the request is a retry, and the session of the first request exists, returns the factor unchecked: the first
    /// request has used up the factor.
    private func shown(
        by answer: FactorAnswer,
        of user: ObjectID,
        for pending: PendingLogin,
        once: SingleUse,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (ShownFactor, guess: [UInt8]?) {
        let application = loaded.application
        if try await isRepetition(answer, once: once, in: loaded) {
            let factor = try await checks.factor(of: answer.response, by: answer.factor, of: user, in: application)
            return (ShownFactor(id: factor), nil)
        }
        var factors: [StoredFactor]?
        if let mailbox = pending.mailbox {
            let stored = try await store.factors(of: user, in: application)
            factors = checks.usable(stored, besidesMailbox: mailbox, in: application)
            if let id = answer.factor, factors?.contains(where: { $0.id == id }) == false { throw .notOffered }
        }
        let checked = try await checks.check(
            answer.response,
            by: answer.factor,
            of: user,
            among: factors,
            for: pending.occasion,
            use: .login,
            from: answer.source,
            in: loaded
        )
        return (checked.shown, checked.guess)
    }

    /// Returns whether the request is a retry: an earlier request under the same `Idempotency-Key` has finished the
    /// login, and the session of that login is still live.
    ///
    /// - Throws: `idempotency_key_reused` if a different request under that key has finished the login.
    func isRepetition(
        _ answer: FactorAnswer,
        once: SingleUse,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Bool {
        guard let key = answer.idempotencyKey,
            let owner = try await store.owner(of: .pendingLogin, hash: once.hash, in: loaded.application)
        else { return false }
        try key.requireSameRequest(as: owner)
        let token = writer.sessionToken(of: once, isRepeatable: true, in: loaded)
        return try await store.sessionProofs(tokenHash: token.key.hash, in: loaded.application) != nil
    }

    private func reauthenticate(
        _ user: ObjectID,
        by answer: FactorAnswer,
        of pending: PendingLogin,
        session: SessionKey,
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
            .pendingLogin,
            hash: pending.hash,
            seconds: PendingLogin.enrolmentSeconds,
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
        of pending: PendingLogin,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> FinishedLogin {
        try await log.telling(of: "passkey login", by: .passkey, in: loaded, logger, signedIn: \.signedIn) {
            () throws(Failure) in
            guard loaded.application.settings.secondFactor.passkeys.isLoginMethod else { throw .noPasskeyLogin }
            guard case .credential(let credential) = answer.response else {
                throw Failure(
                    .malformedRequest,
                    "Send the response of the passkey as \"credential\", as the browser returned it."
                )
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
                tokenHash: token.key.hash,
                previousTokenHash: pending.previousSession?.hash,
                once: once,
                factor: proof
            )
            let signedIn = try await open(opening, token: token, in: loaded)
            return FinishedLogin(signedIn: signedIn, trustedDevice: nil, recoveryCodes: [])
        }
    }

    func write(
        _ firstFactor: FirstFactor,
        with proof: FactorProof,
        once: SingleUse,
        of pending: PendingLogin,
        by answer: FactorAnswer,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LoginResult {
        switch firstFactor {
        case .password(let password), .mailedLink(let password):
            let token = writer.sessionToken(of: once, isRepeatable: answer.idempotencyKey != nil, in: loaded)
            let opening = SessionOpening(
                user: password.objectID,
                grounds: .password(password.hash),
                login: password.login,
                tokenHash: token.key.hash,
                previousTokenHash: pending.previousSession?.hash,
                once: once,
                factor: proof
            )
            return try await open(opening, token: token, in: loaded)
        case .provider(let verified, let joining):
            return try await completion.complete(
                verified,
                of: pending,
                by: .init(
                    once: once,
                    idempotencyKey: answer.idempotencyKey,
                    keyLabel: answer.keyLabel,
                    factor: proof,
                    joining: joining
                ),
                in: loaded,
                logger: logger
            )
        }
    }

    private func open(
        _ opening: SessionOpening,
        token: SessionToken,
        in loaded: LoadedApplication
    ) async throws(Failure) -> LoginResult {
        let opened = try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
            try await admission.write(of: loaded.application) {
                () throws(Failure) in
                try await store.openSession(opening, of: loaded.application)
            }
        }
        guard let opened else { throw .pendingInvalid }
        return LoginResult(user: opened.user, token: token, created: false)
    }

    /// Calls `body`, which finishes a login with the second factor, and reports the outcome of the login.
    ///
    /// - Throws: The error of `body`, marked as logged, so that no other code logs it again.
    func telling(
        of firstFactor: FirstFactor,
        in loaded: LoadedApplication,
        _ logger: Logger,
        _ body: () async throws(Failure) -> FinishedLogin
    ) async throws(Failure) -> FinishedLogin {
        let started = ContinuousClock.now
        let (subject, provider): (LoginLog.Subject, ProviderName) =
            switch firstFactor {
            case .password(let password), .mailedLink(let password): (.login(password.login), .password)
            case .provider(let login, _): (.code(nil), login.result.verified.identity.provider)
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

extension PendingLogin {
    /// Whether a second factor of the user continues the operation.
    var waitsForFactor: Bool {
        if case .sameAddress = purpose { false } else { true }
    }

    /// The address of the mailbox to which the user has shown access as the first factor; nil for another first factor.
    var mailbox: String? {
        switch purpose {
        case .login(.provider(_, joining: .mailbox(let mailbox))): mailbox.email
        case .login(.mailedLink(let password)): password.login
        default: nil
        }
    }

    /// The login name that the user typed, if the first factor is a password.
    var login: String? {
        guard case .login(.password(let password)) = purpose else { return nil }
        return password.login
    }

    /// The hash that the database stores when the pending login is used.
    ///
    /// A second use finds the hash and is refused.
    var hash: [UInt8] { Digest.sha256("pending login " + Base64URL.encode(occasion.bytes)) }

    /// Returns the record by which the database marks the pending login as used.
    ///
    /// The record has the time at which the login became pending. If the user's consent at the provider is revoked
    /// after that time, the login is refused.
    func once(by answer: FactorAnswer, _ random: RandomSource) -> SingleUse {
        .pendingLogin(hash, begunAt: begunAt, owner: answer.idempotencyKey?.owner ?? random.bytes(16))
    }
}

extension SingleUse {
    static func pendingLogin(_ hash: [UInt8], begunAt: StoreMoment, owner: [UInt8]) -> SingleUse {
        SingleUse(
            hash: hash,
            // `SingleUse` adds a second, since providers give whole seconds. This time is exact, so one second is
            // subtracted here.
            issuedAt: begunAt.earlierBySecond,
            seconds: PendingLogin.enrolmentSeconds + 3600,
            owner: owner,
            nonceHash: nil
        )
    }
}

extension Failure {
    static let noPasskeyLogin = Failure(
        .factorNotOffered,
        "This app does not allow logins with a passkey alone. Use another login method."
    )
}
