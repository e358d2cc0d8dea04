import Identity
import Logging
import Mailing
import Store

/// A link of a mail, to a page of ours where the reader does one thing, once.
struct MailedLink: Sendable {
    let purpose: EmailProofPurpose
    let token = OneTimeText()

    /// Seconds for which it counts.
    var seconds: Int {
        switch purpose {
        case .passwordReset: 1800
        case .confirmation: 172_800
        }
    }

    /// The address of the page.
    ///
    /// Nothing of a request gets in, and no API key either: a mail is read by whoever (security.md V-71).
    func address(at publicURL: String, of application: ApplicationID) -> Secret {
        Secret("\(publicURL)/\(application)/\(purpose.page)?token=\(token.secret.reveal())")
    }
}

extension Federation {
    /// Where links of mails lead.
    ///
    /// - Throws: `mail_off` when the deployment does not say.
    func linkBase() throws(Failure) -> String {
        guard let publicURL else {
            throw Failure(
                .mailOff,
                "The operator has not said where this service is reached from outside (FEDERATION_PUBLIC_URL), so it sends no links."
            )
        }
        return publicURL
    }

    /// Makes a link for a user and remembers what it proves.
    ///
    /// - Throws: `mail_off`, `store_unavailable` and its like.
    func makeLink(
        _ purpose: EmailProofPurpose,
        for user: ObjectID,
        at email: String,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (link: MailedLink, address: Secret) {
        let base = try linkBase()
        let link = MailedLink(purpose: purpose)
        try await store.addEmailProof(
            EmailProof(user: user, email: email),
            for: purpose,
            tokenHash: link.token.hash,
            seconds: link.seconds,
            of: loaded.application
        )
        return (link, link.address(at: base, of: loaded.application.id))
    }

    /// Sends a user a link, to the address that is stored.
    func mailLink(
        _ purpose: EmailProofPurpose,
        to user: User,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        guard let email = user.email else { return }
        let (link, address) = try await makeLink(purpose, for: user.objectID, at: email, in: loaded)
        let mail: Mail =
            switch purpose {
            case .passwordReset: .passwordReset(link: address, minutes: link.seconds / 60, name: user.name)
            case .confirmation: .emailConfirmation(link: address, hours: link.seconds / 3600, name: user.name)
            }
        try await enqueue(
            mail,
            event: "\(purpose.rawValue)/\(Base64URL.encode(link.token.hash))",
            to: email,
            locale: user.locale,
            user: user.objectID,
            of: loaded
        )
    }

    /// Sends a link to the owner of a login, if there is one whom it concerns, after the caller has had the answer: so neither the answer
    /// nor its time says whether there is (security.md V-83).
    ///
    /// - Parameters:
    ///   - purpose: What the link is for.
    ///   - identity: What is claimed to be somebody's login.
    ///   - source: Where the request comes from.
    ///   - loaded: The application.
    ///   - logger: Gets a line when nothing comes of it.
    ///   - concerns: Whether the link is for that user.
    /// - Throws: `mail_off`, `too_many_attempts`, `overloaded`.
    func mailLink(
        _ purpose: EmailProofPurpose,
        toLogin identity: String,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger,
        if concerns: @escaping @Sendable (User) -> Bool
    ) async throws(Failure) {
        try requireMail()
        // Nobody logs in with any other text, and so nobody learns anything.
        guard let email = EmailAddress(identity) else { return }
        try await countLink(purpose, to: email, from: source, in: loaded)
        guard afterReplies.enter() else {
            throw Failure(.overloaded, "Too many mails are being asked for. Try again shortly.", retryAfter: 1)
        }
        Task {
            defer { afterReplies.leave() }
            do throws(Failure) {
                guard let user = try await store.user(ofLogin: email.login, in: loaded.application),
                    user.status != .disabled, concerns(user),
                    // Mail goes to the address that is stored, which is the one that logs in (security.md V-38).
                    user.email.flatMap({ EmailAddress($0) })?.login.hasSameBytes(as: email.login) == true
                else { return }
                try await mailLink(purpose, to: user, in: loaded)
            } catch {
                logger.warning(
                    "a link could not be sent",
                    metadata: ["reason": "\(error.reason.rawValue)", "cause": "\(error.cause ?? "")"]
                )
            }
        }
    }

    /// Counts a link that somebody causes to be sent.
    ///
    /// - Throws: `too_many_attempts`, and nothing was counted then.
    func countLink(
        _ purpose: EmailProofPurpose,
        to email: EmailAddress,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        let waiting = try await countMail(purpose.rawValue, to: email.login, from: source.name, in: loaded.application)
        guard let seconds = waiting else { return }
        throw Failure(
            .tooManyAttempts,
            "Too many mails have been asked for. Look into your mailbox, or try again later.",
            retryAfter: seconds
        )
    }

    /// Counts a mail that somebody causes.
    ///
    /// Of each kind by itself: nobody keeps the link of a reset from its owner by asking for something else.
    ///
    /// - Returns: Nil when it may go out; else the seconds to wait.
    func countMail(
        _ kind: String,
        to login: String,
        from source: String,
        in application: Application
    ) async throws(Failure) -> Int? {
        let keys = AttemptKeys(
            source: Digest.sha256("mails " + source),
            account: Digest.sha256("mails \(kind) to \(login)"),
            kind: .mail
        )
        return try await counting.pass(before: .now + limits.login) { () throws(Failure) in
            try await store.countAttempt(keys, of: application)
        }
    }

    /// Holds the deployment to being able to send links.
    ///
    /// - Throws: `mail_off`.
    func requireMail() throws(Failure) {
        _ = try linkBase()
        guard canSendMail else { throw .mailOff }
    }
}
