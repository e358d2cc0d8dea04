import ArgumentParser
import FoundationEssentials
import Messaging

struct MailCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mail",
        abstract: "The mails that the service sends.",
        subcommands: [Test.self]
    )

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a test mail, and show the response of the mail server.",
            discussion: """
                Uses only the mail variables (FEDERATION_SMTP_URL, FEDERATION_MAIL_FROM, …), without the database and \
                the queue. An accepted mail may still not arrive: check the mailbox and its spam folder.

                Example:
                  federation mail test --to ann@example.com --locale de
                """
        )

        @Option(help: ArgumentHelp("The address.", valueName: "address"))
        var to: String

        @Option(help: ArgumentHelp("The language of the mail, such as de or de_AT.", valueName: "locale"))
        var locale: String?

        func validate() throws {
            do { _ = try Mailbox(to) } catch { throw ValidationError("--to \(error).") }
        }

        func run() async throws {
            let configuration: MailConfiguration?
            do { configuration = try ConfigurationReader.readMail() } catch let problems as ConfigurationProblems {
                throw Exit.saying("\(problems)", Exit.configuration)
            }
            guard let configuration else {
                throw Exit.saying(
                    "federation: no mail server is set; set FEDERATION_SMTP_URL and FEDERATION_MAIL_FROM",
                    Exit.configuration
                )
            }
            let mailer: Mailer
            do { mailer = try configuration.mailer() } catch {
                throw Exit.saying("federation: \(error)", Exit.software)
            }
            guard let recipient = try? Mailbox(to).address,
                let (mail, _) = mailer.compose(
                    .test,
                    to: recipient,
                    locale: locale,
                    application: mailer.senderName,
                    id: UUID(),
                    now: Int64(Date().timeIntervalSince1970)
                )
            else { throw Exit.saying("federation: the mail could not be written", Exit.software) }
            switch await mailer.send(mail) {
            case .accepted(let answer): try Terminal.report("The mail is accepted: \(answer)")
            case .postponed(let problem, let answer): throw Self.exit(problem, answer, Exit.unavailable)
            case .refused(let problem, let answer): throw Self.exit(problem, answer, Exit.dataError)
            case .uncertain(let problem): throw Self.exit(problem, nil, Exit.unavailable)
            }
        }

        private static func exit(_ problem: String, _ answer: String?, _ code: ExitCode) -> ExitCode {
            Exit.saying("federation: \(problem)" + (answer.map { "\n  the server says: \($0)" } ?? ""), code)
        }
    }
}
