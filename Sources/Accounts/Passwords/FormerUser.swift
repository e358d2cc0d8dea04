import Applications
import Domain
import FormerSystems
import Passwords
import Store

/// The user of a guess, about whom the application's former system may be asked if the user has no password here.
struct FormerUser: Sendable {
    let login: Login
    /// The user whom the request is about; nil if only the login name is known.
    let user: ObjectID?

    /// The user who logs in with a login name; nil if the application has no former system.
    init?(_ login: Login, in application: Application) {
        guard application.settings.passwordSource.isOn else { return nil }
        (self.login, user) = (login, nil)
    }

    /// The user of a session; nil if the application has no former system, or the user no login name.
    init?(_ user: User, in application: Application) {
        guard application.settings.passwordSource.isOn, let login = application.login(of: user) else { return nil }
        (self.login, self.user) = (login, user.objectID)
    }
}

/// A user without a password here, and how the former system knows the user.
struct OpenPassword: Sendable {
    let user: ObjectID
    /// The login name as the user's property has it.
    let formerLogin: String
    let login: Login
    /// The stored password in the place of the missing one (`UnsetPassword`); nil if there is none.
    let unset: StoredPassword?
    let systems: FormerSystems
}

/// What became of a guess for a user without a password.
enum FirstPassword {
    /// The former system does not confirm the guess.
    case wrong
    /// The former system confirms the guess, which is now the user's password.
    case stored(StoredPassword)
    /// The former system confirms the guess, but the user has got a password meanwhile, which decides; nil if the login
    /// name is no longer the user's.
    case storedMeanwhile(StoredPassword?)
}

extension PasswordVerifier {
    /// Returns the user of a guess if the user has no password here; nil if the former system is not to be asked.
    ///
    /// One search is made for every guess, so the time tells nothing about a login name that has a password.
    ///
    /// - Parameters:
    ///   - former: The user of the guess; nil if no former system is to be asked.
    ///   - stored: The stored password of the guess; nil if there is none.
    ///   - application: The application.
    /// - Returns: The user.
    /// - Throws: `internal` if the master key of the stored hash is missing; `store_unavailable` and similar failures.
    func openPassword(
        of former: FormerUser?,
        beside stored: StoredPassword?,
        in application: Application
    ) async throws(Failure) -> OpenPassword? {
        guard let former, let formerSystems else { return nil }
        let (user, name): (ObjectID, String?)
        if let stored {
            let found = try await store.user(ofLogin: stored.login, in: application)
            guard try UnsetPassword.isHash(decrypted(stored, in: application)) else { return nil }
            (user, name) = (stored.objectID, found?.text(of: application.settings.identityProperty))
        } else {
            guard let found = try await store.userWithoutPassword(ofLogin: former.login, in: application) else {
                return nil
            }
            (user, name) = (found.objectID, found.login)
        }
        guard former.user == nil || former.user == user else { return nil }
        return OpenPassword(
            user: user,
            formerLogin: name ?? former.login.text,
            login: former.login,
            unset: stored,
            systems: formerSystems
        )
    }

    /// Asks the application's former system whether a password is right, and if so stores it as the user's first.
    ///
    /// The caller has counted the guess. The policy for new passwords does not apply: the user could not log in to
    /// choose another.
    ///
    /// - Parameters:
    ///   - open: The user without a password.
    ///   - password: The guess, which can be a password.
    ///   - application: The application.
    ///   - deadline: The deadline of the request.
    /// - Returns: What became of the guess.
    /// - Throws: `provider_unavailable` and similar failures if the former system has not said whether the password is
    ///   right; `overloaded`, `store_unavailable` and similar failures.
    func firstPassword(
        of open: OpenPassword,
        _ password: Secret,
        in application: Application,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> FirstPassword {
        let isRight = try await open.systems.confirms(
            FormerPassword(user: open.user, login: open.formerLogin, password: password),
            by: application.settings.passwordSource,
            of: application.id,
            deadline: deadline - limits.storeReserve
        )
        guard isRight else { return .wrong }
        let first = try await hashed(
            password,
            login: open.unset?.login ?? open.login.key,
            of: open.user,
            in: application,
            deadline: deadline
        )
        let isStored =
            if let unset = open.unset {
                try await store.replaceHash(unset.hash, of: open.user, by: first.hash, in: application)
            } else {
                try await store.storeFirstPassword(first, ofLogin: open.login, in: application)
            }
        return isStored ? .stored(first) : .storedMeanwhile(try await store.password(of: open.user, in: application))
    }
}
