package import FoundationEssentials

/// A composer and sender of mails.
///
/// It sends them by an SMTP server, or writes them into a folder.
package struct Mailer: Sendable {
    private let composer: MailComposer
    private let carrier: MailCarrier

    /// Creates a mailer.
    ///
    /// - Parameters:
    ///   - templates: The texts of mails.
    ///   - sender: The sender of all mails.
    ///   - language: The language for readers in whose own language there are no templates. All mails must have
    ///     templates in this language.
    ///   - carrier: The way to deliver mails.
    package init(templates: MailTemplates, sender: Mailbox, language: String, carrier: MailCarrier) {
        composer = MailComposer(templates: templates, sender: sender, language: language)
        self.carrier = carrier
    }

    /// Composes a mail.
    ///
    /// Later changes of the templates do not affect the mail. The result also contains the time after which the mail no
    /// longer helps its reader.
    ///
    /// - Parameters:
    ///   - mail: The subject matter.
    ///   - recipient: The address of the recipient.
    ///   - locale: The locale of the recipient, such as `de` or `de_AT`; nil if unknown.
    ///   - application: The name of the application.
    ///   - id: The id of the mail.
    ///   - now: Seconds since 1970.
    /// - Returns: The mail; nil if there are no templates for it. If `MailTemplates.isComplete` is true for the
    ///   language of this mailer, the result is never nil.
    package func compose(
        _ mail: Mail,
        to recipient: MailAddress,
        locale: String?,
        application: String,
        id: UUID,
        now: Int64
    ) -> (mail: ComposedMail, usefulUntil: Int64)? {
        composer.compose(mail, to: recipient, locale: locale, application: application, id: id, now: now).map {
            ($0, now &+ mail.usefulSeconds)
        }
    }

    /// The languages in which all mails have templates.
    package var languages: [String] { composer.templates.languages }

    /// The display name in the sender's address; `Federation` if the address has no display name.
    ///
    /// Mails that no application sends, such as a test of the mail server, show it in place of the application's name.
    package var senderName: String { composer.sender.name ?? "Federation" }

    /// Returns the texts of an example mail about a fictitious user.
    ///
    /// - Parameters:
    ///   - template: The template of the mail.
    ///   - locale: The language of the mail; the default language if nil, or if there are no templates in this
    ///     language.
    /// - Returns: The texts; nil if there are no templates for the mail.
    package func example(of template: Mail.Template, locale: String?) -> WrittenMail? {
        composer.written(.example(of: template), locale: locale, application: "Example")
    }

    /// Sends a mail, without a retry.
    package func send(_ mail: ComposedMail) async -> MailOutcome { await carrier.carry(mail) }
}

/// The outcome of an attempt to send a mail.
///
/// `problem` is a text for logs, without any address and without the mail server's own words. `answer` is the mail
/// server's reply, which may contain the address. Only an operator at a terminal may see it.
package enum MailOutcome: Sendable {
    /// The server has accepted the mail, with this reply.
    case accepted(answer: String)
    /// The mail was not accepted.
    ///
    /// A retry may succeed.
    case postponed(problem: String, answer: String?)
    /// The server will never accept this mail.
    case refused(problem: String, answer: String?)
    /// The server may have accepted the mail.
    ///
    /// There must be no retry, since the recipient could get the mail twice.
    case uncertain(problem: String)
}
