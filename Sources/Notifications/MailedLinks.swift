package import Applications
import Limiting
package import Logging
import Mailing
package import Secrets
package import Store
package import Vocabulary

/// A link of a mail, to a page of ours where the reader does one thing, once.
package struct MailedLink: Sendable {
    package let purpose: EmailTokenPurpose
    package let token: OneTimeToken

    /// The address of the page.
    ///
    /// Nothing of a request gets in, and no API key either: a mail is read by whoever (T-71).
    package func address(at publicURL: String, of application: ApplicationID) -> Secret {
        Self.address(of: purpose.page, token, at: publicURL, of: application)
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

/// Links that go to people by mail.
package struct MailedLinks: Sendable {
    let store: Store
    let queue: MailQueue
    let attempts: AttemptCounter
    let address: PublicAddress
    let pseudonyms: Pseudonyms
    /// Counts what goes on when its request has been answered.
    let afterReplies = ConcurrencyLimit<ApplicationID>(limit: Self.askedForAtOnce)
    let limits: Limits
    let random: RandomSource

    /// Mails that are asked for at once; who asks does not wait for them.
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

    /// Where links of mails lead.
    ///
    /// - Throws: `mail_off` when the deployment does not say.
    package func base() throws(Failure) -> String {
        guard let url = address.url else {
            throw Failure(
                .mailOff,
                "The operator has not said where this service is reached from outside (FEDERATION_PUBLIC_URL), so it sends no links."
            )
        }
        return url
    }

    /// Makes a link for a user, and keeps its e-mail token.
    ///
    /// - Parameters:
    ///   - purpose: What the link is for.
    ///   - user: Whose address it is about.
    ///   - email: The address as it is stored.
    ///   - onlyConfirms: Whether it sets no password, since who gets it need not read the mail.
    ///   - loaded: The application.
    /// - Returns: The link, and the address of its page.
    /// - Throws: `mail_off`, `store_unavailable` and its like.
    package func makeLink(
        _ purpose: EmailTokenPurpose,
        for user: ObjectID,
        at email: String,
        onlyConfirming onlyConfirms: Bool = false,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (link: MailedLink, address: Secret) {
        let base = try base()
        let link = MailedLink(purpose: purpose, token: OneTimeToken(random))
        try await store.addEmailToken(
            EmailToken(user: user, email: email, onlyConfirms: onlyConfirms),
            for: purpose,
            tokenHash: link.token.hash,
            of: loaded.application
        )
        return (link, link.address(at: base, of: loaded.application.id))
    }

    /// The last segment of the path of the page of an invitation.
    package static let invitationPage = "invitation"

    /// The address of the page of an invitation.
    ///
    /// - Throws: `mail_off` when the deployment does not say where it is reached.
    package func invitation(by token: OneTimeToken, to application: ApplicationID) throws(Failure) -> Secret {
        MailedLink.address(of: Self.invitationPage, token, at: try base(), of: application)
    }

    /// The mail with an invitation, to be put into the queue with it; it is counted for its mailbox.
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
            content: try queue.sealed(mail, as: id, to: email.text, locale: locale, of: loaded),
            counts: AttemptCount.mails(mail.template.rawValue, to: email, from: nil),
            reversalHash: nil
        )
    }

    /// Does something that puts mails into the queue which are counted, when it is its turn.
    package func counting<Result>(
        of application: Application,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await attempts.counting(of: application, before: .now + limits.login, body)
    }

    /// Sends a user a link, to the address that is stored.
    package func mailLink(
        _ purpose: EmailTokenPurpose,
        to user: User,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        guard let email = user.email else { return }
        let mail: (Secret) -> Mail
        switch purpose {
        case .passwordReset: mail = { .passwordReset(link: $0, minutes: purpose.seconds / 60, name: user.name) }
        case .confirmation: mail = { .emailConfirmation(link: $0, hours: purpose.seconds / 3600, name: user.name) }
        // Nobody asks for it: it goes with the notice of what it undoes.
        case .reversal: return
        }
        let (link, address) = try await makeLink(purpose, for: user.objectID, at: email, in: loaded)
        try await queue.enqueue(
            mail(address),
            event: "\(purpose.rawValue)/\(Base64URL.encode(link.token.hash))",
            to: email,
            locale: user.locale,
            user: user.objectID,
            of: loaded
        )
    }

    /// Sends a link to the owner of a login, if there is one whom it concerns, after the caller has had the answer: so
    /// neither the answer nor its time says whether there is (T-83), unless the application wants that said.
    ///
    /// - Parameters:
    ///   - purpose: What the link is for.
    ///   - identity: What is claimed to be somebody's login.
    ///   - source: Where the request comes from.
    ///   - loaded: The application.
    ///   - logger: Gets a line when nothing comes of it, with the pseudonym of what is claimed.
    ///   - tellsUnknown: Whether the caller learns that there is nobody.
    ///   - concerns: Whether the link is for that user.
    /// - Throws: `mail_off`, `too_many_attempts`, `overloaded`; `login_unknown` where that is told.
    package func mailLink(
        _ purpose: EmailTokenPurpose,
        toLogin identity: String,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger,
        tellingUnknown tellsUnknown: Bool = false,
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
            if tellsUnknown { throw Failure(.loginUnknown, "There is no account with this login.").logged }
        }
        // Nobody logs in with any other text, and so nobody learns anything.
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
        // Counted already, so that nobody asks about many.
        if tellsUnknown, try await addressee() == nil { return try findsNobody() }
        guard afterReplies.enter(loaded.application.id) else {
            throw Failure(.overloaded, "Too many mails are being asked for. Try again shortly.", retryAfter: 1)
        }
        Task {
            defer { afterReplies.leave(loaded.application.id) }
            do throws(Failure) {
                guard let user = try await addressee() else { return nothingComes(of: "nobody") }
                // Several logins may have one mailbox.
                if login.email == nil, let address = user.email.flatMap({ EmailAddress($0) }) {
                    try await counted(AttemptCount.mails(purpose.rawValue, to: address, from: nil), in: loaded)
                }
                try await mailLink(purpose, to: user, in: loaded)
            } catch {
                logger.warning(
                    "a link could not be sent",
                    metadata: ["reason": "\(error.reason.rawValue)", "cause": "\(error.cause ?? "")"]
                )
            }
        }
    }

    /// Whether a link may go to the address that is stored with a user: the one that logs in (T-38), or, where
    /// something else does, one that no provider has told (decision D6).
    package static func goes(to user: User, by login: Login, whoHasIdentities hasIdentities: Bool) -> Bool {
        guard user.status != .disabled, let address = user.email.flatMap({ EmailAddress($0) }) else { return false }
        guard login.email == nil else { return address.login.hasSameBytes(as: login.key) }
        return user.emailVerified || !hasIdentities
    }

    /// Counts a link that somebody causes to be sent; for its mailbox alone where an operator does.
    ///
    /// - Returns: What takes that back when no link is sent.
    /// - Throws: `too_many_attempts`, and nothing was counted then.
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

    /// Counts the link by which the address of a registration will be confirmed.
    ///
    /// Where it comes from is counted with the registration.
    ///
    /// - Returns: What takes that back when nothing comes of the registration.
    /// - Throws: `too_many_attempts`, and nothing was counted then.
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
            "Too many mails to this address have been asked for. Look into the mailbox, or try again later.",
            retryAfter: refusal.seconds
        )
    }

    /// Whether the deployment can send links.
    package var canSend: Bool { address.url != nil && queue.canSendMail }

    /// Holds the deployment to being able to send links.
    ///
    /// - Throws: `mail_off`.
    package func requireMail() throws(Failure) {
        _ = try base()
        guard queue.canSendMail else { throw .mailOff }
    }
}

