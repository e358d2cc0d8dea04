package import Applications
package import Limiting
package import Logging
package import Logins
package import Notifications
import Passwords
import Secrets
package import Store
package import Vocabulary

/// What a client sends to log in with a password, parsed at the edge.
package struct PasswordLogin: Sendable {
    /// Empty when the client sent none.
    package let login: String
    /// Empty when the client sent none.
    package let password: Secret
    /// The session that the client already has; it ends when it is the same user's.
    package let previousToken: SessionToken?
    package let client: LoginClient
    package let source: RequestSource

    package init(
        login: String,
        password: Secret,
        previousToken: SessionToken?,
        client: LoginClient,
        source: RequestSource
    ) {
        self.login = login
        self.password = password
        self.previousToken = previousToken
        self.client = client
        self.source = source
    }
}

/// Logins by the identity property, an e-mail address unless the application has another, and a password.
package struct PasswordLogins: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let verifier: PasswordVerifier
    let pendings: PendingSignIns
    let admission: Admission
    let log: LoginLog
    let limits: Limits
    let random: RandomSource

    package init(
        store: Store,
        directory: ApplicationDirectory,
        verifier: PasswordVerifier,
        pendings: PendingSignIns,
        admission: Admission,
        log: LoginLog,
        limits: Limits,
        random: RandomSource
    ) {
        self.store = store
        self.directory = directory
        self.verifier = verifier
        self.pendings = pendings
        self.admission = admission
        self.log = log
        self.limits = limits
        self.random = random
    }

    /// Logs a person in by a password.
    ///
    /// Whether there is such an account shows in nothing, not in text, status or time, until the password is right: a
    /// login that is nobody's, and one of an account without a password, takes as long as a wrong password and is
    /// counted like one.
    ///
    /// - Parameters:
    ///   - request: What the client sent.
    ///   - loaded: The application.
    ///   - logger: Gets one line about how it went.
    /// - Returns: The user and the session.
    /// - Throws: `login_incomplete`, `login_invalid`, `too_many_attempts`, and of those who know the password:
    ///   `account_disabled`, `email_unconfirmed`, `second_factor_required`, `second_factor_enrolment_required`.
    package func logIn(
        _ request: PasswordLogin,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> SignedIn {
        let deadline = ContinuousClock.now + limits.login
        return try await log.telling(of: .login(request.login), by: .password, in: loaded, logger) {
            () throws(Failure) in
            try await perform(request, to: loaded, deadline: deadline)
        }
    }

    private func perform(
        _ request: PasswordLogin,
        to loaded: LoadedApplication,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> SignedIn {
        guard !request.login.utf8.isEmpty, request.password.byteCount > 0 else {
            throw Failure(.loginIncomplete, "A login needs login and password.")
        }
        // Neither can be anybody's, so nothing is learnt from how fast that is said.
        guard let login = loaded.application.login(request.login), PasswordPolicy.canBePassword(request.password) else {
            throw Failure.loginInvalid
        }
        let guess = PasswordGuess(password: request.password, login: login.key, source: request.source)
        let stored = try await verifier.check(guess, in: loaded.application, deadline: deadline) { () throws(Failure) in
            try await store.password(ofLogin: login.key, in: loaded.application)
        }
        guard let stored else { throw Failure.loginInvalid }
        let token = random.sessionToken()
        let opening = SessionOpening(
            user: stored.objectID,
            grounds: .password(stored.hash),
            login: stored.login,
            tokenHash: token.hash,
            previousTokenHash: request.previousToken?.hash,
            deviceHash: request.client.deviceHash
        )
        // Nil: the password has been changed since it was checked.
        let began = ContinuousClock.now
        let opened: User?
        do throws(Failure) {
            opened = try await directory.withCurrent(loaded, until: deadline) { (loaded) throws(Failure) in
                try await admission.write(of: loaded.application) {
                    () throws(Failure) in
                    try await store.openSession(opening, of: loaded.application)
                }
            }
        } catch {
            throw try await pendings.putOff(
                error,
                .password(stored),
                by: request.client,
                previousToken: request.previousToken,
                since: began,
                in: loaded
            )
        }
        guard let user = opened else { throw Failure.loginInvalid }
        return SignedIn(user: user, token: token, created: false)
    }

}
