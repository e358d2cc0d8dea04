package import Applications
import Notifications
package import Passwords
package import Secrets
package import Store
import Vocabulary

/// A password that somebody claims to be that of a login.
struct PasswordGuess: Sendable {
    let password: Secret
    /// `Login.key`.
    let login: String
    let source: RequestSource

    /// For what it is counted.
    var keys: AttemptKeys { AttemptKeys(source: source.attemptKey, account: Self.accountKey(of: login)) }

    static func accountKey(of login: String) -> [UInt8] { Digest.sha256("login " + login) }
}

/// Whether a password is the one, and what is stored of a new one.
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

    /// The one place where a password is held against a stored one.
    ///
    /// Counts the guess, then computes, then takes the count back if the guess was right, or nobody could look at it.
    /// Every road goes through here, so no road leads around the limits (T-85).
    ///
    /// - Parameters:
    ///   - guess: What is claimed.
    ///   - application: Where.
    ///   - deadline: When nobody waits for it any more.
    ///   - find: Reads the stored password; nil where there is none, which takes as long as a wrong guess.
    /// - Returns: The stored password, which the guess matches; nil when it does not.
    /// - Throws: `too_many_attempts`, `overloaded`.
    func check(
        _ guess: PasswordGuess,
        in application: Application,
        deadline: ContinuousClock.Instant,
        find: () async throws(Failure) -> StoredPassword?
    ) async throws(Failure) -> StoredPassword? {
        let counts = guess.keys.counts(by: application.settings.lock)
        let refusal = try await attempts.count(counts, of: application, before: deadline)
        if let seconds = refusal?.seconds {
            throw Failure(
                .tooManyAttempts,
                "Too many attempts with a wrong password. Wait \(seconds) s, use another login method, or ask for a link to set another password.",
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

    /// The stored password if the one that was sent is the same; a guess like every other (T-85).
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

    /// The stored password under the parameters of new ones; as it was when that does not succeed, since the next login
    /// tries again.
    private func hashedAnew(
        _ stored: StoredPassword,
        _ password: Secret,
        in application: Application,
        deadline: ContinuousClock.Instant
    ) async -> StoredPassword {
        do throws(Failure) {
            let hash = try await passwords.hash(password, of: application.id, deadline: deadline)
            let place = MasterKey.Place.passwordHash(application: application.id, user: stored.objectID)
            let sealed = masterKeys.seal(Secret(hash), for: place)
            try await store.replaceHash(stored.hash, of: stored.objectID, by: sealed, in: application)
            return StoredPassword(objectID: stored.objectID, login: stored.login, hash: sealed)
        } catch {
            return stored
        }
    }
}