extension AttemptCount {
    /// For what a mail counts that somebody causes: for its source, if there is one to name, and for the mailbox.
    ///
    /// Of each kind by itself: nobody keeps the link of a reset from its owner by asking for something else.
    package static func mails(_ kind: String, to email: EmailAddress, from source: String?) -> [AttemptCount] {
        let sources = source.map { [AttemptCount(for: Digest.sha256("mails " + $0), by: .mailsFromSource)] } ?? []
        return sources + [AttemptCount(for: Digest.sha256("mails \(kind) to \(email.mailbox)"), by: .mailsToMailbox)]
    }

    /// What a mail with a code is counted for.
    package static func codes(to email: EmailAddress, from source: RequestSource) -> [AttemptCount] {
        [mails(from: source), AttemptCount(for: Digest.sha256("codes to \(email.mailbox)"), by: .codesToMailbox)]
    }

    /// What any mail is counted for that a source causes.
    package static func mails(from source: RequestSource) -> AttemptCount {
        AttemptCount(for: Digest.sha256("mails " + source.name), by: .mailsFromSource)
    }

    /// The same for a login, behind which a mailbox may be.
    static func mails(_ kind: String, to login: Login, from source: String) -> [AttemptCount] {
        if let email = login.email { return mails(kind, to: email, from: source) }
        return [
            AttemptCount(for: Digest.sha256("mails " + source), by: .mailsFromSource),
            AttemptCount(for: Digest.sha256("mails \(kind) to login \(login.key)"), by: .mailsToMailbox),
        ]
    }
}
