package import Applications
package import Domain
import Encodings
import Limiting
package import Logging
package import Secrets
package import Store

/// A single-use link that a mail contains, and that leads to a page of this service.
package struct MailedLink: Sendable {
    package let purpose: EmailTokenPurpose
    package let token: OneTimeToken

    /// Returns the URL of the page to which the link leads.
    ///
    /// No part of the URL comes from a request, since a client could forge values such as the header `Host`. The URL
    /// contains no API key, since anyone may read the mail (T-71).
    package func address(at publicURL: String, of application: ApplicationID) -> Secret {
        Self.address(of: purpose.page, token, at: publicURL, of: application)
    }

    /// Returns the URL in the form that the client asked for, or else the URL of the page of this service.
    fileprivate func address(_ wish: LinkWish?, at publicURL: String, of application: ApplicationID) -> Secret {
        wish.map { Secret(publicURL + $0.path(purpose, token.secret.reveal())) }
            ?? address(at: publicURL, of: application)
    }

    fileprivate static func address(
        of page: String,
        _ token: OneTimeToken,
        at publicURL: String,
        of application: ApplicationID
    ) -> Secret {
        Secret("\(publicURL)/\(application)/\(page)?token=\(token.secret.reveal())")
    }
}

/// The form in which a client wants a mailed link.
package struct LinkWish: Sendable {
    /// Makes the path and the query of the link's URL, from the purpose and the token of the link.
    let path: @Sendable (EmailTokenPurpose, String) -> String
    /// The language of the mail; nil for that of the user.
    let locale: String?

    package init(locale: String?, path: @escaping @Sendable (EmailTokenPurpose, String) -> String) {
        self.locale = locale
        self.path = path
    }
}

