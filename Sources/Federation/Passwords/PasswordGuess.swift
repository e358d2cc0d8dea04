import Vocabulary
import Passwords
import Store

/// A password that somebody claims to be that of a login.
struct PasswordGuess: Sendable {
    let password: Secret
    /// `EmailAddress.login`.
    let login: String
    let source: RequestSource

    /// For what it is counted.
    var keys: AttemptKeys { AttemptKeys(source: source.attemptKey, account: Self.accountKey(of: login)) }

    static func accountKey(of login: String) -> [UInt8] { Digest.sha256("login " + login) }
}

extension RequestSource {
    var attemptKey: [UInt8] { Digest.sha256("source " + name) }
}

extension Federation {
    /// The one place where a password is held against a stored one.
    ///
    /// Counts the guess, then computes, then takes the count back if the guess was right. Every road goes through here, so no road
    /// leads around the limits (T-85).
    ///
    /// - Parameters:
    ///   - guess: What is claimed.
    ///   - application: Where.
    ///   - deadline: When nobody waits for it any more.
    ///   - find: Reads the stored password; nil where there is none, which takes as long as a wrong guess.
    /// - Returns: The stored password, which the guess matches.
    /// - Throws: `login_invalid`, `too_many_attempts`, `overloaded`.
    func check(
        _ guess: PasswordGuess,
        in application: Application,
        deadline: ContinuousClock.Instant,
        find: () async throws(Failure) -> StoredPassword?
    ) async throws(Failure) -> StoredPassword {
        let refusal = try await counting.pass(before: deadline) { () throws(Failure) in
            try await store.countAttempt(for: guess.keys.counts, of: application)
        }
        if let seconds = refusal?.seconds {
            throw Failure(
                .tooManyAttempts,
                "Too many attempts with a wrong password. Wait \(seconds) s, use another way in, or ask for a link to set another password.",
                retryAfter: seconds
            )
        }
        let stored = try await find()
        let verdict: Verdict
        do throws(Failure) {
            verdict = try await verify(guess.password, against: stored, in: application, deadline: deadline)
        } catch {
            try await counting.pass(before: .now + limits.login) { () throws(Failure) in
                try await store.withdrawAttempt(for: guess.keys.counts, of: application)
            }
            throw error
        }
        guard let stored, case .matches(let outdated) = verdict else { throw Self.loginInvalid }
        try await store.forgiveAttempt(guess.keys, of: application)
        return outdated ? await hashedAnew(stored, guess.password, in: application, deadline: deadline) : stored
    }

    /// The stored password under the parameters of new ones; as it was when that does not succeed, since the next login tries again.
    private func hashedAnew(
        _ stored: StoredPassword,
        _ password: Secret,
        in application: Application,
        deadline: ContinuousClock.Instant
    ) async -> StoredPassword {
        do throws(Failure) {
            let hash = try await passwords.hash(password, deadline: deadline)
            let place = MasterKey.Place.passwordHash(application: application.id, user: stored.objectID)
            let sealed = masterKeys.seal(Secret(hash), for: place)
            try await store.replaceHash(stored.hash, of: stored.objectID, by: sealed, in: application)
            return StoredPassword(objectID: stored.objectID, login: stored.login, hash: sealed)
        } catch {
            return stored
        }
    }
}
