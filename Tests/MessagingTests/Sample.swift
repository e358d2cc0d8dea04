import Domain
import FoundationEssentials
import Messaging
import Testing
import TestSupport

/// A mail parsed by Python, whose parser is independent of the code under test.
struct ReadMail: Decodable {
    let headers: [[String]]
    let defects: [String]
    let text: String
    let html: String

    func header(_ name: String) -> String? { headers.first { $0.first == name }?.last }
}

enum Sample {
    static let link = Secret("https://users.example.com/x?token=a&b=c")

    /// Returns the message of a mail.
    static func message(
        of mail: Mail,
        to address: String = "ann@example.com",
        locale: String? = nil,
        application: String = "Demo",
        sender: String = "no-reply@shop.example",
        templates: MailTemplates? = nil
    ) throws -> String {
        let mailer = Mailer(
            templates: try templates ?? .shipped(),
            sender: try Mailbox(sender),
            language: "en",
            carrier: .folder(MailFolder(path: "/nonexistent", clock: WallClock { 0 }, random: RandomSource { _ in [] }))
        )
        let composed = mailer.compose(
            mail,
            to: try #require(MailAddress(address)),
            locale: locale,
            application: application,
            id: UUID(),
            now: 1_795_325_460
        )
        return try #require(composed).mail.message
    }

    /// Returns the plain text of a mail.
    static func text(of mail: Mail, locale: String? = nil, templates: MailTemplates? = nil) async throws -> String {
        try await read(message(of: mail, locale: locale, templates: templates)).text
    }

    static func parsed(_ mail: Mail) async throws -> ReadMail { try await read(message(of: mail)) }

    /// Parses a message as a mail program does.
    static func read(_ message: String) async throws -> ReadMail {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).eml")
        try Data(message.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = try await run("python3", ["-c", reader, file.path], environment: [:], within: .seconds(30))
        #expect(process.exitStatus == .exited(0), "\(process.standardError)")
        return try JSONDecoder().decode(ReadMail.self, from: Data(process.standardOutput.utf8))
    }

    private static let reader = #"""
        import email, email.policy, json, sys
        mail = email.message_from_bytes(open(sys.argv[1], "rb").read(), policy=email.policy.default)
        parts = [mail] + list(mail.iter_parts())
        print(json.dumps({
            "headers": [[name, str(value)] for name, value in mail.items()],
            "defects": [str(d) for p in parts for d in p.defects]
                + [str(d) for p in parts for v in p.values() for d in v.defects],
            "text": mail.get_body(("plain",)).get_content().replace("\r\n", "\n"),
            "html": mail.get_body(("html",)).get_content().replace("\r\n", "\n"),
        }))
        """#
}
