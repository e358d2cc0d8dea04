package import Applications
package import Domain
package import Passwords
import Secrets
package import Store

extension PasswordVerifier {
    /// Checks a new password against the policy, and returns the hash to store.
    ///
    /// - Parameters:
    ///   - password: The user's choice.
    ///   - login: The user's login name.
    ///   - user: The id of the user.
    ///   - names: Names of the user, and other texts that an attacker would guess first.
    ///   - loaded: The application.
    ///   - deadline: The deadline of the request.
    /// - Returns: The password for storage.
    /// - Throws: `password_not_allowed`, `overloaded`.
    package func newPassword(
        _ password: Secret,
        login: Login,
        of user: ObjectID,
        names: [String] = [],
        in loaded: LoadedApplication,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> StoredPassword {
        let halves = login.key.split(separator: "@").map(String.init)
        let application = loaded.application
        let guesses = [login.key] + halves + names + [application.id.text, application.name]
        try PasswordPolicy.check(
            password,
            fewest: application.settings.passwords.minLength,
            names: guesses
        )
        return try await hashed(password, login: login.key, of: user, in: application, deadline: deadline)
    }

    /// Hashes a password under the current parameters, whatever the policy says about it.
    ///
    /// - Parameters:
    ///   - password: The password.
    ///   - login: The normalized login name (`Login.key`).
    ///   - user: The id of the user.
    ///   - application: The application.
    ///   - deadline: The deadline of the request.
    /// - Returns: The password for storage.
    /// - Throws: `overloaded`.
    func hashed(
        _ password: Secret,
        login: String,
        of user: ObjectID,
        in application: Application,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> StoredPassword {
        let hash = try await passwords.hash(password, of: application.id, deadline: deadline)
        let place = MasterKey.Place.passwordHash(application: application.id, user: user)
        return StoredPassword(objectID: user, login: login, hash: masterKeys.encrypt(Secret(hash), for: place))
    }

    /// Returns the stored value for a user without a password.
    ///
    /// - Parameters:
    ///   - login: The login name.
    ///   - user: The id of the user.
    ///   - application: The application.
    ///   - deadline: The deadline of the request.
    /// - Returns: A hash that no password has, for storage.
    /// - Throws: `overloaded`.
    func unset(
        login: Login,
        of user: ObjectID,
        in application: Application,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> StoredPassword {
        let hash = try await passwords.unset(of: application.id, deadline: deadline)
        let place = MasterKey.Place.passwordHash(application: application.id, user: user)
        return StoredPassword(objectID: user, login: login.key, hash: masterKeys.encrypt(hash, for: place))
    }

    /// Verifies a password against the stored one.
    ///
    /// If there is no stored password, the method does the same work, and the password never matches.
    ///
    /// - Throws: `overloaded`; `internal` if the master key of the stored hash is missing.
    package func verify(
        _ password: Secret,
        against stored: StoredPassword?,
        in application: Application,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Verdict {
        let hash = try stored.map { (stored) throws(Failure) in try decrypted(stored, in: application).reveal() }
        return try await passwords.verify(password, of: application.id, against: hash, deadline: deadline)
    }

    /// Returns whether a user has a password that somebody can know, and not only `UnsetPassword` in its place.
    func hasPassword(_ user: ObjectID, in application: Application) async throws(Failure) -> Bool {
        guard let stored = try await store.password(of: user, in: application) else { return false }
        return try !UnsetPassword.isHash(decrypted(stored, in: application))
    }

    /// Decrypts a stored hash.
    ///
    /// - Throws: `internal` if the master key of the hash is missing.
    func decrypted(_ stored: StoredPassword, in application: Application) throws(Failure) -> Secret {
        let place = MasterKey.Place.passwordHash(application: application.id, user: stored.objectID)
        guard let hash = masterKeys.open(stored.hash, at: place) else {
            throw Failure(
                .internal,
                "The service cannot read the password of this account. Contact the operator.",
                cause: """
                    the hash of \(stored.objectID) is under master key \(stored.hash.keyID), or was changed by other \
                    means
                    """
            )
        }
        return hash
    }
}
