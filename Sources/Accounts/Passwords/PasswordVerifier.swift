package import Applications
import Domain
import Messaging
package import Passwords
package import Secrets
package import Store

/// A password that a client sent for a login name: possibly an attempt to guess the password.
struct PasswordGuess: Sendable {
    let password: Secret
    /// The login name in its normalized form (`Login.key`).
    let login: String
    let source: RequestSource

    /// The keys of the two counters in which the guess counts: one for its source, and one for the account.
    var keys: AttemptKeys { AttemptKeys(source: source.attemptKey, account: Self.accountKey(of: login)) }

    static func accountKey(of login: String) -> [UInt8] { Digest.sha256("login " + login) }
}

/// Verifies passwords, and hashes new passwords for storage.
package struct PasswordVerifier: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let passwords: PasswordHasher
    let attempts: AttemptCounter
    let limits: Limits

    package init(
        store: Store,
        masterKeys: MasterKeys,
        passwords: PasswordHasher,
        attempts: AttemptCounter,
        limits: Limits
    ) {
        self.store = store
        self.masterKeys = masterKeys
        self.passwords = passwords
        self.attempts = attempts
        self.limits = limits
    }

    /// Checks a password that a client sent (a guess) against the stored password.
    ///
    /// Counts the guess, then computes the hash. If the guess was right or could not be checked, it no longer counts.
    /// No other code checks guesses, so none bypasses the limits (T-85).
    ///
    /// - Parameters:
    ///   - guess: The guess.
    ///   - application: The application.
    ///   - deadline: The deadline of the request.
    ///   - find: Reads the stored password. If it returns nil, the check takes as long as for a wrong guess.
    /// - Returns: The stored password if the guess matches; nil otherwise.
    /// - Throws: `too_many_attempts`, `overloaded`.
    func check(
        _ guess: PasswordGuess,
        in application: Application,
        deadline: ContinuousClock.Instant,
        find: () async throws(Failure) -> StoredPassword?
    ) async throws(Failure) -> StoredPassword? {
        let counts = guess.keys.counts(by: application.settings.lockout)
        let refusal = try await attempts.count(counts, of: application, before: deadline)
        if let seconds = refusal?.seconds {
            throw Failure(
                .tooManyAttempts,
                """
                Too many wrong passwords. Wait \(seconds) seconds, use another login method, or request a link to set \
                a new password.
                """,
                retryAfter: seconds
            )
        }
        let match = try await attempts.takingBack(counts, of: application) {
            () throws(Failure) -> (stored: StoredPassword, isOutdated: Bool)? in
            let stored = try await find()
            let verdict = try await verify(guess.password, against: stored, in: application, deadline: deadline)
            guard let stored, case .matches(let isOutdated) = verdict else { return nil }
            try await store.forgiveAttempt(guess.keys, of: application)
            return (stored, isOutdated)
        }
        guard let (stored, isOutdated) = match else { return nil }
        return isOutdated ? await hashedAnew(stored, guess.password, in: application, deadline: deadline) : stored
    }

    /// Returns the stored password if the sent password matches it; nil otherwise.
    ///
    /// The request counts as an attempt to guess the password (T-85).
    func match(
        _ sent: Secret,
        _ stored: StoredPassword?,
        from source: RequestSource,
        in application: Application
    ) async throws(Failure) -> StoredPassword? {
        guard let stored, PasswordPolicy.canBePassword(sent) else { return nil }
        let guess = PasswordGuess(password: sent, login: stored.login, source: source)
        return try await check(guess, in: application, deadline: .now + limits.login) { stored }
    }

    /// Hashes a password again under the current parameters.
    ///
    /// After a failure, returns the stored password unchanged. The next login tries again.
    private func hashedAnew(
        _ stored: StoredPassword,
        _ password: Secret,
        in application: Application,
        deadline: ContinuousClock.Instant
    ) async -> StoredPassword {
        do throws(Failure) {
            let hash = try await passwords.hash(password, of: application.id, deadline: deadline)
            let place = MasterKey.Place.passwordHash(application: application.id, user: stored.objectID)
            let encrypted = masterKeys.encrypt(Secret(hash), for: place)
            try await store.replaceHash(stored.hash, of: stored.objectID, by: encrypted, in: application)
            return StoredPassword(objectID: stored.objectID, login: stored.login, hash: encrypted)
        } catch {
            return stored
        }
    }
}
