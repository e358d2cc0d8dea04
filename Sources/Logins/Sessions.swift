package import Applications
import Crypto
import Metrics
import Secrets
package import Store
package import Vocabulary

/// Sessions of users, by their tokens.
package struct Sessions: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let limits: Limits

    /// For how long after a login, or a check of the password, a session may change by what its user logs in, in
    /// seconds.
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

    /// Whether the token is of a live session of an enabled user.
    package func isValid(_ token: SessionToken?, of loaded: LoadedApplication) async throws(Failure) -> Bool {
        guard let token else { return false }
        return try await liveUser(ofHash: token.hash, in: loaded)?.status.mayAct ?? false
    }

    /// Ends the session.
    ///
    /// - Throws: `session_invalid` when there is none: client SDKs that hold a dead token take that for a logout that
    ///   has happened.
    package func signOut(_ token: SessionToken?, of loaded: LoadedApplication) async throws(Failure) {
        guard let token, try await store.endSession(tokenHash: token.hash, of: loaded.application) else {
            throw Failure.sessionInvalid
        }
        SessionCounters.signedOut.increment()
    }

    /// The user of a live session.
    ///
    /// - Throws: `session_invalid`, or `account_disabled` when an operator disabled the user meanwhile.
    package func user(
        of token: SessionToken?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> User {
        guard let token, let user = try await user(ofHash: token.hash, in: loaded) else { throw Failure.sessionInvalid }
        return user
    }

    /// The same by the SHA-256 of the token; nil when there is no such session.
    ///
    /// - Throws: `account_disabled`.
    func user(ofHash hash: [UInt8], in loaded: LoadedApplication) async throws(Failure) -> User? {
        guard let user = try await liveUser(ofHash: hash, in: loaded) else { return nil }
        guard user.status.mayAct else {
            throw Failure(.accountDisabled, "This account is disabled. Ask the operator of the app.")
        }
        return user
    }

    /// The user of a live session, and its token.
    ///
    /// - Throws: As `user(of:in:)`.
    package func session(
        of token: SessionToken?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (user: User, token: SessionToken) {
        guard let token else { throw .sessionInvalid }
        return (try await user(of: token, in: loaded), token)
    }

    /// The user of the token's session, disabled or not.
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

    /// A user's own record.
    ///
    /// - Throws: `not_found` for every other user's id, whether it exists or not (T-117).
    package func ownUser(
        _ id: ObjectID?,
        token: SessionToken?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> User {
        let user = try await user(of: token, in: loaded)
        guard let id, id == user.objectID else { throw .notOwnUser(user) }
        return user
    }
}

extension Failure {
    /// The same for every id that is not that of the session's user, whether it exists or not (T-117).
    package static func notOwnUser(_ user: User) -> Failure {
        Failure(
            .notFound,
            "There is no such user, or it is not the one of this session.",
            cause: "the record of another than the session's user \(user.objectID)"
        )
    }
}

extension UserStatus {
    /// Whether a session of such a user counts.
    fileprivate var mayAct: Bool { self != .disabled }
}

extension SessionToken {
    /// What the database knows of the token.
    package var hash: [UInt8] { Digest.sha256(secret.reveal()) }

    /// What the session is called where it is not used; lists of a user's sessions and operators know it by the same
    /// name.
    var publicID: String { Hexadecimal.encode(SHA256.hash(data: hash).prefix(16)) }
}
