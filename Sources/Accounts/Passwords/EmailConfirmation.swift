package import Applications
package import Domain
package import Logging
package import Messaging
import Passwords
import Store

/// The password that a user sends to confirm an address by a mailed link.
package enum ConfirmedPassword: Sendable {
    /// The present password of the account.
    case known(Secret)
    /// A new password, and whether the user has stated that the account's identities are their own.
    case new(Secret, keepingIdentities: Bool)
}

/// Confirms the e-mail addresses of accounts: the user opens a link that was mailed to the address.
package struct EmailConfirmation: Sendable {
    let store: Store
    let verifier: PasswordVerifier
    let links: MailedLinks
    let resets: PasswordReset
    let events: EventLog
    let limits: Limits

    /// Sends a user the link that confirms a new address.
    ///
    /// If the sending fails, the method only logs the failure, and the user has to request another mail. The mail
    /// counts against the same rate limit as mails that a user requests. Otherwise, a client could flood a mailbox by
    /// setting the same address again and again, in different spellings.
    ///
    /// - Parameters:
    ///   - user: The user whose address is to be confirmed.
    ///   - source: The source of the change, for the rate limit. Nil if the mail is not counted here: a registration
    ///     has counted it already, and a server's mails are not counted.
    ///   - loaded: The application.
    ///   - logger: Gets a line after a failure.
    func sendConfirmation(
        to user: User,
        causedBy source: RequestSource? = nil,
        in loaded: LoadedApplication,
        logger: Logger
    ) async {
        do throws(Failure) {
            try links.requireMail()
            if let source, let email = user.email.flatMap({ EmailAddress($0) }) {
                try await links.countLink(.confirmation, to: email, from: source, in: loaded)
            }
            try await links.mailLink(.confirmation, to: user, in: loaded)
        } catch {
            logger.warning("a confirmation could not be sent", metadata: ["reason": "\(error.reason.rawValue)"])
        }
    }

    /// Sends the confirmation link again to the user with a login name, if the address is not confirmed.
    ///
    /// The response shows neither whether the address is confirmed nor whether the login name exists.
    ///
    /// - Throws: `confirmation_off` if the application requires no confirmation; `mail_off`, `too_many_attempts`,
    ///   `overloaded`.
    package func resendConfirmation(
        to identity: String,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        try Self.requireConfirmation(in: loaded)
        try await links.mailLink(.confirmation, toLogin: identity, from: source, in: loaded, logger: logger) {
            !$0.emailVerified
        }
    }

    /// Makes the link that confirms a user's address, for a server that sends its own mails.
    ///
    /// If the application allows it, clients without a server's API key may get the link, too. The link does not show
    /// that the user reads the mailbox. Therefore, a client's link confirms only an address whose confirmation is
    /// pending, and cannot set a password. It counts against the same rate limit as a mail that a user requests.
    ///
    /// - Parameters:
    ///   - identity: The user's id, or the login name.
    ///   - server: The server that makes the request; nil for a client.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    /// - Returns: The address of the page.
    /// - Throws: `server_key_required`, `not_found`, `confirmation_off`, `too_many_attempts`; `mail_off` without a
    ///   public URL.
    package func makeConfirmationURL(
        for identity: String,
        by server: ServerCaller?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Secret {
        guard server != nil || loaded.application.settings.apiKeyRights.contains(.confirmationURL) else {
            throw .serverKeyRequired
        }
        try Self.requireConfirmation(in: loaded)
        var user: User?
        if let id = ObjectID(identity) {
            user = try await store.storedUser(id, of: loaded.application)?.user
        } else if let login = loaded.application.login(identity) {
            user = try await store.user(ofLogin: login.key, in: loaded.application)
        }
        guard let user, let email = user.email else { throw .noSuchUser }
        if server == nil {
            guard user.status == .emailConfirmationPending, let address = EmailAddress(email) else { throw .noSuchUser }
            try await links.countLink(.confirmation, to: address, from: source, in: loaded)
        }
        return try await links.makeLink(
            .confirmation,
            for: user.objectID,
            at: email,
            onlyConfirming: server == nil,
            in: loaded
        ).address
    }

    /// Confirms the address to which a link was mailed, and enables a user whose confirmation was pending.
    ///
    /// The account may have been registered by another user, who chose its password but does not own the address. So
    /// the link alone is not enough. The user who opens it also sends the account's password, which shows that the
    /// account is theirs, or sets a new password. A new password is a password reset: it ends the other user's sessions
    /// and login methods.
    ///
    /// One log line tells the outcome.
    ///
    /// - Parameters:
    ///   - token: The token of the link.
    ///   - choice: The present or the new password; nil only if the account has no password.
    ///   - answer: The source of the request, and the second factor. A new password requires the factor if the account
    ///     has one.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Throws: `link_invalid`, `password_missing`, `login_invalid`, `too_many_attempts`, `password_not_allowed`,
    ///   `overloaded`, `second_factor_required`, `second_factor_invalid`, `pending_login_invalid`; the link stays valid
    ///   after every error but the first.
    package func confirmEmail(
        by token: String,
        password choice: ConfirmedPassword?,
        showing answer: LinkFactorAnswer,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        let (emailToken, isReset) = try await events.logging(
            "email confirmation",
            of: loaded,
            logger,
            user: \.emailToken.user
        ) {
            () throws(Failure) -> (emailToken: EmailToken, isReset: Bool) in
            if case .new(let password, let keepsIdentities) = choice {
                let purpose = EmailTokenPurpose.confirmation
                let emailToken = try await resets.reset(
                    by: token,
                    for: purpose,
                    to: password,
                    keepingIdentities: keepsIdentities,
                    showing: answer,
                    in: loaded
                )
                return (emailToken, true)
            }
            let (hash, emailToken) = try await resets.emailToken(by: token, for: .confirmation, in: loaded)
            let stored = try await knownPassword(of: emailToken.user, choice, from: answer.source, in: loaded)
            guard try await store.confirmEmail(byLink: hash, verifiedHash: stored?.hash, in: loaded.application) != nil
            else { throw Failure.linkInvalid }
            return (emailToken, false)
        }
        if isReset { await resets.notifyOfReset(by: emailToken, in: loaded, logger: logger) }
    }

    /// Returns the stored password of a user if it matches the sent one; nil if the user has no password.
    private func knownPassword(
        of user: ObjectID,
        _ choice: ConfirmedPassword?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> StoredPassword? {
        guard let stored = try await store.password(of: user, in: loaded.application) else { return nil }
        guard case .known(let password) = choice else {
            throw Failure(
                .passwordMissing,
                """
                This account has a password. To confirm the address, send it as "password", or a new one as \
                "newPassword".
                """
            )
        }
        let owner = try await store.storedUser(user, of: loaded.application)?.user
        let matched = try await verifier.match(
            password,
            stored,
            orOf: owner.flatMap { FormerUser($0, in: loaded.application) },
            from: source,
            in: loaded.application
        )
        guard let matched else {
            throw Failure(
                .loginInvalid,
                "This is not the password of the account. If you did not choose it or have forgotten it, set a new one."
            )
        }
        return matched
    }

    private static func requireConfirmation(in loaded: LoadedApplication) throws(Failure) {
        guard loaded.application.settings.registration.confirmEmail else {
            throw Failure(.confirmationOff, "This app does not confirm e-mail addresses.")
        }
    }
}
