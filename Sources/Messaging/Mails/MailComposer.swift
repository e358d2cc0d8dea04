import FoundationEssentials

/// A mail that is ready to be sent to a server.
package struct ComposedMail: Sendable {
    package let sender: MailAddress
    package let recipient: MailAddress
    /// The headers and the body.
    ///
    /// Each line ends with CRLF.
    package let message: String
}

extension ComposedMail: CustomStringConvertible, CustomReflectable {
    /// A placeholder that contains no address and no text of the mail.
    package var description: String { "a mail" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The subject and the body texts of a mail, in one language.
package struct WrittenMail: Sendable {
    package let language: String
    package let subject: String
    package let text: String
    package let html: String
}

/// A composer of mails (RFC 5322, RFC 2045–2047).
///
/// A mail has headers, and the same text twice: as plain text and as HTML.
struct MailComposer: Sendable {
    let templates: MailTemplates
    let sender: Mailbox
    /// The language of a mail if the recipient's own language has no template for it.
    let language: String

    /// Composes a mail.
    ///
    /// - Parameters:
    ///   - mail: The subject matter.
    ///   - recipient: The address of the recipient.
    ///   - locale: The locale of the recipient; nil if unknown.
    ///   - application: The name of the application.
    ///   - id: The id of the mail. Every attempt to send the mail has the same id, so that servers recognize a second
    ///     copy.
    ///   - now: Seconds since 1970.
    /// - Returns: The mail; nil if there are no templates for it.
    func compose(
        _ mail: Mail,
        to recipient: MailAddress,
        locale: String?,
        application: String,
        id: UUID,
        now: Int64
    ) -> ComposedMail? {
        guard let written = written(mail, locale: locale, application: application) else { return nil }
        let boundary = "=_" + id.uuidString
        let lines =
            [
                "From: \(MailHeader.mailbox(name: sender.name ?? application, address: sender.address))",
                "To: <\(recipient.text)>",
                "Subject: \(MailHeader.text(written.subject))",
                "Date: \(MailHeader.date(now))",
                "Message-ID: <\(id.uuidString)@\(sender.address.domain)>",
                // This header keeps automatic responders, such as vacation notices, from answering (RFC 3834).
                "Auto-Submitted: auto-generated",
                "Content-Language: \(written.language)",
                "MIME-Version: 1.0",
                "Content-Type: multipart/alternative; boundary=\"\(boundary)\"",
                "",
            ]
            + part("plain", written.text, boundary)
            + part("html", written.html, boundary)
            + ["--\(boundary)--", ""]
        return ComposedMail(
            sender: sender.address,
            recipient: recipient,
            message: lines.joined(separator: "\r\n")
        )
    }

    /// Returns the texts of a mail, with values in place of the template's variables; nil if there are no templates for
    /// the mail.
    func written(_ mail: Mail, locale: String?, application: String) -> WrittenMail? {
        guard let (texts, language) = templates.texts(of: mail.template, locale: locale, otherwise: language) else {
            return nil
        }
        let values = mail.values.merging(["application": application]) { value, _ in value }
        return WrittenMail(
            language: language,
            subject: texts.subject.filled(with: values, escape: Escaping.plain),
            text: texts.text.filled(with: values, escape: Escaping.plain),
            html: texts.html.filled(with: values, escape: Escaping.html)
        )
    }

    private func part(_ subtype: String, _ text: String, _ boundary: String) -> [String] {
        let body = MailBody(text)
        return [
            "--\(boundary)", "Content-Type: text/\(subtype); charset=utf-8",
            "Content-Transfer-Encoding: \(body.encoding)", "",
        ] + body.lines
    }
}
