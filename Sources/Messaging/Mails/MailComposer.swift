import FoundationEssentials

/// A mail in the form for a server.
package struct ComposedMail: Sendable {
    package let sender: MailAddress
    package let recipient: MailAddress
    /// Headers and body, each line with CRLF at its end.
    package let message: String
}

extension ComposedMail: CustomStringConvertible, CustomReflectable {
    /// A placeholder without addresses and content.
    package var description: String { "a mail" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The texts of a mail, in the language of its templates.
package struct WrittenMail: Sendable {
    package let language: String
    package let subject: String
    package let text: String
    package let html: String
}

/// A composer of mails: headers, and the same text as plain text and HTML (RFC 5322, RFC 2045–2047).
struct MailComposer: Sendable {
    let templates: MailTemplates
    let sender: Mailbox
    /// The language for readers whose own language has no templates.
    let language: String

    /// Composes a mail.
    ///
    /// - Parameters:
    ///   - mail: The subject matter.
    ///   - recipient: The address of the recipient.
    ///   - locale: The locale of the recipient; nil if unknown.
    ///   - application: The name of the application.
    ///   - id: The id of the mail, the same for every attempt to send it, so that servers recognise a second copy.
    ///   - now: Seconds since 1970.
    /// - Returns: The mail; nil without templates for it.
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
                // No vacation notice answers the mail (RFC 3834).
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

    /// Returns the texts of a mail with its values; nil without templates for it.
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
