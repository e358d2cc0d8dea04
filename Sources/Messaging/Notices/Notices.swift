package import Applications
package import Domain
import Encodings
package import Logging
import Secrets
package import Store

/// An e-mail address that receives notices about changes of an account.
package struct NoticeAddress: Sendable {
    package let text: String
    /// Whether the owner of the account has confirmed the address.
    let isConfirmed: Bool
}

/// Mails notices about changes of an account.
///
/// A notice goes to every address of the account's user that ``noticeAddresses(of:and:in:)`` returns.
package struct Notices: Sendable {
    let store: Store
    let queue: MailQueue
    /// Makes the links that undo a change; nil if notices contain no such links.
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

    /// Mails a notice about a change of an account to the account's user.
    ///
    /// Without a mail server, this method does nothing. If a notice fails, the change stays.
    ///
    /// - Parameters:
    ///   - mail: The mail about the change.
    ///   - user: The user before the change. The change may have replaced the e-mail address.
    ///   - others: Further e-mail addresses that receive the notice.
    ///   - loaded: The application.
    ///   - logger: Gets a line if the mail could not be enqueued.
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

    /// Returns the notices about a change, to be enqueued together with the change.
    ///
    /// - Returns: A notice to every address that should receive one; empty if the deployment sends no mails.
    /// - Throws: `store_unavailable` and similar errors.
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

    /// Composes the notices about a change that is about to be made.
    ///
    /// If the user has a confirmed address, the notice to this address contains a link that undoes the change. The
    /// other notices contain no link, since the readers of other addresses cannot be trusted with it.
    ///
    /// - Parameters:
    ///   - user: The user before the change.
    ///   - loaded: The application.
    ///   - purpose: The purpose of the link.
    ///   - mail: Returns the mail about the change for a link and its lifetime in days.
    /// - Returns: The notices; nil if the deployment sends no mails.
    /// - Throws: `store_unavailable` and similar errors.
    package func announcement(
        to user: User,
        in loaded: LoadedApplication,
        undoneBy purpose: EmailTokenPurpose = .reversal,
        of mail: (_ link: Secret?, _ days: Int) -> Mail
    ) async throws(Failure) -> Announcement? {
        guard queue.canSendMail else { return nil }
        let days = purpose.seconds / 86_400
        var notices: [Notice] = []
        for address in try await noticeAddresses(of: user, in: loaded) {
            let isOwn = user.emailVerified && user.email?.hasSameBytes(as: address.text) == true
            let base = isOwn && links?.canSend == true ? try links?.base() : nil
            let link = base.map { _ in MailedLink(purpose: purpose, token: OneTimeToken(random)) }
            let location = base.flatMap { base in link?.address(at: base, of: loaded.application.id) }
            if let notice = try notice(mail(location, days), to: address, of: user, link: link, in: loaded) {
                notices.append(notice)
            }
        }
        return Announcement(email: user.email, isVerified: user.emailVerified, notices: notices)
    }

    /// Returns the e-mail addresses that receive notices about an account.
    ///
    /// They are the account's present address, `others`, and the confirmed addresses that changes of the last three
    /// days replaced. An unconfirmed present address is included only if the account has a password. Without a
    /// password, the address may come from a provider, and may belong to another human.
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

    /// Composes a notice about an account; nil for an address that cannot receive mails.
    ///
    /// Every notice counts towards a rate limit. Otherwise a user could flood a mailbox that may belong to another
    /// human.
    ///
    /// If the address is confirmed, only notices about this account are counted together. So an attacker cannot
    /// suppress the notices with another account that has the same address. An attacker within this account can reach
    /// the limit only by changes whose notices the owner receives. The links in these notices undo all later changes.
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
            content: try queue.encrypted(mail, as: id, to: address.text, locale: user.locale, of: loaded),
            counts: address.isConfirmed
                ? AttemptCount.mails("\(kind) of \(user.objectID)", to: email, from: nil)
                : AttemptCount.mails(kind, to: email, from: "\(user.objectID)"),
            reversalHash: link?.token.hash
        )
    }
}
