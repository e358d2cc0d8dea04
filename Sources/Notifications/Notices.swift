package import Applications
package import Logging
package import Mailing
import Secrets
package import Store
package import Vocabulary

/// Where a notice goes.
package struct NoticeAddress: Sendable {
    package let text: String
    /// Whether the owner of the account has shown to read the mail that goes there.
    let isConfirmed: Bool
}

/// What a person is told of changes to their account, at every address that must know.
package struct Notices: Sendable {
    let store: Store
    let queue: MailQueue
    /// Nil where nothing is told that a link undoes.
    let links: MailedLinks?
    let attempts: AttemptCounter
    let limits: Limits
    let random: RandomSource

    package init(
        store: Store,
        queue: MailQueue,
        links: MailedLinks? = nil,
        attempts: AttemptCounter,
        limits: Limits,
        random: RandomSource
    ) {
        self.store = store
        self.queue = queue
        self.links = links
        self.attempts = attempts
        self.limits = limits
        self.random = random
    }

    /// Tells a user by mail what has become of the account; where no mail can be sent nobody is told, and nothing else
    /// fails.
    ///
    /// - Parameters:
    ///   - mail: What has happened.
    ///   - user: Whose account it is, as it was before: whoever did it may have changed the address as well.
    ///   - others: Who else is told.
    ///   - loaded: The application.
    ///   - logger: Gets a line when the mail could not be written.
    package func notify(
        _ mail: Mail,
        about user: User,
        and others: [NoticeAddress] = [],
        in loaded: LoadedApplication,
        logger: Logger
    ) async {
        guard queue.canSendMail else { return }
        do throws(Failure) {
            let notices = try await notices(of: mail, to: user, and: others, in: loaded)
            guard !notices.isEmpty else { return }
            try await attempts.counting(of: loaded.application, before: .now + limits.login) { () throws(Failure) in
                try await store.enqueue(notices, to: user.objectID, of: loaded.application)
            }
        } catch {
            logger.warning(
                "a notice could not be sent",
                metadata: [
                    "mail": "\(mail.template.rawValue)", "user": "\(user.objectID)",
                    "reason": "\(error.reason.rawValue)",
                    "cause": "\(error.cause ?? "")",
                ]
            )
        }
    }

    /// What a user is told, to be put into the queue with what happens to the account.
    ///
    /// - Returns: A notice to every address that must know; none when no mail can be sent.
    /// - Throws: `store_unavailable` and its like.
    package func notices(
        of mail: Mail,
        to user: User,
        and others: [NoticeAddress] = [],
        in loaded: LoadedApplication
    ) async throws(Failure) -> [Notice] {
        guard queue.canSendMail else { return [] }
        var notices: [Notice] = []
        for address in try await noticeAddresses(of: user, and: others, in: loaded) {
            if let notice = try notice(mail, to: address, of: user, in: loaded) { notices.append(notice) }
        }
        return notices
    }

    /// What a user is told of a change that is yet to come, with a link by which whoever reads the mail of the address
    /// of before takes it back, if that is confirmed: nobody else could be trusted with it.
    ///
    /// - Parameters:
    ///   - user: Whose account it is, as it is before the change.
    ///   - loaded: The application.
    ///   - mail: What will have happened, with that link and the days for which it counts.
    /// - Returns: Nil when no mail can be sent.
    /// - Throws: `store_unavailable` and its like.
    package func announcement(
        to user: User,
        in loaded: LoadedApplication,
        of mail: (_ link: Secret?, _ days: Int) -> Mail
    ) async throws(Failure) -> Announcement? {
        guard queue.canSendMail else { return nil }
        let days = EmailTokenPurpose.reversal.seconds / 86_400
        var notices: [Notice] = []
        for address in try await noticeAddresses(of: user, in: loaded) {
            let isOwn = user.emailVerified && user.email?.hasSameBytes(as: address.text) == true
            let base = isOwn && links?.canSend == true ? try links?.base() : nil
            let link = base.map { _ in MailedLink(purpose: .reversal, token: OneTimeToken(random)) }
            let location = base.flatMap { base in link?.address(at: base, of: loaded.application.id) }
            if let notice = try notice(mail(location, days), to: address, of: user, link: link, in: loaded) {
                notices.append(notice)
            }
        }
        return Announcement(email: user.email, isVerified: user.emailVerified, notices: notices)
    }

    /// Where notices of an account go: to its address, and for three days to those that it had before.
    ///
    /// An address that is not confirmed may be anybody's: only who has chosen a password with it is told something
    /// there.
    package func noticeAddresses(
        of user: User,
        and others: [NoticeAddress] = [],
        in loaded: LoadedApplication
    ) async throws(Failure) -> [NoticeAddress] {
        var addresses: [NoticeAddress] = []
        if let email = user.email {
            let hasPassword = try await store.password(of: user.objectID, in: loaded.application) != nil
            if user.emailVerified || hasPassword {
                addresses.append(NoticeAddress(text: email, isConfirmed: user.emailVerified))
            }
        }
        addresses += others
        addresses += try await store.formerAddresses(of: user.objectID, in: loaded.application).map {
            NoticeAddress(text: $0, isConfirmed: true)
        }
        var logins: Set<String> = []
        return addresses.filter { EmailAddress($0.text).map { logins.insert($0.login).inserted } ?? false }
    }

    /// A notice, counted for its mailbox, since whoever has the account could otherwise fill one that may not be
    /// theirs.
    ///
    /// One to a confirmed address is counted for the account alone: no other one that names the address uses it up.
    /// Whoever uses it up through the account itself has sent the owner links that undo what follows as well.
    private func notice(
        _ mail: Mail,
        to address: NoticeAddress,
        of user: User,
        link: MailedLink? = nil,
        in loaded: LoadedApplication
    ) throws(Failure) -> Notice? {
        guard MailAddress(address.text) != nil, let email = EmailAddress(address.text) else { return nil }
        let (id, kind) = (random.objectID(), mail.template.rawValue)
        return Notice(
            id: id,
            event: "\(kind)/\(id)",
            content: try queue.sealed(mail, as: id, to: address.text, locale: user.locale, of: loaded),
            counts: address.isConfirmed
                ? AttemptCount.mails("\(kind) of \(user.objectID)", to: email, from: nil)
                : AttemptCount.mails(kind, to: email, from: "\(user.objectID)"),
            reversalHash: link?.token.hash
        )
    }
}
