package import Applications
package import Domain
import Limiting
package import Logging
package import Logins
package import Messaging
import Passwords
import Secrets
import Store

/// A client's request to log in with a password, after parsing.
package struct PasswordLogin: Sendable {
    /// The login name; empty if absent.
    package let login: String
    /// The password; empty if absent.
    package let password: Secret
    /// The client's present session; the login ends that session if it belongs to the same user.
    package let previousSession: SessionKey?
    package let client: LoginClient
    package let source: RequestSource

    package init(
        login: String,
        password: Secret,
        previousSession: SessionKey?,
        client: LoginClient,
        source: RequestSource
    ) {
        self.login = login
        self.password = password
        self.previousSession = previousSession
        self.client = client
        self.source = source
    }
}

/// Logs users in by login name and password.
///
/// The login name is the e-mail address, unless the application uses another property of the user as login name.
package struct PasswordLogins: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let verifier: PasswordVerifier
    let pendings: PendingLogins
    let admission: Admission
    let log: LoginLog
    let limits: Limits
    let random: RandomSource

    /// Logs a user in by a password.
    ///
    /// A client without the right password cannot learn whether the account exists. If the account is missing or has no
    /// password, the response has the same text and status as for a wrong password, takes as long, and counts as a
    /// failed attempt, too. With a former system (`PasswordSource`), the response for a user without a password takes
    /// as long as that system's.
    ///
    /// - Parameters:
    ///   - request: The client's request.
    ///   - loaded: The application.
    ///   - logger: Gets one line with the outcome.
    /// - Returns: The user and the session.
    /// - Throws: `login_incomplete`, `login_invalid`, `too_many_attempts`; `provider_unavailable` and similar failures
    ///   of a former system; and only with the right password: `account_disabled`, `email_unconfirmed`,
    ///   `second_factor_required`, `second_factor_enrolment_required`.
    package func logIn(
        _ request: PasswordLogin,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LoginResult {
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
    ) async throws(Failure) -> LoginResult {
        guard !request.login.utf8.isEmpty, request.password.byteCount > 0 else {
            throw Failure(.loginIncomplete, "A login needs login and password.")
        }
        // No account can have such a login or password, so a fast response reveals nothing.
        guard let login = loaded.application.login(request.login), PasswordPolicy.canBePassword(request.password) else {
            throw Failure.loginInvalid
        }
        let guess = PasswordGuess(password: request.password, login: login.key, source: request.source)
        let stored = try await verifier.check(
            guess,
            orOf: FormerUser(login, in: loaded.application),
            in: loaded.application,
            deadline: deadline
        ) { () throws(Failure) in
            try await store.password(ofLogin: login.key, in: loaded.application)
        }
        guard let stored else { throw Failure.loginInvalid }
        return try await openSession(
            by: .password(stored),
            stored,
            client: request.client,
            previousSession: request.previousSession,
            in: loaded,
            deadline: deadline
        )
    }

    /// Logs a user in who has just registered, without checking the password again.
    ///
    /// - Parameters:
    ///   - registered: The registered user.
    ///   - client: The client.
    ///   - previousSession: The client's present session.
    ///   - loaded: The application.
    ///   - logger: Gets one line with the outcome.
    /// - Returns: The user and the session.
    /// - Throws: `login_invalid` if the password has changed since; `email_unconfirmed`,
    ///   `second_factor_enrolment_required` and similar failures.
    package func logIn(
        _ registered: WrittenUser,
        client: LoginClient,
        previousSession: SessionKey? = nil,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LoginResult {
        let deadline = ContinuousClock.now + limits.login
        let login = registered.password?.login ?? ""
        return try await log.telling(of: .login(login), by: .password, in: loaded, logger) { () throws(Failure) in
            guard let stored = registered.password else { throw Failure.loginInvalid }
            return try await openSession(
                by: .password(stored),
                stored,
                client: client,
                previousSession: previousSession,
                in: loaded,
                deadline: deadline
            )
        }
    }

    /// Opens a session of the user to whom a stored password belongs.
    ///
    /// - Parameters:
    ///   - firstFactor: The factor that the user has presented.
    ///   - stored: The user's stored password. If the stored password has changed meanwhile, no session is opened.
    ///   - once: The mailed link, which the login uses up; nil for a password.
    ///   - client: The client.
    ///   - previousSession: The client's present session.
    ///   - loaded: The application.
    ///   - deadline: The deadline of the request.
    /// - Returns: The user and the session.
    /// - Throws: `login_invalid` if the password has changed; `link_invalid` for a used link; `account_disabled`,
    ///   `email_unconfirmed`, `second_factor_required`, `second_factor_enrolment_required`.
    func openSession(
        by firstFactor: FirstFactor,
        _ stored: StoredPassword,
        once: SingleUse? = nil,
        client: LoginClient,
        previousSession: SessionKey?,
        in loaded: LoadedApplication,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> LoginResult {
        let token = random.sessionToken()
        let refreshToken = client.usesRefreshTokens ? RefreshToken(by: random) : nil
        let opening = SessionOpening(
            user: stored.objectID,
            grounds: .password(stored.hash),
            login: stored.login,
            tokenHash: token.key.hash,
            previousTokenHash: previousSession?.hash,
            deviceHash: client.deviceHash,
            once: once,
            refreshToken: refreshToken?.stored
        )
        let began = ContinuousClock.now
        let opened: OpenedSession?
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
                firstFactor,
                by: client,
                previousSession: previousSession,
                since: began,
                in: loaded
            )
        }
        guard let opened else { throw Failure.loginInvalid }
        return LoginResult(
            user: opened.user,
            token: token,
            created: false,
            refreshed: RefreshedSession(refreshToken, opened.facts)
        )
    }
}
