import Limiting
package import Vocabulary

/// What a password is to a stored hash.
package enum Verdict: Sendable, Equatable {
    /// It is the password; `outdated` when the hash was made in another way than new ones are.
    case matches(outdated: Bool)
    case differs
}

/// Hashes passwords with Argon2id, a bounded number at once, on threads of its own.
///
/// One hash takes tens of milliseconds of a core and 19 MiB, so what comes at once takes `slots` × 19 MiB at most,
/// whoever sends it; the check of a hash that another system made takes up to 64 MiB. What has no slot waits in a queue
/// of bounded length, no longer than its own deadline, in which applications and the sources of each take turns. The
/// threads are less urgent to the system than all others of the
/// process: logins that need no hash do not wait for those that do.
package final class PasswordHasher: Sendable {
    private let threads: HashingThreads
    private let turns: FairQueue
    private let random: RandomSource
    /// Nobody's hash: what is computed when there is none, so that it takes as long.
    private let dummy: ForeignHash?

    /// Makes a hasher.
    ///
    /// - Parameters:
    ///   - slots: Hashes computed at once, at least one.
    ///   - queue: Hashes that wait for a slot; one more is refused.
    ///   - random: Where salts come from.
    package init(slots: Int = 1, queue: Int = 256, random: RandomSource) {
        threads = HashingThreads(count: max(slots, 1))
        turns = FairQueue(width: slots, most: queue, refusal: HashingThreads.overloaded)
        self.random = random
        let text = Argon2.hash(random.bytes(Argon2.tagBytes), salt: random.bytes(Argon2.saltBytes))
        dummy = text.flatMap { try? ForeignHash(Secret($0)) }
    }

    /// How many hashes are being computed, and how many wait.
    package var statistics: (working: Int, waiting: Int) { turns.statistics }

    /// The hash of a new password with a fresh salt, as libargon2 writes it.
    ///
    /// - Parameters:
    ///   - password: At most `PasswordRules.mostBytes` long.
    ///   - application: Whose turn it takes.
    ///   - deadline: When nobody waits for it any more.
    /// - Returns: Parameters, salt and tag as one text.
    /// - Throws: `overloaded`; `internal` when memory is short.
    package func hash(
        _ password: Secret,
        of application: ApplicationID,
        deadline: ContinuousClock.Instant = .now + .seconds(5)
    ) async throws(Failure) -> String {
        let bytes = try Self.bytes(of: password)
        let salt = random.bytes(Argon2.saltBytes)
        return try await inTurn(application, deadline) { Argon2.hash(bytes, salt: salt) }
    }

    /// Whether the hash is that of the password.
    ///
    /// It takes at least as long as where there is no hash: what another system has made may be checked faster.
    ///
    /// - Parameters:
    ///   - password: At most `PasswordRules.mostBytes` long.
    ///   - application: Whose turn it takes.
    ///   - hash: The text of a `ForeignHash`. Nil where there is none: the same work is done, and nothing matches.
    ///   - deadline: When nobody waits for it any more.
    /// - Returns: Whether it matches.
    /// - Throws: `overloaded`; `internal` when memory is short or the hash is none (`ForeignHash`).
    package func verify(
        _ password: Secret,
        of application: ApplicationID,
        against hash: String?,
        deadline: ContinuousClock.Instant = .now + .seconds(5)
    ) async throws(Failure) -> Verdict {
        let forms = try Self.forms(of: password)
        let stored = try hash.map { (text) throws(Failure) in try Self.read(text) }
        let dummy = dummy
        return try await inTurn(application, deadline) {
            if stored?.isCurrent != true {
                for form in forms where dummy?.matches(form) == nil { return nil }
            }
            guard let stored else { return .differs }
            for form in forms {
                guard let matches = stored.matches(form) else { return nil }
                if matches { return .matches(outdated: !stored.isCurrent) }
            }
            return .differs
        }
    }

    private func inTurn<Value: Sendable>(
        _ application: ApplicationID,
        _ deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable () -> Value?
    ) async throws(Failure) -> Value {
        try await turns.pass(of: application, before: deadline) { () throws(Failure) in try await threads.run(body) }
    }

    private static func read(_ hash: String) throws(Failure) -> ForeignHash {
        do throws(ForeignHashProblem) { return try ForeignHash(Secret(hash)) } catch {
            throw Failure(
                .internal,
                "The service cannot check the password of this account. Its operator has to look into it.",
                cause: error.description
            )
        }
    }

    /// The bytes to hold against a hash, however many of them there are.
    ///
    /// Ours are of the password in NFC, those of other systems of what the person sent there. Both are tried on every
    /// hash, and where there is none, so that the time says nothing of which it is.
    private static func forms(of password: Secret) throws(Failure) -> [[UInt8]] {
        let (normalized, sent) = (try bytes(of: password), Array(password.reveal().utf8))
        return normalized == sent ? [sent] : [normalized, sent]
    }

    private static func bytes(of password: Secret) throws(Failure) -> [UInt8] {
        guard PasswordPolicy.canBePassword(password) else {
            throw Failure(.passwordNotAllowed, "A password has 1 to \(PasswordRules.mostBytes) bytes and no NUL.")
        }
        return Array(password.reveal().normalized.utf8)
    }
}
