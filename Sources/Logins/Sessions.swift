package import Applications
import Crypto
package import Domain
import Encodings
import Metrics
import Secrets
package import Store

/// Checks the session tokens of users, and ends sessions.
package struct Sessions: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let limits: Limits

    /// The maximum age, in seconds, of a user's authentication when their session changes login methods.
    package static let reauthenticationSeconds = 300

    package init(
        store: Store,
        directory: ApplicationDirectory,
        limits: Limits
    ) {
        self.store = store
        self.directory = directory
        self.limits = limits
    }

    /// Returns whether the token names a live session of an enabled user.
    package func isValid(_ token: SessionKey?, of loaded: LoadedApplication) async throws(Failure) -> Bool {
        guard let token else { return false }
        return try await liveUser(ofHash: token.hash, in: loaded)?.status.mayAct ?? false
    }

    /// Ends the session.
    ///
    /// - Throws: `session_invalid` if the token names no live session. A client SDK with an expired token treats that
    ///   error as a completed logout.
    package func signOut(_ token: SessionKey?, of loaded: LoadedApplication) async throws(Failure) {
        guard let token, try await store.endSession(tokenHash: token.hash, of: loaded.application) else {
            throw Failure.sessionInvalid
        }
        SessionCounters.signedOut.increment()
    }

    /// Returns the user of a live session.
    ///
    /// - Throws: `session_invalid`; `account_disabled` if an operator has since disabled the user.
    package func user(
        of token: SessionKey?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> User {
        guard let token, let user = try await user(ofHash: token.hash, in: loaded) else { throw Failure.sessionInvalid }
        return user
    }

    /// Returns the user of the live session whose token has this SHA-256; nil if there is no such session.
    ///
    /// - Throws: `account_disabled`.
    func user(ofHash hash: [UInt8], in loaded: LoadedApplication) async throws(Failure) -> User? {
        guard let user = try await liveUser(ofHash: hash, in: loaded) else { return nil }
        guard user.status.mayAct else {
            throw Failure(.accountDisabled, "This account is disabled. Contact the operator of the app.")
        }
        return user
    }

    /// Returns the user of a live session, and the session's token.
    ///
    /// - Throws: As `user(of:in:)`.
    package func session(
        of token: SessionKey?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (user: User, token: SessionKey) {
        guard let token else { throw .sessionInvalid }
        return (try await user(of: token, in: loaded), token)
    }

    /// Returns a live session with everything that a signed token says about it.
    ///
    /// - Throws: `session_invalid`, `account_disabled`.
    package func facts(of session: SessionKey, in loaded: LoadedApplication) async throws(Failure) -> SessionFacts {
        let facts = try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
            try await store.sessionFacts(of: session, in: loaded.application)
        }
        return try facts.live()
    }

    /// Returns the user of a live session with everything that Firebase's clients see of a user.
    ///
    /// - Throws: `session_invalid`, `account_disabled`.
    package func account(of session: SessionKey, in loaded: LoadedApplication) async throws(Failure) -> AccountDetails {
        let found = try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
            try await store.sessionAccount(of: session, in: loaded.application)
        }
        guard let account = found else { throw .sessionInvalid }
        guard account.user.status.mayAct else { throw Store.accountDisabled }
        return account
    }

    /// Returns the user of a live session, disabled or not.
    private func liveUser(ofHash hash: [UInt8], in loaded: LoadedApplication) async throws(Failure) -> User? {
        do throws(Failure) {
            let user = try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
                try await store.sessionUser(tokenHash: hash, of: loaded.application)
            }
            (user == nil ? SessionCounters.none : SessionCounters.live).increment()
            return user
        } catch {
            SessionCounters.unknown.increment()
            throw error
        }
    }

    /// Returns the user of the session if the given id is the id of that user.
    ///
    /// - Throws: `not_found` for the id of every other user, whether the user exists or not (T-117).
    package func ownUser(
        _ id: ObjectID?,
        token: SessionKey?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> User {
        let user = try await user(of: token, in: loaded)
        guard let id, id == user.objectID else { throw .notOwnUser(user) }
        return user
    }
}

extension Failure {
    /// Returns the failure for an id of another user.
    ///
    /// It is the same whether that user exists or not (T-117).
    package static func notOwnUser(_ user: User) -> Failure {
        Failure(
            .notFound,
            "This user does not exist or is not the user of this session.",
            cause: "the record of another than the session's user \(user.objectID)"
        )
    }
}

extension SessionFacts? {
    /// Returns the facts of a session whose user may act.
    ///
    /// - Throws: `session_invalid` if there is no session, `account_disabled`.
    func live() throws(Failure) -> SessionFacts {
        guard let facts = self else { throw .sessionInvalid }
        guard facts.user.status.mayAct else { throw Store.accountDisabled }
        return facts
    }
}

extension UserStatus {
    /// Whether the sessions of a user with this status are valid.
    fileprivate var mayAct: Bool { self != .disabled }
}

extension SessionToken {
    package var key: SessionKey { SessionKey(hash: Digest.sha256(secret.reveal())) }
}

extension SessionKey {
    /// The public id of the session: users and operators see it in lists of sessions.
    var publicID: String { Hexadecimal.encode(SHA256.hash(data: hash).prefix(16)) }
}
