import Curl
import FoundationEssentials
import Mailing
import Secrets

extension ConfigurationReader {
    /// Where development puts mails when nothing else is said.
    static let developmentMailFolder = "/tmp/federation-mails"

    /// How mails are sent; nil when they are not.
    mutating func mail(mode: ServerConfiguration.Mode?) -> MailConfiguration? {
        let url = text("smtp.url", isSecret: true)
        let folder = text("mail.folder")
        let server = url.flatMap { smtpServer($0) }
        let sender = mailSender(isNeeded: url != nil)
        let templates = mailTemplates()
        let language = mailLanguage(of: templates)
        let authorities = text("smtp.ca.file")
        let limits = MailLimits(
            call: milliseconds("smtp.call", default: 120_000),
            connect: milliseconds("smtp.connect", default: 15_000)
        )
        let destination: MailConfiguration.Destination
        switch (server, folder, mode) {
        case (let server?, nil, _): destination = .server(server)
        case (_, _?, _) where url != nil:
            problem("mail.folder", "and FEDERATION_SMTP_URL are both set; set one of them")
            return nil
        case (nil, _?, .production):
            problem(
                "mail.folder",
                "is for FEDERATION_MODE=development: mails hold links that let people in, and would lie there to be read"
            )
            return nil
        case (nil, _, .development) where url == nil:
            let mails = MailFolder(path: folder ?? Self.developmentMailFolder, clock: .system, random: .system)
            guard mails.isWritable else {
                problem("mail.folder", "names a folder that mails cannot be written to: \(mails.path)")
                return nil
            }
            destination = .folder(mails)
        default: return nil
        }
        guard let templates, let language, let sender else { return nil }
        return MailConfiguration(
            destination: destination,
            templates: templates,
            sender: sender,
            language: language,
            limits: limits,
            curl: CurlConfiguration(maxInFlight: 64, caFile: authorities ?? text("ca.file"))
        )
    }

    private mutating func smtpServer(_ url: String) -> SMTPServer? {
        do { return try SMTPServer(url: url) } catch {
            problem("smtp.url", "\(error); it looks like smtp://user:password@mail.example.com:587 or smtps://…:465")
            return nil
        }
    }

    private mutating func mailSender(isNeeded: Bool) -> Mailbox? {
        guard let text = text("mail.from") else {
            if isNeeded {
                problem("mail.from", "is not set; mails need a sender, like: The Shop <no-reply@shop.example>")
            }
            return try? Mailbox("no-reply@localhost")
        }
        do { return try Mailbox(text) } catch {
            problem("mail.from", "\(error)")
            return nil
        }
    }

    private mutating func mailTemplates() -> MailTemplates? {
        var files: [String: String] = [:]
        if let folder = text("mail.templates") {
            guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
                problem("mail.templates", "names a folder that cannot be read: \(folder)")
                return nil
            }
            for name in names where !name.hasPrefix(".") && name != "README.md" {
                guard let file = try? Data(contentsOf: URL(filePath: folder).appending(path: name)),
                    file.count <= MailTemplates.maxFileBytes, let text = String(validating: file, as: UTF8.self)
                else {
                    problem("mail.templates", "has a file that is no UTF-8 text of at most 64 KiB: \(name)")
                    continue
                }
                files[name] = text
            }
        }
        do { return try MailTemplates(files: files) } catch {
            for text in error.texts { problem("mail.templates", "has a problem: \(text)") }
            return nil
        }
    }

    /// The language for readers whose own has no templates.
    private mutating func mailLanguage(of templates: MailTemplates?) -> String? {
        let language = text("mail.language") ?? "en"
        guard let templates else { return nil }
        guard templates.isComplete(in: language) else {
            let languages = templates.languages.joined(separator: ", ")
            problem("mail.language", "must be a language that all templates are there in: \(languages)")
            return nil
        }
        return language
    }
}
