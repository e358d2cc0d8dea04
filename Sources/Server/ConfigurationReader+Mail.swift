import Curl
import Domain
import FoundationEssentials
import Messaging
import Providers
import Secrets

extension ConfigurationReader {
    /// The default folder to which the service writes mails during development instead of sending them.
    static let developmentMailFolder = "/tmp/federation-mails"

    /// Reads the configuration for sending mails; nil if mails are off.
    mutating func mail(mode: ServerConfiguration.Mode?) -> MailConfiguration? {
        let hasServer = isSet(MailVariables.server)
        let server = value(MailVariables.server)
        let folder = value(MailVariables.folder)
        let sender = mailSender(isNeeded: hasServer)
        let templates = mailTemplates()
        let language = mailLanguage(of: templates)
        let authorities = value(MailVariables.authorities)
        let limits = MailLimits(call: value(TimeVariables.smtpCall), connect: value(TimeVariables.smtpConnect))
        let destination: MailConfiguration.Destination
        switch (server, folder, mode) {
        case (let server?, nil, _): destination = .server(server)
        case (_, _?, _) where hasServer:
            problem(MailVariables.folder, "and \(MailVariables.server.name) are both set; set only one of them")
            return nil
        case (nil, _?, .production):
            problem(
                MailVariables.folder,
                """
                is only for \(ListeningVariables.mode.name)=development, because mails contain links that give access \
                to accounts; set \(MailVariables.server.name) instead
                """
            )
            return nil
        case (nil, _, .development) where !hasServer:
            let mails = MailFolder(path: folder ?? Self.developmentMailFolder, clock: .system, random: .system)
            guard mails.isWritable else {
                problem(MailVariables.folder, "names a folder in which the service cannot write mails: \(mails.path)")
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
            curl: CurlConfiguration(maxInFlight: 64, caFile: authorities ?? value(ProviderVariables.authorities))
        )
    }

    private mutating func mailSender(isNeeded: Bool) -> Mailbox? {
        guard !isSet(MailVariables.sender) else { return value(MailVariables.sender) }
        if isNeeded {
            problem(
                MailVariables.sender,
                "is not set; set the sender of mails, such as The Shop <no-reply@shop.example>"
            )
        }
        return try? Mailbox("no-reply@localhost")
    }

    private mutating func mailTemplates() -> MailTemplates? {
        var files: [String: String] = [:]
        if let folder = value(MailVariables.templates) {
            guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
                problem(MailVariables.templates, "names a folder that the service cannot read: \(folder)")
                return nil
            }
            for name in names where !name.hasPrefix(".") && name != "README.md" {
                guard let file = try? Data(contentsOf: URL(filePath: folder).appending(path: name)),
                    file.count <= MailTemplates.maxFileBytes, let text = String(validating: file, as: UTF8.self)
                else {
                    problem(MailVariables.templates, "has a file that is not UTF-8 text of at most 64 KiB: \(name)")
                    continue
                }
                files[name] = text
            }
        }
        do { return try MailTemplates(files: files) } catch {
            for text in error.texts { problem(MailVariables.templates, "has a problem: \(text)") }
            return nil
        }
    }

    /// Reads the language for users whose own language has no templates.
    private mutating func mailLanguage(of templates: MailTemplates?) -> String? {
        let language = value(MailVariables.language)
        guard let templates else { return nil }
        guard templates.isComplete(in: language) else {
            let languages = templates.languages.joined(separator: ", ")
            let missing = templates.missing(in: language).prefix(5).joined(separator: ", ")
            problem(
                MailVariables.language,
                "must be a language that has all templates (\(languages)); \(language) lacks \(missing)"
            )
            return nil
        }
        return language
    }
}
