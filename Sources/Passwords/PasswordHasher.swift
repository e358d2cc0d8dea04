package import Domain
import Encodings
import Limiting

/// The result of verifying a password against a stored hash.
package enum Verdict: Sendable, Equatable {
    /// The password is right; `outdated` when the hash does not have the parameters of new hashes.
    case matches(outdated: Bool)
    case differs
}

/// Hashes and verifies passwords with Argon2id, on threads of its own, with a limit of concurrent hashes.
///
/// One hash takes tens of milliseconds of a core and 19 MiB. So concurrent hashes take at most `slots` × 19 MiB,
/// whatever clients send. The check of another system's hash takes up to 64 MiB. A hash that finds no free slot waits
/// in a queue of bounded length, at most until its deadline. Applications take turns in the queue, and so do the
/// sources of each application. The threads have a lower priority than all others of the process. So logins that need
/// no hash do not wait for logins that need one.
package final class PasswordHasher: Sendable {
    private let threads: HashingThreads
    private let turns: FairQueue
    private let random: RandomSource
    /// A dummy hash, which belongs to no account.
    ///
    /// A password is also checked against this hash if the account has no hash, or a hash of another system. So the
    /// duration of a check does not reveal whether the account has a hash of this service.
    private let dummy: ForeignHash?

    /// Creates a hasher.
    ///
    /// - Parameters:
    ///   - slots: The number of hashes computed at once, at least one.
    ///   - queue: The number of hashes that may wait for a slot; further ones are refused.
    ///   - random: The source of salts.
    package init(slots: Int = 1, queue: Int = 256, random: RandomSource) {
        threads = HashingThreads(count: max(slots, 1))
        turns = FairQueue(width: slots, max: queue, refusal: HashingThreads.overloaded)
        self.random = random
        let text = Argon2.hash(random.bytes(Argon2.tagBytes), salt: random.bytes(Argon2.saltBytes))
        dummy = text.flatMap { try? ForeignHash(Secret($0)) }
    }

    /// The number of hashes that are being computed, and the number of hashes that wait for a slot.
    package var statistics: (working: Int, waiting: Int) { turns.statistics }

    /// Hashes a new password with a fresh salt.
    ///
    /// - Parameters:
    ///   - password: A password of at most `PasswordRules.maxBytes`.
    ///   - application: The application of the user; applications take turns in the queue.
    ///   - deadline: The moment at which the client stops waiting.
    /// - Returns: The hash in the text form of libargon2, which contains parameters, salt and hash.
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

    /// Returns a new hash that no password has (`UnsetPassword`).
    ///
    /// - Throws: `overloaded`; `internal` when memory is short.
    package func unset(
        of application: ApplicationID,
        deadline: ContinuousClock.Instant = .now + .seconds(5)
    ) async throws(Failure) -> Secret {
        let random = random
        return try await inTurn(application, deadline) { UnsetPassword.hash(random: random) }
    }

    /// Verifies a password against a stored hash.
    ///
    /// Another system's hash may take less time than a hash of this service. So the method also checks the password
    /// against a dummy hash of this service, if the account has another system's hash or none.
    ///
    /// - Parameters:
    ///   - password: A password of at most `PasswordRules.maxBytes`.
    ///   - application: The application of the user; applications take turns in the queue.
    ///   - hash: The text of a `ForeignHash`. If it is nil, the same work is done, and the password never matches.
    ///   - deadline: The moment at which the client stops waiting.
    /// - Returns: Whether the password matches, and if so, whether the hash is outdated.
    /// - Throws: `overloaded`; `internal` when memory is short or the hash is invalid (`ForeignHash`).
    package func verify(
        _ password: Secret,
        of application: ApplicationID,
        against hash: String?,
        deadline: ContinuousClock.Instant = .now + .seconds(5)
    ) async throws(Failure) -> Verdict {
        try await inTurn(application, deadline, try check(password, against: hash))
    }

    /// Returns a closure that checks a password against a hash; the closure returns nil when memory is short.
    func check(_ password: Secret, against hash: String?) throws(Failure) -> @Sendable () -> Verdict? {
        let forms = try Self.forms(of: password)
        let stored = try hash.map { (text) throws(Failure) in try Self.read(text) }
        let dummy = dummy
        return {
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
                "The service cannot verify the password of this account. Contact the operator.",
                cause: error.description
            )
        }
    }

    /// Returns the bytes of a password that are compared with a hash: its normalized form (NFC), and the bytes as sent,
    /// if they differ.
    ///
    /// This service hashes the normalized form of a new password. Other systems hashed the bytes that the user sent.
    /// Both forms are tried in every check, whatever the kind of the hash, so the duration does not reveal the kind.
    private static func forms(of password: Secret) throws(Failure) -> [[UInt8]] {
        let (normalized, sent) = (try bytes(of: password), Array(password.reveal().utf8))
        return normalized == sent ? [sent] : [normalized, sent]
    }

    private static func bytes(of password: Secret) throws(Failure) -> [UInt8] {
        guard PasswordPolicy.canBePassword(password) else {
            throw Failure(.passwordNotAllowed, "A password has 1 to \(PasswordRules.maxBytes) bytes and no NUL.")
        }
        return Array(password.reveal().normalized.utf8)
    }
}
