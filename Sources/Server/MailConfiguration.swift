import Curl
import Logging
import Messaging

/// How the service sends mails.
struct MailConfiguration: Sendable {
    /// Where the service sends mails.
    enum Destination: Sendable {
        case server(SMTPServer)
        case folder(MailFolder)
    }

    var destination: Destination
    var templates: MailTemplates
    var sender: Mailbox
    /// The language for users whose own language has no templates.
    var language: String
    var limits: MailLimits
    var curl: CurlConfiguration

    /// The time after which the service considers an unfinished attempt to send a mail as failed.
    var lostAfter: Duration { max(.seconds(600), limits.call * 2) }

    /// Creates the mailer, whose connections to the mail server run on a separate thread.
    func mailer() throws(CurlError) -> Mailer {
        let carrier: MailCarrier =
            switch destination {
            case .server(let server):
                .server(server, client: try CurlClient(configuration: curl), limits: limits)
            case .folder(let folder): .folder(folder)
            }
        return Mailer(templates: templates, sender: sender, language: language, carrier: carrier)
    }

    /// Logs at start where mails go, or that they are off.
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
