import FoundationEssentials
import Testing
import TestSupport

@testable import ServerTestSupport

@Suite("federation mail test")
struct MailCommandTests {
    private func send(to address: String, by server: MailServer, locale: String? = nil) async throws -> ManagedProcess {
        try await runFederation(
            ["mail", "test", "--to", address] + (locale.map { ["--locale", $0] } ?? []),
            environment: [
                "FEDERATION_SMTP_URL": server.plainURL, "FEDERATION_MAIL_FROM": "The Shop <no-reply@shop.example>",
                "FEDERATION_SMTP_CALL_MILLISECONDS": "2000",
            ]
        )
    }

    @Test("sends one mail and shows what the server says of it")
    func answers() async throws {
        let server = try await MailServer.start()
        let sent = try await send(to: "ann@example.com", by: server, locale: "de_AT")
        #expect(sent.exitStatus == .exited(0))
        #expect(sent.standardOutput == "The mail is accepted: 250 2.0.0 OK: queued\n")
        let mail = try #require(try server.mails.first)
        #expect(mail.from == "no-reply@shop.example")
        #expect(mail.content.contains("From: \"The Shop\" <no-reply@shop.example>\r\n"))
        #expect(mail.content.contains("Content-Language: de\r\n"))

        let refused = try await send(to: "refused-ann@example.com", by: server)
        #expect(refused.exitStatus == .exited(65))
        #expect(refused.standardError.contains("550 5.1.1 <refused-ann@example.com> is unknown here"))
        let busy = try await send(to: "busy-ann@example.com", by: server)
        #expect(busy.exitStatus == .exited(69))
        let silent = try await send(to: "silent-ann@example.com", by: server)
        #expect(silent.exitStatus == .exited(69))
        #expect(silent.standardError.contains("no answer to the mail"))
        try await server.process.kill()
        let away = try await send(to: "ann@example.com", by: server)
        #expect(away.exitStatus == .exited(69))
        #expect(away.standardError.contains("could not connect"))
    }

    @Test("in development it writes the mail into the folder, and says so")
    func folder() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let written = try await runFederation(
            ["mail", "test", "--to", "ann@example.com"],
            environment: ["FEDERATION_MODE": "development", "FEDERATION_MAIL_FOLDER": folder]
        )
        #expect(written.exitStatus == .exited(0), "\(written.standardError)")
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
        #expect(written.standardOutput == "The mail is accepted: written to \(name)\n")
    }

    @Test("what is no address is a wrong call, and no mail server a wrong configuration")
    func refusals() async throws {
        let wrong = try await runFederation(["mail", "test", "--to", "ann"], environment: [:])
        #expect(wrong.exitStatus == .exited(64))
        let none = try await runFederation(["mail", "test", "--to", "ann@example.com"], environment: [:])
        #expect(none.exitStatus == .exited(78))
        #expect(none.standardError.contains("FEDERATION_SMTP_URL"))
    }

    @Test("every problem of the configuration of mails is said at once, and no value repeated")
    func problems() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("{{canary}}".utf8).write(to: folder.appending(path: "test.en.txt"))
        let cases: [([String: String], [String])] = [
            (
                [
                    "FEDERATION_SMTP_URL": "smtp://user:canary-password@mail.example.com?starttls=off",
                    "FEDERATION_MAIL_FROM": "canary", "FEDERATION_MAIL_TEMPLATES": folder.path,
                    "FEDERATION_SMTP_CALL_MILLISECONDS": "0",
                ],
                [
                    "SMTP_URL", "MAIL_FROM", "SMTP_CALL_MILLISECONDS",
                    "MAIL_TEMPLATES has a problem: test.en.txt:1: there is no {{canary}} here;",
                ]
            ),
            (["FEDERATION_SMTP_URL": "smtp://canary-password@mail.example.com"], ["SMTP_URL", "MAIL_FROM"]),
            (["FEDERATION_MAIL_LANGUAGE": "fr"], ["MAIL_LANGUAGE"]),
            (["FEDERATION_MAIL_FOLDER": "/tmp/x"], ["MAIL_FOLDER"]),
            (["FEDERATION_MAIL_TEMPLATES": "/nonexistent"], ["MAIL_TEMPLATES"]),
            (
                [
                    "FEDERATION_MODE": "development", "FEDERATION_MAIL_FOLDER": "/tmp/x",
                    "FEDERATION_SMTP_URL": "smtps://mail.example.com", "FEDERATION_MAIL_FROM": "a@b.c",
                ], ["MAIL_FOLDER"]
            ),
        ]
        for (environment, names) in cases {
            let process = try await runFederation(["mail", "test", "--to", "a@b.c"], environment: environment)
            #expect(process.exitStatus == .exited(78), "\(environment)")
            for name in names {
                #expect(process.standardError.contains("FEDERATION_\(name) "), "\(name) in \(process.standardError)")
            }
            #expect(!process.standardError.contains("canary-password"), "\(process.standardError)")
        }
    }

    @Test(
        "the service says at its start what becomes of mails",
        arguments: [
            (["FEDERATION_MODE": "production"], "mails are off"),
            (["FEDERATION_MODE": "development"], "mails are written into a folder"),
            (
                [
                    "FEDERATION_SMTP_URL": "smtps://user:canary-password@mail.example.com",
                    "FEDERATION_MAIL_FROM": "a@b.c",
                ],
                "smtps://mail.example.com:465"
            ),
        ]
    )
    func start(environment: [String: String], line: String) async throws {
        try await withDatabase(.empty) { database in
            let base = Deployment.environment(database: database)
            let migrated = try await runFederation(["migrate"], environment: base)
            #expect(migrated.exitStatus == .exited(0))
            let service = try await ServiceProcess.start(environment: base.merging(environment) { _, new in new })
            #expect(service.process.standardOutput.contains(line))
            #expect(try await service.process.terminate() == .exited(0))
            #expect(!service.process.standardOutput.contains("canary-password"))
        }
    }
}
