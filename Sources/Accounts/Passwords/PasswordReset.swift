package import Applications
package import Domain
package import Logging
import Logins
package import Messaging
import Passwords
import Secrets
package import Store

/// The account that a mailed link belongs to, as the page behind the link shows the account.
package struct LinkedAccount: Sendable {
    package let email: String
    /// The login name, if it is not the e-mail address.
    package let login: String?
    /// Whether a user can log in to the account by a provider.
    package let hasIdentities: Bool
    package let hasPassword: Bool
    /// Whether the link sets a new password.
    package let setsPassword: Bool
    /// Whether the address was confirmed before the link was opened.
    package let isConfirmed: Bool
    /// The displayed names of the providers by which the new user logs in, if the link makes the account one with that
    /// of a new user; else empty.
    package let providersOfNewcomer: [String]
    /// What the page shows to ask for a second factor; nil if the link sets no password or requires no factor.
    package let question: LinkFactorQuestion?
}

/// Resets forgotten passwords by a mailed link.
package struct PasswordReset: Sendable {
    let store: Store
    let verifier: PasswordVerifier
    let links: MailedLinks
    let factors: LinkFactors
    let notices: Notices
    let revoker: PermissionRevoker
    let events: EventLog
    let limits: Limits

    package var canSend: Bool { links.canSend }

    /// Sends a mail with a link that sets a new password, to the user who has the given login name.
    ///
    /// The response does not show whether the login name exists, unless the application allows that. A user without a
    /// password gets no link: the e-mail address may come from a provider, and this service has not verified that it is
    /// the user's (decision D6).
    ///
    /// - Throws: `mail_off`, `too_many_attempts`, `overloaded`; `login_unknown` if the application allows it.
    package func restorePassword(
        of identity: String,
        as wish: LinkWish? = nil,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        try await links.mailLink(
            .passwordReset,
            toLogin: identity,
            from: source,
            in: loaded,
            logger: logger,
            tellingUnknown: loaded.application.settings.allowAccountEnumeration,
            as: wish
        ) { _ in true }
    }

    /// Returns the account that a link belongs to, and leaves the link valid.
    ///
    /// - Throws: `link_invalid`; if the link requires a second factor, also `factor_not_offered`,
    ///   `pending_login_invalid`, and the errors of sending a code.
    package func linkedAccount(
        _ token: String,
        for purpose: EmailTokenPurpose,
        asking wish: LinkFactorRequest? = nil,
        in loaded: LoadedApplication
    ) async throws(Failure) -> LinkedAccount {
        let (hash, emailToken) = try await emailToken(by: token, for: purpose, in: loaded)
        let link = LinkFactors.Link(hash: hash, token: emailToken, purpose: purpose)
        let login = try await login(by: emailToken, in: loaded)
        let user = try await store.storedUser(emailToken.user, of: loaded.application)?.user
        var hasPassword = try await store.password(of: emailToken.user, in: loaded.application) != nil
        var providers: [String] = []
        if purpose == .claim {
            // The claimant is asked for a password that somebody can know.
            if hasPassword { hasPassword = try await verifier.hasPassword(emailToken.user, in: loaded.application) }
            providers = try await self.providers(ofNewcomer: emailToken.other, in: loaded)
        }
        return LinkedAccount(
            email: emailToken.email,
            login: login.email == nil ? login.text : nil,
            hasIdentities: try await store.hasIdentities(emailToken.user, in: loaded.application),
            hasPassword: hasPassword,
            setsPassword: !emailToken.onlyConfirms,
            isConfirmed: user?.emailVerified ?? false,
            providersOfNewcomer: providers,
            question: emailToken.onlyConfirms ? nil : try await factors.question(of: link, wish, in: loaded)
        )
    }

    /// Returns the displayed names of the providers by which a new user logs in who may claim an account.
    ///
    /// - Throws: `link_invalid` if the new user has been erased, merged or disabled meanwhile.
    private func providers(
        ofNewcomer newcomer: ObjectID?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [String] {
        guard let newcomer, let stored = try await store.storedUser(newcomer, of: loaded.application),
            stored.user.status != .disabled
        else { throw .linkInvalid }
        let names = stored.identities.compactMap { ProviderName($0.provider).map { loaded.title(of: $0) } }
        return Set(names).sorted()
    }

    /// Sets a new password by a mailed link, ends all sessions of the user, and invalidates all other links.
    ///
    /// Also removes the identities of the account, which a thief of the account may have linked. They stay only if the
    /// user who opened the link has stated that the identities are their own. The log gets one line with the outcome,
    /// and a mail reports that the password has changed.
    ///
    /// - Parameters:
    ///   - token: The token of the link.
    ///   - password: The user's new password.
    ///   - keepsIdentities: Whether the user has stated that the account's identities are their own.
    ///   - answer: The second factor, if the account has one.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Throws: `link_invalid`, `password_not_allowed`, `overloaded`, `second_factor_required`,
    ///   `second_factor_invalid`, `pending_login_invalid`; the link stays valid after every error but the first.
    package func resetPassword(
        by token: String,
        to password: Secret,
        keepingIdentities keepsIdentities: Bool,
        showing answer: LinkFactorAnswer,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        let emailToken = try await events.logging("password reset", of: loaded, logger, user: \.user) {
            () throws(Failure) in
            try await reset(
                by: token,
                for: .passwordReset,
                to: password,
                keepingIdentities: keepsIdentities,
                showing: answer,
                in: loaded
            )
        }
        await notifyOfReset(by: emailToken, in: loaded, logger: logger)
    }

    /// Tells by mail that a link has changed the password of an account.
    ///
    /// The password is already valid and the link is used up. So a failure here must not fail the request.
    func notifyOfReset(
        by emailToken: EmailToken,
        and others: [NoticeAddress] = [],
        in loaded: LoadedApplication,
        logger: Logger
    ) async {
        guard let user = (try? await store.storedUser(emailToken.user, of: loaded.application))?.user else { return }
        await notices.notify(.passwordChanged(name: user.name), about: user, and: others, in: loaded, logger: logger)
    }

    /// Sets the password of the user to whom a link was mailed.
    ///
    /// - Throws: `link_invalid`, also if a client got the link without a mail; `password_not_allowed`, `conflict`,
    ///   `overloaded`, `second_factor_required`, `second_factor_invalid`, `pending_login_invalid`.
    package func reset(
        by token: String,
        for purpose: EmailTokenPurpose,
        to password: Secret,
        keepingIdentities keepsIdentities: Bool,
        showing answer: LinkFactorAnswer,
        in loaded: LoadedApplication
    ) async throws(Failure) -> EmailToken {
        let (hash, emailToken) = try await emailToken(by: token, for: purpose, in: loaded)
        guard !emailToken.onlyConfirms else {
            throw Failure(
                .linkInvalid,
                """
                This link only confirms the address. To choose a new password, request a password reset and use its \
                link.
                """
            )
        }
        let link = LinkFactors.Link(hash: hash, token: emailToken, purpose: purpose)
        try await factors.require(answer, for: link, in: loaded)
        let login = try await login(by: emailToken, in: loaded)
        let stored = try await verifier.newPassword(
            password,
            login: login,
            of: emailToken.user,
            in: loaded,
            deadline: .now + limits.login
        )
        let lost = try await store.resetPassword(
            byLink: hash,
            for: purpose,
            to: stored,
            at: emailToken.email,
            keepingIdentities: keepsIdentities,
            forgetting: PasswordGuess.accountKey(of: login.key),
            showing: try await factors.check(answer, for: link, in: loaded),
            in: loaded.application
        )
        guard let lost else { throw Failure.linkInvalid }
        _ = await revoker.revokePermissions(
            by: lost,
            formerlyOf: emailToken.user,
            in: loaded,
            actor: ChangeAuthor(name: "user:\(emailToken.user)", source: "password reset")
        )
        return emailToken
    }

    /// Returns the login name for the password that a link sets.
    ///
    /// The login name is the first of these that exists:
    ///
    /// 1. the login name that is stored with the link;
    /// 2. the login name of the present password, if login names are not e-mail addresses;
    /// 3. the user's property that is the login name, if login names are not e-mail addresses;
    /// 4. the address to which the link was sent.
    ///
    /// - Throws: `link_invalid` if that address is not a valid login name.
    func login(by emailToken: EmailToken, in loaded: LoadedApplication) async throws(Failure) -> Login {
        let application = loaded.application
        if let login = emailToken.login.flatMap({ application.login($0) }) { return login }
        if application.settings.identityProperty != .email {
            let stored = try await store.password(of: emailToken.user, in: application)
            if let login = stored.flatMap({ application.login($0.login) }) { return login }
            let user = try await store.storedUser(emailToken.user, of: application)?.user
            if let login = user.flatMap({ application.login(of: $0) }) { return login }
        }
        guard let login = application.login(emailToken.email) else { throw Failure.linkInvalid }
        return login
    }

    /// Returns the stored token of a mailed link that a user has opened.
    package func emailToken(
        by token: String,
        for purpose: EmailTokenPurpose,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (hash: [UInt8], emailToken: EmailToken) {
        guard let hash = OneTimeToken(received: token)?.hash,
            let emailToken = try await store.emailToken(tokenHash: hash, for: purpose, of: loaded.application)
        else { throw Failure.linkInvalid }
        return (hash, emailToken)
    }

}
