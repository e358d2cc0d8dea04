package import Applications
import Domain
package import FormerSystems
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
    /// Asks the former systems of applications; nil if this process asks none.
    let formerSystems: FormerSystems?
    let limits: Limits

    package init(
        store: Store,
        masterKeys: MasterKeys,
        passwords: PasswordHasher,
        attempts: AttemptCounter,
        formerSystems: FormerSystems? = nil,
        limits: Limits
    ) {
        self.store = store
        self.masterKeys = masterKeys
        self.passwords = passwords
        self.attempts = attempts
        self.formerSystems = formerSystems
        self.limits = limits
    }

    /// Checks a password that a client sent (a guess) against the stored password.
    ///
    /// Counts the guess, then computes the hash. If the guess was right or could not be checked, it no longer counts.
    /// No other code checks guesses, so none bypasses the limits (T-85).
    ///
    /// If there is no stored password, the application's former system may have to say whether the guess is right
    /// (`firstPassword(of:_:in:deadline:)`).
    ///
    /// - Parameters:
    ///   - guess: The guess.
    ///   - former: The user whom the former system may be asked about; nil if it is not to be asked.
    ///   - application: The application.
    ///   - deadline: The deadline of the request.
    ///   - find: Reads the stored password. If it returns nil, and no former system is asked, the check takes as long as
    ///     for a wrong guess.
    /// - Returns: The stored password if the guess matches; nil otherwise.
    /// - Throws: `too_many_attempts`, `overloaded`; the failures of a question to the former system.
    func check(
        _ guess: PasswordGuess,
        orOf former: FormerUser? = nil,
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
            var stored = try await find()
            if let open = try await openPassword(of: former, beside: stored, in: application) {
                switch try await firstPassword(of: open, guess.password, in: application, deadline: deadline) {
                case .wrong: return nil
                case .storedMeanwhile(let password): stored = password
                case .stored(let password):
                    try await store.forgiveAttempt(guess.keys, of: application)
                    return (password, false)
                }
            }
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
    ///
    /// - Parameters:
    ///   - sent: The password that the client sent.
    ///   - stored: The stored password; nil if the user has none.
    ///   - former: The user whom the former system may be asked about if there is no stored password; nil if it is not
    ///     to be asked. A password that the user may just have chosen must not be sent there.
    ///   - source: The source of the request.
    ///   - application: The application.
    /// - Returns: The stored password; nil also if the sent text cannot be a password.
    /// - Throws: `too_many_attempts`, `overloaded`; the failures of a question to the former system.
    func match(
        _ sent: Secret,
        _ stored: StoredPassword?,
        orOf former: FormerUser? = nil,
        from source: RequestSource,
        in application: Application
    ) async throws(Failure) -> StoredPassword? {
        guard PasswordPolicy.canBePassword(sent), let login = stored?.login ?? former?.login.key else { return nil }
        let guess = PasswordGuess(password: sent, login: login, source: source)
        return try await check(guess, orOf: former, in: application, deadline: .now + limits.login) { stored }
    }

    /// Hashes a password again under the current parameters.
    ///
    /// If another login was faster, returns what that login stored. After a failure, returns the stored password
    /// unchanged. The next login tries again.
    private func hashedAnew(
        _ stored: StoredPassword,
        _ password: Secret,
        in application: Application,
        deadline: ContinuousClock.Instant
    ) async -> StoredPassword {
        do throws(Failure) {
            let anew = try await hashed(
                password,
                login: stored.login,
                of: stored.objectID,
                in: application,
                deadline: deadline
            )
            if try await store.replaceHash(stored.hash, of: stored.objectID, by: anew.hash, in: application) {
                return anew
            }
            // Another login with the same password was faster, or the password has changed.
            let current = try await store.password(of: stored.objectID, in: application)
            let verdict = try await verify(password, against: current, in: application, deadline: deadline)
            return verdict == .differs ? stored : current ?? stored
        } catch {
            return stored
        }
    }
}
