import Curl
import Logging
import Mailing

/// How this deployment sends mails.
struct MailConfiguration: Sendable {
    /// What becomes of them.
    enum Destination: Sendable {
        case server(SMTPServer)
        case folder(MailFolder)
    }

    var destination: Destination
    var templates: MailTemplates
    var sender: Mailbox
    /// For readers whose language has no templates.
    var language: String
    var limits: MailLimits
    var curl: CurlConfiguration

    /// After what time a mail whose sending was never finished is given up.
    var lostAfter: Duration { max(.seconds(600), limits.call * 2) }

    /// The mailer; connections to a mail server are on a thread of their own.
    func mailer() throws(CurlError) -> Mailer {
        let carrier: MailCarrier =
            switch destination {
            case .server(let server):
                .server(server, client: try CurlClient(configuration: curl), limits: limits)
            case .folder(let folder): .folder(folder)
            }
        return Mailer(templates: templates, sender: sender, language: language, carrier: carrier)
    }

    /// Says at start what becomes of mails, unless it is what everybody expects.
    static func announce(_ mail: MailConfiguration?, to logger: Logger) {
        switch mail?.destination {
        case .server(let server): logger.info("mails", metadata: ["server": "\(server)"])
        case .folder(let folder):
            logger.notice("mails are written into a folder, not sent", metadata: ["folder": "\(folder.path)"])
        case nil:
            logger.notice("mails are off, and with them resets and confirmations: FEDERATION_SMTP_URL is not set")
        }
    }
}
