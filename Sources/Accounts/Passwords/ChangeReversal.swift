package import Applications
package import Domain
package import Logging
import Logins
import Messaging
import Passwords
import Store

/// Undoes changes of an account, by a link that was mailed to the account's former e-mail address.
///
/// So if a thief has changed the address of an account, the owner can get the account back.
package struct ChangeReversal: Sendable {
    let store: Store
    let verifier: PasswordVerifier
    let resets: PasswordReset
    let notices: Notices
    let revoker: PermissionRevoker
    let events: EventLog
    let limits: Limits

    /// Undoes changes of an account, by the link in a notice that was mailed to the account's former e-mail address.
    ///
    /// Undoes the change that the notice reported, and all later ones. The account has the former address and the
    /// former identities again, and gets a new password. All sessions end, and all mailed links become invalid. The log
    /// gets one line with the outcome. A mail to the restored address and to the replaced address reports that the
    /// password has changed.
    ///
    /// - Parameters:
    ///   - token: The token of the link.
    ///   - password: The user's new password.
    ///   - answer: The second factor. It is required if the account has a factor that was enrolled before the change.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Returns: The providers of identities that could not be restored: they belong to another account now, or other
    ///   identities are in their place.
    /// - Throws: `link_invalid`, `password_not_allowed`, `login_taken_by_other`, `overloaded`,
    ///   `second_factor_required`, `second_factor_invalid`, `pending_login_invalid`; the link stays valid after every
    ///   error but the first.
    package func undoChange(
        by token: String,
        to password: Secret,
        showing answer: LinkFactorAnswer,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> [ProviderName] {
        let undone = try await events.logging("change undone", of: loaded, logger, user: \.emailToken.user) {
            () throws(Failure) in
            let (hash, emailToken) = try await resets.emailToken(by: token, for: .reversal, in: loaded)
            let link = LinkFactors.Link(hash: hash, token: emailToken, purpose: .reversal)
            try await resets.factors.require(answer, for: link, in: loaded)
            guard let before = try await store.storedUser(emailToken.user, of: loaded.application)?.user else {
                throw Failure.linkInvalid
            }
            let login = try await resets.login(by: emailToken, in: loaded)
            let told = try await notices.noticeAddresses(of: before, in: loaded)
            let stored = try await verifier.newPassword(
                password,
                login: login,
                of: emailToken.user,
                in: loaded,
                deadline: .now + limits.login
            )
            let undone = try await store.undoChange(
                byLink: hash,
                to: stored,
                forgetting: PasswordGuess.accountKey(of: login.key),
                showing: try await resets.factors.check(answer, for: link, in: loaded),
                in: loaded.application
            )
            guard let undone else { throw Failure.linkInvalid }
            return (emailToken: emailToken, told: told, change: undone)
        }
        let emailToken = undone.emailToken
        _ = await revoker.revokePermissions(
            by: undone.change.lost,
            formerlyOf: emailToken.user,
            in: loaded,
            actor: ChangeAuthor(name: "user:\(emailToken.user)", source: "change undone")
        )
        await resets.notifyOfReset(by: emailToken, and: undone.told, in: loaded, logger: logger)
        return undone.change.notRestored.compactMap { ProviderName($0) }
    }
}
