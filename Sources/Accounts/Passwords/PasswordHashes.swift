package import Applications
package import Passwords
import Secrets
package import Store
package import Vocabulary

extension PasswordVerifier {
    /// The password of a user as it is to be stored, after the policy has taken it.
    ///
    /// - Parameters:
    ///   - password: What the person chose.
    ///   - login: What the person will log in by.
    ///   - user: Whose it is.
    ///   - names: Of the person; whatever else an attacker would try first.
    ///   - loaded: The application.
    ///   - deadline: When nobody waits for it any more.
    /// - Returns: What to store.
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
            fewest: application.settings.passwords.fewestCharacters,
            names: guesses
        )
        let hash = try await passwords.hash(password, of: application.id, deadline: deadline)
        return StoredPassword(
            objectID: user,
            login: login.key,
            hash: masterKeys.seal(Secret(hash), for: .passwordHash(application: application.id, user: user))
        )
    }

    /// Whether it is the password; where there is none the same work is done, and nothing matches.
    ///
    /// - Throws: `overloaded`; `internal` when the stored hash is under a master key that is not at hand.
    package func verify(
        _ password: Secret,
        against stored: StoredPassword?,
        in application: Application,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Verdict {
        var hash: String?
        if let stored {
            let place = MasterKey.Place.passwordHash(application: application.id, user: stored.objectID)
            guard let opened = masterKeys.open(stored.hash, at: place) else {
                throw Failure(
                    .internal,
                    "The service cannot read the password of this account. Its operator has to look into it.",
                    cause:
                        "the hash of \(stored.objectID) is under master key \(stored.hash.keyID), or was changed by other means"
                )
            }
            hash = opened.reveal()
        }
        return try await passwords.verify(password, of: application.id, against: hash, deadline: deadline)
    }
}
