package import Applications
package import Logins
package import Notifications
import Passwords
package import Store
package import Vocabulary

/// Whether whoever holds a session has shown of late to be its user.
package struct Reauthentication: Sendable {
    let store: Store
    let sessions: Sessions
    let verifier: PasswordVerifier
    let limits: Limits

    package init(
        store: Store,
        sessions: Sessions,
        verifier: PasswordVerifier,
        limits: Limits
    ) {
        self.store = store
        self.sessions = sessions
        self.verifier = verifier
        self.limits = limits
    }

    /// Whether the password is that of the session's user, who has then shown who they are.
    ///
    /// - Throws: `session_invalid`, `too_many_attempts`, `overloaded`.
    package func verifyPassword(
        _ password: Secret,
        ofSession token: SessionToken?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Bool {
        let user = try await sessions.user(of: token, in: loaded)
        guard let token, PasswordPolicy.canBePassword(password) else { return false }
        let application = loaded.application
        let stored = try await store.password(of: user.objectID, in: application)
        // Guesses through a session and guesses at the login are guesses at one password.
        let guess = PasswordGuess(password: password, login: stored?.login ?? user.objectID.description, source: source)
        let matched = try await verifier.check(guess, in: application, deadline: .now + limits.login) { stored }
        guard matched != nil else { return false }
        try await store.noteAuthentication(tokenHash: token.hash, in: application)
        return true
    }

    /// Holds a session to an authentication of its person that is at most five minutes old, unless the application
    /// takes any that lives.
    ///
    /// - Throws: `reauthentication_required`.
    package func require(of token: SessionToken, in loaded: LoadedApplication) async throws(Failure) {
        guard loaded.application.settings.reauthentication == .recent else { return }
        let isAuthenticated = try await store.isAuthenticated(
            tokenHash: token.hash,
            within: Sessions.reauthenticationSeconds,
            in: loaded.application
        )
        guard isAuthenticated else { throw .reauthenticationRequired }
    }
}
