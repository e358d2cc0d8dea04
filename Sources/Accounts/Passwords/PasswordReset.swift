package import Applications
package import KeptTokens
package import Logging
import Mailing
package import Notifications
import Passwords
import Secrets
package import Store
package import Vocabulary

/// Where a link of a mail leads.
package struct LinkedAccount: Sendable {
    package let email: String
    /// What it is logged in to by, where that is not the address.
    package let login: String?
    /// Whether anybody can log in to it by a provider.
    package let hasIdentities: Bool
    /// Whether somebody has chosen a password.
    package let hasPassword: Bool
    /// Whether the link gives it another one.
    package let setsPassword: Bool
    /// What is asked besides where it does; nil for nothing.
    package let question: LinkFactorQuestion?
}

/// Passwords set anew by whoever reads the mail of an account.
package struct PasswordReset: Sendable {
    let store: Store
    let verifier: PasswordVerifier
    let links: MailedLinks
    let factors: LinkFactors
    let notices: Notices
    let revoker: PermissionRevoker
    let events: EventLog
    let limits: Limits

    package init(
        store: Store,
        verifier: PasswordVerifier,
        links: MailedLinks,
        factors: LinkFactors,
        notices: Notices,
        revoker: PermissionRevoker,
        events: EventLog,
        limits: Limits
    ) {
        self.store = store
        self.verifier = verifier
        self.links = links
        self.factors = factors
        self.notices = notices
        self.revoker = revoker
        self.events = events
        self.limits = limits
    }

    /// Whether the deployment can send links.
    package var canSend: Bool { links.canSend }

    /// Sends the owner of a login a link under which to choose another password.
    ///
    /// Whether there is one shows in nothing, unless the application wants it told. Somebody without a password gets
    /// none: an address that a provider tells is unverified (decision D6).
    ///
    /// - Throws: `mail_off`, `too_many_attempts`, `overloaded`; `login_unknown` where that is told.
    package func restorePassword(
        of identity: String,
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
            tellingUnknown: loaded.application.settings.tellUnknownLogins
        ) { _ in true }
    }

    /// The account to which a link leads; nothing is used up.
    ///
    /// - Throws: `link_invalid`; where it is asked for a second factor, `factor_not_offered`,
    ///   `pending_sign_in_invalid`, and what stands in the way of a code.
    package func linkedAccount(
        _ token: String,
        for purpose: EmailTokenPurpose,
        asking wish: LinkFactorWish? = nil,
        in loaded: LoadedApplication
    ) async throws(Failure) -> LinkedAccount {
        let (hash, emailToken) = try await emailToken(by: token, for: purpose, in: loaded)
        let link = LinkFactors.Link(hash: hash, token: emailToken, purpose: purpose)
        let login = try await login(by: emailToken, in: loaded)
        return LinkedAccount(
            email: emailToken.email,
            login: login.email == nil ? login.text : nil,
            hasIdentities: try await store.hasIdentities(emailToken.user, in: loaded.application),
            hasPassword: try await store.password(of: emailToken.user, in: loaded.application) != nil,
            setsPassword: !emailToken.onlyConfirms,
            question: emailToken.onlyConfirms ? nil : try await factors.question(of: link, wish, in: loaded)
        )
    }

    /// Sets the password of the user whose link it is; ends all sessions and links, and removes identities, which
    /// others may have linked.
    ///
    /// Says in one log line how it went, and by mail that the password is another one.
    ///
    /// - Parameters:
    ///   - token: The token of the link.
    ///   - password: What the person chose.
    ///   - keepsIdentities: Whether the person has said that the identities of the account are their own.
    ///   - answer: The second factor, where the account has one.
    ///   - loaded: The application.
    ///   - logger: Of the request.
    /// - Throws: `link_invalid`, `password_not_allowed`, `overloaded`, `second_factor_required`,
    ///   `second_factor_invalid`, `pending_sign_in_invalid`; the link stays good then, but for the first.
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

    /// Says by mail that a link has given an account another password.
    ///
    /// The password counts by then, and the link does no more: what fails from here on must not tell the person
    /// otherwise.
    func notifyOfReset(
        by emailToken: EmailToken,
        and others: [NoticeAddress] = [],
        in loaded: LoadedApplication,
        logger: Logger
    ) async {
        guard let user = (try? await store.person(emailToken.user, of: loaded.application))?.user else { return }
        await notices.notify(.passwordChanged(name: user.name), about: user, and: others, in: loaded, logger: logger)
    }

    /// Sets the password of the user whose link it is.
    ///
    /// - Throws: `link_invalid`, also of a link that whoever has it got without the mail; `password_not_allowed`,
    ///   `conflict`, `overloaded`.
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
                "This link confirms the address and sets no password. To choose another password, use a link that was mailed to you."
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
            actor: Actor(name: "user:\(emailToken.user)", source: "password reset")
        )
        return emailToken
    }

    /// What an account gets a password for by a link.
    ///
    /// The address to which the link went; where people log in by another property, what the user logs in by, or else
    /// the property's value, and for who has neither the address.
    ///
    /// - Throws: `link_invalid` where that is no login.
    func login(by emailToken: EmailToken, in loaded: LoadedApplication) async throws(Failure) -> Login {
        let application = loaded.application
        if let login = emailToken.login.flatMap({ application.login($0) }) { return login }
        if application.settings.identityProperty != .email {
            let stored = try await store.password(of: emailToken.user, in: application)
            if let login = stored.flatMap({ application.login($0.login) }) { return login }
            let user = try await store.person(emailToken.user, of: application)?.user
            if let login = user.flatMap({ application.login(of: $0) }) { return login }
        }
        guard let login = application.login(emailToken.email) else { throw Failure.linkInvalid }
        return login
    }

    /// The e-mail token of a link that came back.
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
