package import Applications
package import Vocabulary
package import Logging
import Mapping
import Store

/// Logins by the credential of a provider.
package struct SignIn: Sendable {
    let authenticator: Authenticator
    let writer: SignInWriter
    let concurrency: ConcurrencyLimit
    let log: LoginLog
    let limits: Limits

    package init(
        authenticator: Authenticator,
        writer: SignInWriter,
        concurrency: ConcurrencyLimit,
        log: LoginLog,
        limits: Limits
    ) {
        self.authenticator = authenticator
        self.writer = writer
        self.concurrency = concurrency
        self.log = log
        self.limits = limits
    }

    /// Logs a person in by a provider's credential: verifies it, maps the profile, writes identity, user and session.
    ///
    /// Says in one log line how it went.
    package func signIn(
        _ request: LoginRequest,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> SignedIn {
        let started = ContinuousClock.now
        return try await log.telling(of: .credential(request.credential), by: request.provider, in: loaded, logger) {
            () throws(Failure) in
            try await concurrency.run { () throws(Failure) in
                let end = started + limits.login
                let attempt = LoginAttempt(request: request, loaded: loaded, end: end, limits: limits)
                return try await authenticator.withAuthentication(of: attempt) {
                    (login, plan, attempt) throws(Failure) in
                    try await writer.complete(login, by: plan, in: attempt)
                }
            }
        }
    }
}
