package import Applications
package import KeptTokens
package import Logging
import Mailing
package import Notifications
import Passwords
package import Store
package import Vocabulary

/// Changes of an account that its former address takes back.
package struct ChangeReversal: Sendable {
    let store: Store
    let verifier: PasswordVerifier
    let resets: PasswordReset
    let notices: Notices
    let revoker: PermissionRevoker
    let events: EventLog
    let limits: Limits

    package init(
        store: Store,
        verifier: PasswordVerifier,
        resets: PasswordReset,
        notices: Notices,
        revoker: PermissionRevoker,
        events: EventLog,
        limits: Limits
    ) {
        self.store = store
        self.verifier = verifier
        self.resets = resets
        self.notices = notices
        self.revoker = revoker
        self.events = events
        self.limits = limits
    }

    /// Undoes what has become of an account since the change that a notice told of, for whoever reads the mail of the
    /// address of before.
    ///
    /// The account has that address again, and a new password; sessions and links end, and identities are those of
    /// then. Says in one log line how it went, and by mail, to the addresses of then and now, that the password is
    /// another one.
    ///
    /// - Parameters:
    ///   - token: The token of the link.
    ///   - password: What the person chose.
    ///   - answer: The second factor, where the account has one that it had at the time of the change, too.
    ///   - loaded: The application.
    ///   - logger: Of the request.
    /// - Returns: The providers of identities that could not be brought back: they are another account's by now, or
    ///   others are in their place.
    /// - Throws: `link_invalid`, `password_not_allowed`, `login_taken_by_other`, `overloaded`,
    ///   `second_factor_required`, `second_factor_invalid`, `pending_sign_in_invalid`; the link stays good then, but
    ///   for the first.
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
            guard let before = try await store.person(emailToken.user, of: loaded.application)?.user else {
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
            actor: Actor(name: "user:\(emailToken.user)", source: "change undone")
        )
        await resets.notifyOfReset(by: emailToken, and: undone.told, in: loaded, logger: logger)
        return undone.change.notRestored.compactMap { ProviderName($0) }
    }
}
