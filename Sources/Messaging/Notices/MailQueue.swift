package import Applications
package import Domain
import Logging
import Metrics
package import Secrets
package import Store

/// The queue of mails that wait for delivery.
package struct MailQueue: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    /// The composer of mails; nil if the deployment sends no mails.
    let mailer: Mailer?
    let clock: WallClock
    let random: RandomSource
    private static let queued = Counter(label: "federation_mails_queued_total")

    package init(
        store: Store,
        masterKeys: MasterKeys,
        mailer: Mailer?,
        clock: WallClock,
        random: RandomSource
    ) {
        self.store = store
        self.masterKeys = masterKeys
        self.mailer = mailer
        self.clock = clock
        self.random = random
    }

    package var canSendMail: Bool { mailer != nil }

    /// Enqueues a mail, which is usually sent in the background within moments.
    ///
    /// - Parameters:
    ///   - mail: The subject matter.
    ///   - event: The cause of the mail, such as `passwordReset/` and the hash of its token. The same event never
    ///     causes a second mail.
    ///   - address: The address of the recipient, as stored with the user.
    ///   - locale: The locale of the user, from the property `blUserLocale`; nil if unknown.
    ///   - user: The user whom the mail is about. The erasure of the user cancels the mail. Nil before the user exists.
    ///   - loaded: The application.
    /// - Throws: `mail_off` if the deployment has no mail server; `email_invalid` for an address that no mail server
    ///   accepts; `store_unavailable` and similar errors.
    package func enqueue(
        _ mail: Mail,
        event: String,
        to address: String,
        locale: String?,
        user: ObjectID?,
        of loaded: LoadedApplication
    ) async throws(Failure) {
        let id = random.objectID()
        let content = try encrypted(mail, as: id, to: address, locale: locale, of: loaded)
        _ = try await store.enqueueMail(id, event: event, content: content, user: user, of: loaded.application)
    }

    /// Composes a mail and encrypts it for storage in the queue.
    ///
    /// The caller stores the returned text.
    package func encrypted(
        _ mail: Mail,
        as id: ObjectID,
        to address: String,
        locale: String?,
        of loaded: LoadedApplication
    ) throws(Failure) -> EncryptedSecret {
        guard let mailer else { throw .mailOff }
        guard let recipient = MailAddress(address) else {
            throw Failure(
                .emailInvalid,
                "No mail can be sent to this user, because the address is not an e-mail address."
            )
        }
        let application = loaded.application
        guard
            let composed = mailer.compose(
                mail,
                to: recipient,
                locale: locale,
                application: application.name,
                id: id.uuid,
                now: clock.seconds
            )
        else {
            throw Failure(
                .internal,
                "The service could not compose a mail.",
                cause: "no template \(mail.template.rawValue)"
            )
        }
        Self.queued.increment()
        let queued = QueuedMail(mail: composed.mail, usefulUntil: composed.usefulUntil)
        return masterKeys.encrypt(queued.text, for: .mail(application: application.id, id: id))
    }
}

extension Failure {
    package static let mailOff = Failure(
        .mailOff,
        "This service cannot send mails. The operator can set a mail server with FEDERATION_SMTP_URL."
    )
}
