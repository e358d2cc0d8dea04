package import Vocabulary
import Passwords
import Store

extension Federation {
    /// Seconds for which a proof of who somebody is counts for what must not be done with a stolen session alone.
    package static let reauthenticationSeconds = 300

    /// Whether the password is that of the session's user, who has then shown who they are.
    ///
    /// - Throws: `session_invalid`, `too_many_attempts`, `overloaded`.
    package func verifyPassword(
        _ password: Secret,
        ofSession token: SessionToken?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Bool {
        let user = try await user(of: token, in: loaded)
        guard let token, PasswordPolicy.canBePassword(password) else { return false }
        do throws(Failure) {
            try await prove(password, of: user, token: token, from: source, in: loaded)
            return true
        } catch {
            guard error.reason == .loginInvalid else { throw error }
            return false
        }
    }

    /// Holds a session to a proof of who its person is that is at most five minutes old.
    ///
    /// - Throws: `reauthentication_required`.
    package func requireProof(of token: SessionToken, in loaded: LoadedApplication) async throws(Failure) {
        let isProved = try await store.isAuthenticated(
            tokenHash: token.hash,
            within: Self.reauthenticationSeconds,
            in: loaded.application
        )
        guard isProved else { throw .reauthenticationRequired }
    }

    /// Holds a password against that of a user, and notes that the session's person has shown who they are.
    private func prove(
        _ password: Secret,
        of user: User,
        token: SessionToken,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        let application = loaded.application
        let stored = try await store.password(of: user.objectID, in: application)
        // Guesses through a session and guesses at the login are guesses at one password.
        let guess = PasswordGuess(password: password, login: stored?.login ?? user.objectID.description, source: source)
        _ = try await check(guess, in: application, deadline: .now + limits.login) { stored }
        try await store.noteAuthentication(tokenHash: token.hash, in: application)
    }
}
