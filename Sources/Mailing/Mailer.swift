package import FoundationEssentials

/// Writes mails and sends them: by an SMTP server, or into a folder.
package struct Mailer: Sendable {
    private let composer: MailComposer
    private let carrier: MailCarrier

    /// Makes a mailer.
    ///
    /// - Parameters:
    ///   - templates: What mails say.
    ///   - sender: Who they come from.
    ///   - language: One in which `templates` are complete, for readers whose language has none.
    ///   - carrier: How they get away.
    package init(templates: MailTemplates, sender: Mailbox, language: String, carrier: MailCarrier) {
        composer = MailComposer(templates: templates, sender: sender, language: language)
        self.carrier = carrier
    }

    /// A mail as it goes out, whatever happens to the templates afterwards, and the moment after which it is of no use.
    ///
    /// - Parameters:
    ///   - mail: What it is about.
    ///   - recipient: To whom.
    ///   - locale: What they speak, such as `de` or `de_AT`, if it is known.
    ///   - application: The name of the application.
    ///   - id: Names the mail.
    ///   - now: Seconds since 1970.
    /// - Returns: Nil when there are no templates for it, which a check of `MailTemplates.isComplete` rules out.
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

    /// The languages in which every mail can be written.
    package var languages: [String] { composer.templates.languages }

    /// The name of the sender, for mails that are of no application.
    package var senderName: String { composer.sender.name ?? "Federation" }

    /// What a mail of a template says, of somebody who is made up.
    ///
    /// - Parameters:
    ///   - template: Which mail.
    ///   - locale: The language; one that has no templates is told in the usual one.
    /// - Returns: Nil when there are no templates for it.
    package func example(of template: Mail.Template, locale: String?) -> WrittenMail? {
        composer.written(.example(of: template), locale: locale, application: "Example")
    }

    /// Sends a mail, once.
    package func send(_ mail: ComposedMail) async -> MailOutcome { await carrier.carry(mail) }
}

/// What became of a mail.
///
/// `problem` is for logs: it holds no address and no word of the server's. `answer` is what the server said, for the
/// person at a terminal; it may repeat the address.
package enum MailOutcome: Sendable {
    /// The server has taken it; what it said.
    case accepted(answer: String)
    /// Nothing was accepted, and it may be another time.
    case postponed(problem: String, answer: String?)
    /// The server will never take this mail.
    case refused(problem: String, answer: String?)
    /// It may have been accepted and may not, so it must not be sent again.
    case uncertain(problem: String)
}
