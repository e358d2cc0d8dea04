package import Applications
package import Domain
import Logins
package import Messaging
import Passwords
import Store

/// Checks that the user of a session was authenticated recently.
package struct Reauthentication: Sendable {
    let store: Store
    let sessions: Sessions
    let verifier: PasswordVerifier
    let limits: Limits

    /// Returns whether the password is that of the session's user; if so, records the authentication.
    ///
    /// - Throws: `session_invalid`, `too_many_attempts`, `overloaded`.
    package func verifyPassword(
        _ password: Secret,
        ofSession token: SessionKey?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Bool {
        let user = try await sessions.user(of: token, in: loaded)
        guard let token, PasswordPolicy.canBePassword(password) else { return false }
        let application = loaded.application
        let stored = try await store.password(of: user.objectID, in: application)
        // Guesses within a session and guesses at a login count together, since they guess the same password.
        let former = FormerUser(user, in: application)
        let login = stored?.login ?? former?.login.key ?? user.objectID.description
        let guess = PasswordGuess(password: password, login: login, source: source)
        let matched = try await verifier.check(
            guess,
            orOf: former,
            in: application,
            deadline: .now + limits.login
        ) { stored }
        guard matched != nil else { return false }
        try await store.noteAuthentication(tokenHash: token.hash, in: application)
        return true
    }

    /// Requires an authentication of the session's user that is at most five minutes old.
    ///
    /// An application may accept any live session instead.
    package func require(of token: SessionKey, in loaded: LoadedApplication) async throws(Failure) {
        guard loaded.application.settings.reauthentication == .recent else { return }
        let isAuthenticated = try await store.isAuthenticated(
            tokenHash: token.hash,
            within: Sessions.reauthenticationSeconds,
            in: loaded.application
        )
        guard isAuthenticated else { throw .reauthenticationRequired }
    }
}
