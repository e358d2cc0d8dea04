import Mailing
import Notifications
package import Vocabulary

/// What mails to people say.
package struct MailAdministration: Sendable {
    /// Nil when the deployment sends no mails.
    let mailer: Mailer?

    /// `{"sends", "languages": [code], "templates": [name]}`: whether mails are sent at all, in which languages every
    /// one of them is written, and which there are.
    package func list() -> JSONValue {
        .object([
            "sends": .bool(mailer != nil),
            "languages": .array((mailer?.languages ?? []).map(JSONValue.string)),
            "templates": .array(Mail.Template.allCases.map { .string($0.rawValue) }),
        ])
    }

    /// A mail about somebody who is made up.
    ///
    /// - Parameters:
    ///   - name: The template.
    ///   - language: In which language; the deployment's usual one for nil, and for one that has no templates.
    /// - Returns: `{"template", "language", "subject", "text", "html"}`.
    /// - Throws: `not_found`, `mail_off`.
    package func example(of name: String, language: String?) throws(Failure) -> JSONValue {
        guard let template = Mail.Template(rawValue: name) else {
            throw Failure(.notFound, "There is no such mail. GET mails lists them.")
        }
        guard let mailer else { throw .mailOff }
        guard let mail = mailer.example(of: template, locale: language) else {
            throw Failure(.internal, "The service could not write a mail.", cause: "no template \(name)")
        }
        return .object([
            "template": .string(name), "language": .string(mail.language), "subject": .string(mail.subject),
            "text": .string(mail.text), "html": .string(mail.html),
        ])
    }
}
