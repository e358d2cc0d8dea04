package import Curl
package import Domain
import FoundationEssentials

/// How the service delivers mails: to an SMTP server or into a folder.
package enum MailCarrier: Sendable {
    /// The service sends each mail to an SMTP server, which relays the mail to the recipient.
    case server(SMTPServer, client: CurlClient, limits: MailLimits)
    /// The service writes each mail to a file in a folder, for development.
    ///
    /// The name of the file ends with `.eml`.
    case folder(MailFolder)

    func carry(_ mail: ComposedMail) async -> MailOutcome {
        switch self {
        case .server(let server, let client, let limits):
            await Self.send(mail, by: server, client: client, limits: limits)
        case .folder(let folder): folder.keep(mail)
        }
    }

    private static func send(
        _ mail: ComposedMail,
        by server: SMTPServer,
        client: CurlClient,
        limits: MailLimits
    ) async -> MailOutcome {
        let content: SMTPMail
        do throws(CurlError) {
            content = try SMTPMail(
                sender: mail.sender.text,
                recipient: mail.recipient.text,
                content: Array(mail.message.utf8),
                timeout: limits.call,
                connectTimeout: limits.connect
            )
        } catch {
            return .refused(problem: "\(error)", answer: nil)
        }
        do throws(SMTPFailure) {
            return .accepted(answer: try await client.send(content, by: server).text)
        } catch {
            return MailOutcome(error)
        }
    }
}

/// The timeouts of requests to a mail server.
package struct MailLimits: Sendable {
    /// The timeout for sending one mail.
    ///
    /// The timeout should be long. If it passes while the server is checking a mail, the service does not know whether
    /// the server has accepted the mail.
    package var call: Duration
    /// The timeout until the server sends its greeting.
    package var connect: Duration

    package init(call: Duration = .seconds(120), connect: Duration = .seconds(15)) {
        self.call = call
        self.connect = connect
    }
}

extension MailOutcome {
    /// Converts a failure of the SMTP exchange to the outcome of sending the mail.
    ///
    /// Only after the outcome `postponed` is the mail sent again later.
    fileprivate init(_ failure: SMTPFailure) {
        self =
            switch failure {
            case .notSent: .postponed(problem: "\(failure)", answer: nil)
            case .refused(let reply): .postponed(problem: "\(failure)", answer: reply.text)
            // 4xx codes are temporary (RFC 5321 §4.2.1). The other codes are those of a server that requires a login or
            // TLS (RFC 4954 §6), which the operator can configure.
            case .mailRefused(let reply) where reply.code < 500 || [530, 534, 535, 538].contains(reply.code):
                .postponed(problem: "\(failure)", answer: reply.text)
            case .mailRefused(let reply): .refused(problem: "\(failure)", answer: reply.text)
            case .uncertain: .uncertain(problem: "\(failure)")
            }
    }
}

extension SMTPReply {
    /// The code and the text of the server's reply, for an operator at a terminal.
    fileprivate var text: String { "\(code) \(words)" }
}

/// A folder into which mails are written instead of being sent to a server.
///
/// Every user of the machine who can read the folder can read the mails.
package struct MailFolder: Sendable {
    package let path: String
    let clock: WallClock
    let random: RandomSource

    package init(path: String, clock: WallClock, random: RandomSource) {
        self.path = path
        self.clock = clock
        self.random = random
    }

    /// Whether the folder is writable or can be created.
    ///
    /// The check itself creates nothing.
    package var isWritable: Bool {
        var place = path
        while true {
            if let facts = try? FileManager.default.attributesOfItem(atPath: place) {
                // A symbolic link has a file type of its own. Whether its target is writable shows when the first mail
                // is written.
                return facts[.type] as? FileAttributeType != .typeRegular
                    && FileManager.default.isWritableFile(atPath: place)
            }
            guard let slash = place.lastIndex(of: "/"), place != "/" else { return true }
            place = slash == place.startIndex ? "/" : String(place[..<slash])
        }
    }

    /// Writes a mail atomically to a new file in the folder.
    ///
    /// The name of the file begins with the time. So the alphabetical order of the files is the order of the mails.
    func keep(_ mail: ComposedMail) -> MailOutcome {
        let name = "\(clock.milliseconds)-\(random.objectID().description.prefix(8)).eml"
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            try Data(mail.message.utf8).write(to: URL(filePath: path).appending(path: name), options: .atomic)
        } catch {
            return .postponed(problem: "the folder of mails cannot be written to", answer: nil)
        }
        return .accepted(answer: "written to \(name)")
    }
}
