package import Curl
import FoundationEssentials
package import Vocabulary

/// How mails get away.
package enum MailCarrier: Sendable {
    /// To a mail server, which delivers them.
    case server(SMTPServer, client: CurlClient, limits: MailLimits)
    /// Into a folder, a file `….eml` each, for development.
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

/// How long a mail server may take.
package struct MailLimits: Sendable {
    /// For a mail in all.
    ///
    /// Generous: who stops waiting while the server examines a mail never knows whether it was taken.
    package var call: Duration
    /// To the server's first word.
    package var connect: Duration

    package init(call: Duration = .seconds(120), connect: Duration = .seconds(15)) {
        self.call = call
        self.connect = connect
    }
}

extension MailOutcome {
    /// What a failure means for the mail.
    fileprivate init(_ failure: SMTPFailure) {
        self =
            switch failure {
            case .notSent: .postponed(problem: "\(failure)", answer: nil)
            case .refused(let reply): .postponed(problem: "\(failure)", answer: reply.text)
            // 4xx (RFC 5321 §4.2.1), and where the server misses a login or TLS, which the operator can mend (RFC 4954
            // §6).
            case .mailRefused(let reply) where reply.code < 500 || [530, 534, 535, 538].contains(reply.code):
                .postponed(problem: "\(failure)", answer: reply.text)
            case .mailRefused(let reply): .refused(problem: "\(failure)", answer: reply.text)
            case .uncertain: .uncertain(problem: "\(failure)")
            }
    }
}

extension SMTPReply {
    /// Code and words, for the person at a terminal.
    fileprivate var text: String { "\(code) \(words)" }
}

/// A folder in which mails end up instead of being sent: what they say is there for whoever can read it.
package struct MailFolder: Sendable {
    package let path: String
    let clock: WallClock
    let random: RandomSource

    package init(path: String, clock: WallClock, random: RandomSource) {
        self.path = path
        self.clock = clock
        self.random = random
    }

    /// Whether mails can be written there, or the folder be made; nothing is made to find out.
    package var isWritable: Bool {
        var place = path
        while true {
            if let facts = try? FileManager.default.attributesOfItem(atPath: place) {
                // A symbolic link has a type of its own; what it leads to is tried with the first mail.
                return facts[.type] as? FileAttributeType != .typeRegular
                    && FileManager.default.isWritableFile(atPath: place)
            }
            guard let slash = place.lastIndex(of: "/"), place != "/" else { return true }
            place = slash == place.startIndex ? "/" : String(place[..<slash])
        }
    }

    /// Writes a mail as a file of its own, whole or not at all; the names are in the order of time.
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
