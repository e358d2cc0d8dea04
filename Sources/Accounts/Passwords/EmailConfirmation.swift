package import Applications
package import Logging
package import Notifications
import Passwords
package import Store
package import Vocabulary

/// What the reader of a confirmation's mail says of the password of the account.
package enum ConfirmedPassword: Sendable {
    /// The one that was chosen for it.
    case known(Secret)
    /// Another, and whether the identities of the account are the reader's own.
    case new(Secret, keepingIdentities: Bool)
}

/// Addresses that their owners confirm.
package struct EmailConfirmation: Sendable {
    let store: Store
    let verifier: PasswordVerifier
    let links: MailedLinks
    let resets: PasswordReset
    let events: EventLog
    let limits: Limits

    package init(
        store: Store,
        verifier: PasswordVerifier,
        links: MailedLinks,
        resets: PasswordReset,
        events: EventLog,
        limits: Limits
    ) {
        self.store = store
        self.verifier = verifier
        self.links = links
        self.resets = resets
        self.events = events
        self.limits = limits
    }

    /// Sends a user the link that confirms an address that has just been given; asking for another mail is the way on
    /// if that fails.
    ///
    /// A user can give one again and again, in other letters, too: such a mail is counted like one that somebody asks
    /// for, so that nobody's mailbox is filled.
    ///
    /// - Parameters:
    ///   - user: Whose address it is.
    ///   - source: Where the change comes from; nil for a registration, whose mail is counted already, and a server.
    ///   - loaded: The application.
    ///   - logger: Gets a line when nothing comes of it.
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

    /// Sends the owner of a login the link that confirms the address once more, if it is not confirmed; whether it is,
    /// and whether there is such a login, shows in nothing.
    ///
    /// - Throws: `confirmation_off` when the application asks nobody to confirm, `mail_off`, `too_many_attempts`,
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

    /// Makes the link that confirms a user's address, for a server that sends its own mails, or for whoever has a key
    /// where the application lets them.
    ///
    /// These need not read the mail, so theirs is for users who wait for it alone, sets no password, and is counted
    /// like a mail that somebody asks for.
    ///
    /// - Parameters:
    ///   - identity: The user's id, or the login.
    ///   - server: Who asks; nil for a client.
    ///   - source: Where the request comes from.
    ///   - loaded: The application.
    /// - Returns: The address of the page.
    /// - Throws: `server_key_required`, `not_found`, `confirmation_off`, `too_many_attempts`, `mail_off` without a
    ///   public URL.
    package func makeConfirmationURL(
        for identity: String,
        by server: ServerCaller?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Secret {
        guard server != nil || loaded.application.settings.clientKeys.contains(.confirmationURL) else {
            throw .serverKeyRequired
        }
        try Self.requireConfirmation(in: loaded)
        var user: User?
        if let id = ObjectID(identity) {
            user = try await store.person(id, of: loaded.application)?.user
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

    /// Notes that the person whose link it is owns the address, and lets a user in who waited for that.
    ///
    /// Somebody else may have registered the address and chosen the password, so the reader of the mail shows to know
    /// it, or sets another one: that is a reset, and leaves nobody else a login method.
    ///
    /// Says in one log line how it went.
    ///
    /// - Parameters:
    ///   - token: The token of the link.
    ///   - choice: What becomes of the password; nil will do where there is none.
    ///   - answer: The second factor, for another password of an account that has one; and where the request comes
    ///     from.
    ///   - loaded: The application.
    ///   - logger: Of the request.
    /// - Throws: `link_invalid`, `password_missing`, `login_invalid`, `too_many_attempts`, `password_not_allowed`,
    ///   `overloaded`, `second_factor_required`, `second_factor_invalid`, `pending_sign_in_invalid`; the link stays
    ///   good then, but for the first.
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

    /// The password of a user, which must be the one that was sent; nil where there is none.
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
                "Somebody has chosen a password for this account. Confirm the address with that one, as \"password\", or choose another, as \"newPassword\"."
            )
        }
        let matched = try await verifier.match(password, stored, from: source, in: loaded.application)
        guard let matched else {
            throw Failure(
                .loginInvalid,
                "This is not the password that was chosen for the account. If it was not you who chose it, or you have forgotten it, set a new one."
            )
        }
        return matched
    }

    private static func requireConfirmation(in loaded: LoadedApplication) throws(Failure) {
        guard loaded.application.settings.registration.confirmEmail else {
            throw Failure(.confirmationOff, "This app asks nobody to confirm the e-mail address.")
        }
    }
}
