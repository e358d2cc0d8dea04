package import Vocabulary

/// What a password is to a stored hash.
package enum Verdict: Sendable, Equatable {
    /// It is the password; `outdated` when the hash was made with weaker parameters than those of new ones.
    case matches(outdated: Bool)
    case differs
}

/// Hashes passwords with Argon2id, a bounded number at once, on threads of its own.
///
/// One hash takes tens of milliseconds of a core and 19 MiB, so what comes at once takes `slots` × 19 MiB at most,
/// whoever sends it. What has no slot waits in a queue of bounded length, no longer than its own deadline. The threads
/// are less urgent to the system than all others of the process: logins that need no hash do not wait for those that
/// do.
package final class PasswordHasher: Sendable {
    private let threads: HashingThreads
    private let random: RandomSource
    /// Nobody's hash: what is computed when there is none, so that it takes as long.
    private let dummy: String

    /// Makes a hasher.
    ///
    /// - Parameters:
    ///   - slots: Hashes computed at once, at least one.
    ///   - queue: Hashes that wait for a slot; one more is refused.
    ///   - random: Where salts come from.
    package init(slots: Int = 1, queue: Int = 256, random: RandomSource) {
        threads = HashingThreads(count: max(slots, 1), queue: queue)
        self.random = random
        dummy = Argon2.hash(random.bytes(Argon2.tagBytes), salt: random.bytes(Argon2.saltBytes)) ?? ""
    }

    /// The hash of a new password with a fresh salt, as libargon2 writes it.
    ///
    /// - Parameters:
    ///   - password: At most `PasswordPolicy.mostBytes` long.
    ///   - deadline: When nobody waits for it any more.
    /// - Returns: Parameters, salt and tag as one text.
    /// - Throws: `overloaded`; `internal` when memory is short.
    package func hash(
        _ password: Secret,
        deadline: ContinuousClock.Instant = .now + .seconds(5)
    ) async throws(Failure) -> String {
        let bytes = try Self.bytes(of: password)
        let salt = random.bytes(Argon2.saltBytes)
        return try await threads.run(before: deadline) { Argon2.hash(bytes, salt: salt) }
    }

    /// Whether the hash is that of the password.
    ///
    /// - Parameters:
    ///   - password: At most `PasswordPolicy.mostBytes` long.
    ///   - hash: Nil where there is none: the same work is done, and nothing matches.
    ///   - deadline: When nobody waits for it any more.
    /// - Returns: Whether it matches.
    /// - Throws: `overloaded`; `internal` when memory is short or the hash is none of Argon2id.
    package func verify(
        _ password: Secret,
        against hash: String?,
        deadline: ContinuousClock.Instant = .now + .seconds(5)
    ) async throws(Failure) -> Verdict {
        let bytes = try Self.bytes(of: password)
        let encoded = hash ?? dummy
        let matches = try await threads.run(before: deadline) { Argon2.verify(bytes, against: encoded) }
        guard let hash, matches else { return .differs }
        return .matches(outdated: Argon2.isOutdated(hash))
    }

    private static func bytes(of password: Secret) throws(Failure) -> [UInt8] {
        guard PasswordPolicy.canBePassword(password) else {
            throw Failure(.passwordNotAllowed, "A password has 1 to \(PasswordPolicy.mostBytes) bytes and no NUL.")
        }
        return password.normalizedBytes
    }
}
