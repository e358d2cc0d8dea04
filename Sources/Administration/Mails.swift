import Description
package import Domain
package import Encodings
import FoundationEssentials
import Messaging
import Store

/// Lists the templates of mails, shows mails with example values, and sends a test mail, for operators.
package struct MailAdministration: Sendable {
    let store: Store
    /// The mailer; nil when the deployment sends no mails.
    let mailer: Mailer?
    let clock: WallClock

    /// Returns which mails the deployment can send: `{"sends", "languages": [code], "templates": [name]}`.
    ///
    /// `sends` tells whether the deployment sends mails. `languages` are the languages in which every mail is written.
    package func list() -> JSONValue {
        .object([
            "sends": .bool(mailer != nil),
            "languages": .array((mailer?.languages ?? []).map(JSONValue.string)),
            "templates": .array(Mail.Template.allCases.map { .string($0.rawValue) }),
        ])
    }

    /// Sends the mail `test` immediately, without the queue, and returns the mail server's response.
    ///
    /// - Parameters:
    ///   - document: `{"to": address, "locale"?: text}`.
    ///   - actor: The operator, for the audit log.
    /// - Returns: `{"outcome": "accepted" | "postponed" | "refused" | "uncertain", "problem", "answer"}`. `answer` is
    ///   the mail server's own text, or null without a response.
    /// - Throws: `document_invalid`, `mail_off`; `store_unavailable` and similar errors. After an error, no mail is
    ///   sent.
    package func sendTest(_ document: JSONValue, by actor: ChangeAuthor) async throws(Failure) -> JSONValue {
        let (recipient, locale) = try Self.test(document)
        guard let mailer else { throw .mailOff }
        let written = mailer.compose(
            .test,
            to: recipient,
            locale: locale,
            application: mailer.senderName,
            id: UUID(),
            now: clock.seconds
        )
        guard let mail = written?.mail else {
            throw Failure(.internal, "The service could not compose a mail.", cause: "no template test")
        }
        try await store.recordTestMail(by: actor)
        let (outcome, problem, answer): (String, String?, String?) =
            switch await mailer.send(mail) {
            case .accepted(let answer): ("accepted", nil, answer)
            case .postponed(let problem, let answer): ("postponed", problem, answer)
            case .refused(let problem, let answer): ("refused", problem, answer)
            case .uncertain(let problem): ("uncertain", problem, nil)
            }
        return .object([
            "outcome": .string(outcome), "problem": problem.map(JSONValue.string) ?? .null,
            "answer": answer.map(JSONValue.string) ?? .null,
        ])
    }

    private static func test(_ document: JSONValue) throws(Failure) -> (MailAddress, locale: String?) {
        var problems = DocumentProblems()
        var (recipient, locale): (MailAddress?, String?)
        guard let members = document.object?.members else {
            throw Failure(.documentInvalid, "The body must be an object, such as {\"to\": \"ann@example.com\"}.")
        }
        for member in members {
            let place = JSONPointer() / member.key
            switch member.key {
            case "to":
                recipient = member.value.string.flatMap { MailAddress($0) }
                if recipient == nil { problems.add(place, "must be an e-mail address") }
            case "locale":
                locale = member.value.string
                if locale == nil { problems.add(place, "must be a language, such as de or de_AT") }
            default: problems.add(unknown: member.key, at: place, among: ["to", "locale"])
            }
        }
        if recipient == nil, problems.isEmpty {
            problems.add(JSONPointer() / "to", "is missing: the address that the mail goes to")
        }
        guard problems.isEmpty, let recipient else { throw problems.failure }
        return (recipient, locale)
    }

    /// Returns a mail with example values.
    ///
    /// - Parameters:
    ///   - name: The template.
    ///   - language: The language. For nil, and for a language without templates, the deployment's default.
    /// - Returns: `{"template", "language", "subject", "text", "html"}`.
    /// - Throws: `not_found`, `mail_off`.
    package func example(of name: String, language: String?) throws(Failure) -> JSONValue {
        guard let template = Mail.Template(rawValue: name) else {
            throw Failure(.notFound, "This mail does not exist. GET mails lists all mails.")
        }
        guard let mailer else { throw .mailOff }
        guard let mail = mailer.example(of: template, locale: language) else {
            throw Failure(.internal, "The service could not compose a mail.", cause: "no template \(name)")
        }
        return .object([
            "template": .string(name), "language": .string(mail.language), "subject": .string(mail.subject),
            "text": .string(mail.text), "html": .string(mail.html),
        ])
    }
}