/// Makes single-use links, such as those to reset a password, and mails them to users.
package struct MailedLinks: Sendable {
    let store: Store
    let queue: MailQueue
    let attempts: AttemptCounter
    let address: PublicAddress
    let pseudonyms: Pseudonyms
    /// Limits the number of requested mails that are prepared after the response to the client has been sent.
    let afterReplies = ConcurrencyLimit<ApplicationID>(limit: Self.askedForAtOnce)
    let limits: Limits
    let random: RandomSource

    /// The maximum number of requested mails that this instance prepares in the background at the same time.
    ///
    /// The clients that requested the mails already have their responses.
    private static let askedForAtOnce = 256

    package init(
        store: Store,
        queue: MailQueue,
        attempts: AttemptCounter,
        address: PublicAddress,
        pseudonyms: Pseudonyms,
        limits: Limits,
        random: RandomSource
    ) {
        self.store = store
        self.queue = queue
        self.attempts = attempts
        self.address = address
        self.pseudonyms = pseudonyms
        self.limits = limits
        self.random = random
    }

    /// Returns the public URL of the service, with which mailed links begin.
    ///
    /// - Throws: `mail_off` if the deployment sets no public URL.
    package func base() throws(Failure) -> String {
        guard let url = address.url else {
            throw Failure(
                .mailOff,
                """
                This service cannot send links, because it has no public URL. The operator must set \
                FEDERATION_PUBLIC_URL.
                """
            )
        }
        return url
    }

    /// Makes a link for a user, and stores the link's purpose, its user, and the hash of its token.
    ///
    /// - Parameters:
    ///   - purpose: The purpose of the link.
    ///   - user: The user to whom the e-mail address belongs.
    ///   - other: The other user, if the link is about two; see ``Store/EmailToken``.
    ///   - email: The user's e-mail address as it is stored.
    ///   - onlyConfirms: Whether the link can only confirm the e-mail address and cannot set a password. Such a link is
    ///     safe even if it is given to a human who cannot read mails to the address.
    ///   - wish: The form of the URL; nil for the page of this service.
    ///   - loaded: The application.
    /// - Returns: The link, and the URL of the page to which it leads.
    /// - Throws: `mail_off`, `store_unavailable` and similar errors.
    package func makeLink(
        _ purpose: EmailTokenPurpose,
        for user: ObjectID,
        and other: ObjectID? = nil,
        at email: String,
        onlyConfirming onlyConfirms: Bool = false,
        as wish: LinkWish? = nil,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (link: MailedLink, address: Secret) {
        let base = try base()
        let link = MailedLink(purpose: purpose, token: OneTimeToken(random))
        try await store.addEmailToken(
            EmailToken(user: user, other: other, email: email, onlyConfirms: onlyConfirms),
            for: purpose,
            tokenHash: link.token.hash,
            of: loaded.application
        )
        return (link, link.address(wish, at: base, of: loaded.application.id))
    }

    /// The last path segment of the invitation page.
    package static let invitationPage = "invitation"

    /// Returns the URL of the page for an invitation.
    ///
    /// - Throws: `mail_off` if the deployment sets no public URL.
    package func invitation(by token: OneTimeToken, to application: ApplicationID) throws(Failure) -> Secret {
        MailedLink.address(of: Self.invitationPage, token, at: try base(), of: application)
    }

    /// Composes the mail that contains the link of an invitation.
    ///
    /// This method does not enqueue the mail. The caller does so in the transaction that stores the invitation. The
    /// mail then counts towards the rate limit of mails to the recipient's mailbox.
    ///
    /// - Throws: `mail_off`, `email_invalid`.
    package func invitation(
        link: Secret,
        seconds: Int64,
        to email: EmailAddress,
        locale: String?,
        in loaded: LoadedApplication
    ) throws(Failure) -> Notice {
        let (id, mail) = (random.objectID(), Mail.invitation(link: link, seconds: seconds))
        return Notice(
            id: id,
            event: "\(mail.template.rawValue)/\(id)",
            content: try queue.encrypted(mail, as: id, to: email.text, locale: locale, of: loaded),
            counts: AttemptCount.mails(mail.template.rawValue, to: email, from: nil),
            reversalHash: nil
        )
    }

    /// Waits until it is the application's turn, and then runs a closure that counts mails towards rate limits.
    ///
    /// Only a limited number of such closures run at the same time. The applications take turns.
    package func counting<Result>(
        of application: Application,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await attempts.counting(of: application, before: .now + limits.login, body)
    }

    /// Makes a link for a user, and mails it.
    ///
    /// Does nothing if the user has no e-mail address.
    ///
    /// - Parameters:
    ///   - purpose: The purpose of the link.
    ///   - user: The user.
    ///   - newAddress: The address to which the mail goes; nil for the user's stored address.
    ///   - wish: How the client wants the link to be mailed.
    ///   - loaded: The application.
    /// - Throws: `mail_off`, `email_invalid`, `store_unavailable` and similar errors.
    package func mailLink(
        _ purpose: EmailTokenPurpose,
        to user: User,
        at newAddress: String? = nil,
        as wish: LinkWish? = nil,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        guard let email = newAddress ?? user.email else { return }
        let mail: (Secret) -> Mail
        switch purpose {
        case .passwordReset: mail = { .passwordReset(link: $0, minutes: purpose.seconds / 60, name: user.name) }
        case .confirmation, .verification, .newAddress:
            mail = { .emailConfirmation(link: $0, hours: purpose.seconds / 3600, name: user.name) }
        // No client requests a link of this purpose: a notice about a change contains it.
        // ``mailClaim`` sends the link of a claim.
        case .reversal, .mergeReversal, .claim: return
        }
        let (link, address) = try await makeLink(
            purpose,
            for: user.objectID,
            at: email,
            onlyConfirming: purpose.onlyConfirms,
            as: wish,
            in: loaded
        )
        try await queue.enqueue(
            mail(address),
            event: "\(purpose.rawValue)/\(Base64URL.encode(link.token.hash))",
            to: email,
            locale: wish?.locale ?? user.locale,
            user: user.objectID,
            of: loaded
        )
    }

    /// Mails a link by which the reader of the mailbox logs in, in the background.
    ///
    /// - Parameters:
    ///   - path: The path and the query of the link's URL.
    ///   - seconds: The lifetime of the link.
    ///   - email: The address, whether or not a user has it.
    ///   - locale: The language of the mail.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    ///   - logger: Gets a line if the mail cannot be sent.
    ///   - concerns: Returns whether to send the mail. The response to the client does not depend on the result.
    /// - Throws: `mail_off`, `too_many_attempts`, `overloaded`.
    package func mailLoginLink(
        _ path: Secret,
        seconds: Int64,
        to email: EmailAddress,
        locale: String?,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger,
        if concerns: @escaping @Sendable () async throws(Failure) -> Bool
    ) async throws(Failure) {
        try requireMail()
        let address = Secret(try base() + path.reveal())
        try await counted(AttemptCount.mails("loginLink", to: email, from: source.name), in: loaded)
        try afterReply(in: loaded, logger) { () throws(Failure) in
            guard try await concerns() else { return }
            try await queue.enqueue(
                .loginLink(link: address, minutes: seconds / 60),
                event: "loginLink/\(Base64URL.encode(Digest.sha256(path.reveal())))",
                to: email.text,
                locale: locale,
                user: nil,
                of: loaded
            )
        }
    }

    /// Runs a closure after the response to the client.
    ///
    /// - Throws: `overloaded` if too many run already.
    private func afterReply(
        in loaded: LoadedApplication,
        _ logger: Logger,
        _ body: @escaping @Sendable () async throws(Failure) -> Void
    ) throws(Failure) {
        guard afterReplies.enter(loaded.application.id) else {
            throw Failure(.overloaded, "Too many mails are being requested. Try again shortly.", retryAfter: 1)
        }
        Task {
            defer { afterReplies.leave(loaded.application.id) }
            do throws(Failure) { try await body() } catch {
                logger.warning(
                    "a link could not be sent",
                    metadata: ["reason": "\(error.reason.rawValue)", "cause": "\(error.cause ?? "")"]
                )
            }
        }
    }

    /// Mails an account's address a link that makes the account one with that of a new user.
    ///
    /// The mail counts towards the rate limit of mails to the mailbox.
    ///
    /// - Parameters:
    ///   - user: The user of the account.
    ///   - newcomer: The new user, who brought the same address.
    ///   - provider: The displayed name of the provider by which the new user logged in.
    ///   - loaded: The application.
    /// - Throws: `mail_off`, `too_many_attempts`, `store_unavailable` and similar errors.
    package func mailClaim(
        of user: User,
        by newcomer: ObjectID,
        at provider: String,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        guard let email = user.email, let address = EmailAddress(email) else { return }
        let purpose = EmailTokenPurpose.claim
        try await countLink(purpose, to: address, from: nil, in: loaded)
        let (_, url) = try await makeLink(purpose, for: user.objectID, and: newcomer, at: email, in: loaded)
        try await queue.enqueue(
            .accountClaim(link: url, hours: purpose.seconds / 3600, provider: provider, name: user.name),
            event: "\(purpose.rawValue)/\(newcomer)",
            to: email,
            locale: user.locale,
            user: user.objectID,
            of: loaded
        )
    }

    /// Mails a link to the user with the given login name, in the background.
    ///
    /// The method returns before it is known whether a user has the login name. So neither the response to the client
    /// nor the duration of the request tells a client whether the login name exists (T-83). With `tellsUnknown`, the
    /// method looks for the user first.
    ///
    /// - Parameters:
    ///   - purpose: The purpose of the link.
    ///   - identity: The login name that the client sent.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    ///   - logger: Gets a line with the pseudonym of the login name if no link is sent.
    ///   - tellsUnknown: Whether the method throws `login_unknown` if no link can be sent to a user with the login
    ///     name.
    ///   - wish: How the client wants the link to be mailed.
    ///   - concerns: Returns whether the link is for the given user.
    /// - Throws: `mail_off`, `too_many_attempts`, `overloaded`; with `tellsUnknown`, also `login_unknown`.
    package func mailLink(
        _ purpose: EmailTokenPurpose,
        toLogin identity: String,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger,
        tellingUnknown tellsUnknown: Bool = false,
        as wish: LinkWish? = nil,
        if concerns: @escaping @Sendable (User) -> Bool
    ) async throws(Failure) {
        try requireMail()
        let pseudonym = pseudonyms.pseudonym(ofLogin: identity, in: loaded.application.id)
        let facts: Logger.Metadata = [
            "application": "\(loaded.application.id)", "purpose": "\(purpose.rawValue)", "login": "\(pseudonym)",
        ]
        @Sendable func nothingComes(of outcome: String) {
            logger.notice("link asked for", metadata: facts.merging(["outcome": "\(outcome)"]) { own, _ in own })
        }
        func findsNobody() throws(Failure) {
            nothingComes(of: "nobody")
            if tellsUnknown { throw Failure(.loginUnknown, "No account has this login name.").logged }
        }
        // No user can have this login name, so the response reveals nothing.
        guard let login = loaded.application.login(identity) else { return try findsNobody() }
        do throws(Failure) {
            try await counted(AttemptCount.mails(purpose.rawValue, to: login, from: source.name), in: loaded)
        } catch {
            nothingComes(of: error.reason.rawValue)
            throw error.logged
        }
        @Sendable func addressee() async throws(Failure) -> User? {
            guard let user = try await store.user(ofLogin: login.key, in: loaded.application), concerns(user) else {
                return nil
            }
            let hasIdentities = try await store.hasIdentities(user.objectID, in: loaded.application)
            return Self.goes(to: user, by: login, whoHasIdentities: hasIdentities) ? user : nil
        }
        // The request is counted already. The counts limit how many login names a client can try.
        if tellsUnknown, try await addressee() == nil { return try findsNobody() }
        try afterReply(in: loaded, logger) { () throws(Failure) in
            guard let user = try await addressee() else { return nothingComes(of: "nobody") }
            // Several login names may have the same mailbox, so the mailbox is counted, too.
            if login.email == nil, let address = user.email.flatMap({ EmailAddress($0) }) {
                try await counted(AttemptCount.mails(purpose.rawValue, to: address, from: nil), in: loaded)
            }
            try await mailLink(purpose, to: user, as: wish, in: loaded)
        }
    }

    /// Returns whether a link that a client requested for a login name may be sent to the user's stored e-mail address.
    ///
    /// If the login name is an e-mail address, it must be the stored one (T-38). With another login name, the stored
    /// address must be confirmed, or the user must have no identities. Otherwise the address could come from a
    /// provider, which does not say whether the user reads its mail (decision D6). No link is sent to a disabled user.
    package static func goes(to user: User, by login: Login, whoHasIdentities hasIdentities: Bool) -> Bool {
        guard user.status != .disabled, let address = user.email.flatMap({ EmailAddress($0) }) else { return false }
        guard login.email == nil else { return address.login.hasSameBytes(as: login.key) }
        return user.emailVerified || !hasIdentities
    }

    /// Counts a link towards two rate limits before it is mailed: of the request's source and of the recipient's
    /// mailbox.
    ///
    /// If an operator requests the link, there is no source, and the link is counted only for the mailbox.
    ///
    /// - Returns: The counts. The caller can undo the counting with them if no link is sent.
    /// - Throws: `too_many_attempts`, and nothing is counted then.
    @discardableResult
    package func countLink(
        _ purpose: EmailTokenPurpose,
        to email: EmailAddress,
        from source: RequestSource?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [AttemptCount] {
        let counts = AttemptCount.mails(purpose.rawValue, to: email, from: source?.name)
        try await counted(counts, in: loaded)
        return counts
    }

    /// Counts the confirmation mail of a registration towards the rate limit of the recipient's mailbox.
    ///
    /// The request's source is not counted here, since the registration itself is counted for the source.
    ///
    /// - Returns: The counts. The caller can undo the counting with them if the registration fails.
    /// - Throws: `too_many_attempts`, and nothing is counted then.
    package func countConfirmation(
        of email: EmailAddress,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [AttemptCount] {
        try await countLink(.confirmation, to: email, from: nil, in: loaded)
    }

    private func counted(_ counts: [AttemptCount], in loaded: LoadedApplication) async throws(Failure) {
        let refusal = try await attempts.count(counts, of: loaded.application, before: .now + limits.login)
        guard let refusal else { return }
        throw Failure(
            .tooManyAttempts,
            "Too many mails to this address were requested. Check the mailbox, or try again later.",
            retryAfter: refusal.seconds
        )
    }

    package var canSend: Bool { address.url != nil && queue.canSendMail }

    /// Checks that the deployment can send links.
    ///
    /// - Throws: `mail_off`.
    package func requireMail() throws(Failure) {
        _ = try base()
        guard queue.canSendMail else { throw .mailOff }
    }
}

extension AttemptCount {
    /// Returns the rate-limit counters that count a requested mail.
    ///
    /// One counter is for the request's source, if there is one; the other is for the recipient's mailbox. Each kind of
    /// mail has its own counter for the mailbox. So requests for another kind of mail cannot keep the owner of the
    /// mailbox from getting a link to reset the password.
    package static func mails(_ kind: String, to email: EmailAddress, from source: String?) -> [AttemptCount] {
        let sources = source.map { [AttemptCount(for: Digest.sha256("mails " + $0), by: .mailsFromSource)] } ?? []
        return sources + [AttemptCount(for: Digest.sha256("mails \(kind) to \(email.mailbox)"), by: .mailsToMailbox)]
    }

    /// Returns the rate-limit counters of a mail with a one-time code: for the request's source and for the recipient's
    /// mailbox.
    package static func codes(to email: EmailAddress, from source: RequestSource) -> [AttemptCount] {
        [mails(from: source), AttemptCount(for: Digest.sha256("codes to \(email.mailbox)"), by: .codesToMailbox)]
    }

    /// Returns the rate-limit counter of a request's source for mails of all kinds.
    package static func mails(from source: RequestSource) -> AttemptCount {
        AttemptCount(for: Digest.sha256("mails " + source.name), by: .mailsFromSource)
    }

    /// Returns the rate-limit counters that count a mail which a client requested for a login name.
    ///
    /// One counter is for the request's source. If the login name is an e-mail address, the other counter is for its
    /// mailbox. Otherwise the other counter is for the login name.
    static func mails(_ kind: String, to login: Login, from source: String) -> [AttemptCount] {
        if let email = login.email { return mails(kind, to: email, from: source) }
        return [
            AttemptCount(for: Digest.sha256("mails " + source), by: .mailsFromSource),
            AttemptCount(for: Digest.sha256("mails \(kind) to login \(login.key)"), by: .mailsToMailbox),
        ]
    }
}
