import FoundationEssentials
package import Identity
package import Mailing
import Logging
import Store

extension Federation {
    /// Whether this deployment sends mails at all.
    package var canSendMail: Bool { mailer != nil }

    /// Puts a mail into the queue; it is delivered in the background, moments later if the mail server answers.
    ///
    /// - Parameters:
    ///   - mail: What it is about.
    ///   - event: What caused it, such as `passwordReset/` and the hash of its token: the same event never brings a second mail.
    ///   - address: To whom, as it is stored with the user.
    ///   - locale: The user's `blUserLocale`.
    ///   - user: Whose mail it is; when they are erased, it is not sent.
    ///   - loaded: The application.
    /// - Throws: `mail_off` without a mail server, `email_invalid` for an address that no mail server takes, `store_unavailable` and
    ///   its like.
    package func enqueue(
        _ mail: Mail,
        event: String,
        to address: String,
        locale: String?,
        user: ObjectID,
        of loaded: LoadedApplication
    ) async throws(Failure) {
        guard let mailer else { throw .mailOff }
        guard let recipient = MailAddress(address) else {
            throw Failure(
                .emailInvalid,
                "No mail can be sent to the address of this user; it is not an e-mail address."
            )
        }
        let application = loaded.application
        let id = Random.objectID()
        guard
            let composed = mailer.compose(
                mail,
                to: recipient,
                locale: locale,
                application: application.name,
                id: id.uuid,
                now: Int64(Date().timeIntervalSince1970)
            )
        else {
            throw Failure(
                .internal,
                "The service could not write a mail.",
                cause: "no template \(mail.template.rawValue)"
            )
        }
        let queued = QueuedMail(mail: composed.mail, usefulUntil: composed.usefulUntil)
        _ = try await store.enqueueMail(
            id,
            event: event,
            content: masterKeys.seal(queued.text, for: .mail(application: application.id, id: id)),
            user: user,
            of: application
        )
    }

    /// Tells a user by mail what has become of the account; where no mail can be sent nobody is told, and nothing else fails.
    ///
    /// - Parameters:
    ///   - mail: What has happened.
    ///   - email: The address of before it: whoever did it may have changed that as well.
    ///   - user: Whose account it is.
    ///   - loaded: The application.
    ///   - logger: Gets a line when the mail could not be written.
    func notify(
        _ mail: Mail,
        at email: String,
        of user: User,
        in loaded: LoadedApplication,
        logger: Logger
    ) async {
        guard canSendMail, let address = EmailAddress(email) else { return }
        do throws(Failure) {
            let kind = mail.template.rawValue
            // Whoever has the account could otherwise fill a mailbox that may not be theirs.
            let waiting = try await countMail(kind, to: address.login, from: "\(user.objectID)", in: loaded.application)
            guard waiting == nil else { return }
            try await enqueue(
                mail,
                event: "\(kind)/\(Random.objectID())",
                to: email,
                locale: user.locale,
                user: user.objectID,
                of: loaded
            )
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
}

extension Failure {
    static let mailOff = Failure(
        .mailOff,
        "This service does not send mails. Its operator can name a mail server (FEDERATION_SMTP_URL)."
    )
}
