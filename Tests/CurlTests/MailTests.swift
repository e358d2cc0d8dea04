import Curl
import Foundation
import Testing
import TestSupport

@Suite("Mails")
struct MailTests {
    @Test("A mail arrives as it was, with its sender, its one recipient and the sender's domain as our name")
    func arrives() async throws {
        let server = try await MailServer.start()
        let reply = try await CurlClient().send(mail(text: ".dots\r\n..\r\n.\r\nend"), by: server.plain())
        #expect(reply.code == 250)
        #expect(reply.enhancedCode == "2.0.0")
        #expect(reply.words == "2.0.0 OK: queued")
        #expect("\(reply)" == "250 2.0.0")
        // The server prints the mail at the time of its response.
        let first = try await TestSupport.eventually("the mail is seen") { try server.mails.first }
        try await server.process.kill()
        #expect(try server.mails.count == 1)
        #expect(first.from == "sender@shop.example")
        #expect(first.to == ["ann@example.com"])
        #expect(first.client == "shop.example")
        #expect(first.content == "Subject: test\r\n\r\n.dots\r\n..\r\n.\r\nend\r\n")
    }

    @Test(
        "With STARTTLS or TLS it goes out encrypted, behind a login",
        arguments: [MailServer.Security.starttls, .tls]
    )
    func encrypted(_ security: MailServer.Security) async throws {
        let certificates = try await Certificates.make()
        let server = try await MailServer.start(
            security,
            certificate: certificates.path("good"),
            login: ("u@x", "p:/@%")
        )
        let client = try CurlClient(configuration: CurlConfiguration(caFile: certificates.authority))
        let scheme = security == .tls ? "smtps" : "smtp"
        let place = try SMTPServer(url: "\(scheme)://u%40x:p%3A%2F%40%25@localhost:\(server.port)")
        #expect("\(place)" == "\(scheme)://localhost:\(server.port)")
        _ = try await client.send(mail(), by: place)
        let wrong = try SMTPServer(url: "\(scheme)://u%40x:wrong@localhost:\(server.port)")
        guard case .refused(let reply) = await client.failure(of: try mail(), by: wrong) else {
            Issue.record("a wrong password is a refusal of us, not of the mail")
            return
        }
        #expect(reply.code == 535)
        let seen = try server.mails
        try await server.process.kill()
        #expect(seen.map(\.tls) == [true])
        #expect(seen.map(\.user) == ["u@x"])
    }

    @Test(
        "T-95: a server that offers no STARTTLS, or not itself, gets nothing",
        arguments: ["none", "self-signed", "expired", "wrong-host", "unknown-issuer"]
    )
    func stripped(_ certificate: String) async throws {
        let certificates = try await Certificates.make()
        let server =
            certificate == "none"
            ? try await MailServer.start()
            : try await MailServer.start(.starttls, certificate: certificates.path(certificate))
        let client = try CurlClient(configuration: CurlConfiguration(caFile: certificates.authority))
        let place = try SMTPServer(url: "smtp://user:password@localhost:\(server.port)")
        guard case .notSent(.tls) = await client.failure(of: try mail(), by: place) else {
            Issue.record("TLS is required")
            return
        }
        #expect(try server.mails.isEmpty)
        try await server.process.kill()
    }

    @Test(
        "A no to the mail is told from a no to us, by its code and without its words",
        arguments: [
            ("refused-ann@example.com", 550, "5.1.1"), ("busy-ann@example.com", 450, "4.2.1"),
            ("rejected-ann@example.com", 554, "5.6.0"), ("later-ann@example.com", 451, "4.3.0"),
        ]
    )
    func refused(recipient: String, code: Int, enhanced: String) async throws {
        let server = try await MailServer.start()
        let failure = await (try CurlClient()).failure(of: try mail(to: recipient), by: try server.plain())
        guard case .mailRefused(let reply) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(reply.code == code)
        #expect(reply.enhancedCode == enhanced)
        #expect(!"\(SMTPFailure.mailRefused(reply))".contains("ann"))
        #expect(!String(reflecting: SMTPFailure.mailRefused(reply)).contains("example.com"))
        let outcomes = try server.mails.map(\.outcome)
        #expect(!outcomes.contains(nil))
        try await server.process.kill()
    }

    @Test("A mail that the server had whole and did not answer may have arrived", arguments: ["dropped-", "silent-"])
    func uncertain(_ prefix: String) async throws {
        let server = try await MailServer.start()
        // Long enough for the server to accept the mail even while other tests use the processors.
        let limited = try mail(to: prefix + "ann@example.com", timeout: .seconds(6))
        let start = ContinuousClock.now
        let failure = await (try CurlClient()).failure(of: limited, by: try server.plain())
        guard case .uncertain = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(ContinuousClock.now - start < .seconds(20))
        // The server's output may reach this process after the connection has broken.
        #expect(await eventually { (try? server.mails.count) == 1 })
        try await server.process.kill()
    }

    @Test("A connection that is refused, breaks, hangs or speaks no SMTP before the content brings nothing across")
    func notSent() async throws {
        let client = try CurlClient()
        let nobody = try SMTPServer(url: "smtp://127.0.0.1:\(try ScriptedServer.freePort())?starttls=off")
        guard case .notSent(.connect) = await client.failure(of: try mail(), by: nobody) else {
            Issue.record("nobody listens")
            return
        }
        let scripts: [(String, ScriptedServer.Script)] = [
            ("closes", { _ in }),
            ("hangs", { $0.waitForClose() }),
            ("greets and closes", { $0.write("220 mail.test\r\n") }),
            (
                "greets and hangs",
                {
                    $0.write("220 mail.test\r\n"); $0.waitForClose()
                }
            ),
            ("is another", { $0.write("HTTP/1.1 400 Bad Request\r\n\r\n") }),
            (
                "breaks at DATA",
                { connection in
                    connection.write("220 mail.test\r\n")
                    for reply in ["250 mail.test\r\n", "250 OK\r\n", "250 OK\r\n"] {
                        _ = connection.read(atMost: 4096)
                        connection.write(reply)
                    }
                    _ = connection.read(atMost: 4096)
                }
            ),
        ]
        for (name, script) in scripts {
            let server = try ScriptedServer(script)
            let place = try SMTPServer(url: "smtp://127.0.0.1:\(server.port)?starttls=off")
            let limited = try mail(timeout: .seconds(1), connectTimeout: .milliseconds(500))
            let failure = await client.failure(of: limited, by: place)
            guard case .notSent = failure else {
                Issue.record("\(name): \(String(describing: failure))")
                continue
            }
        }
    }

    @Test("A greeting that sends us away is no refusal of the mail")
    func turnedAway() async throws {
        let server = try ScriptedServer {
            $0.write("554 5.7.1 not from there\r\n"); $0.waitForClose()
        }
        let place = try SMTPServer(url: "smtp://127.0.0.1:\(server.port)?starttls=off")
        let failure = await (try CurlClient()).failure(of: try mail(), by: place)
        guard case .refused(let reply) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(reply.code == 554)
    }

    @Test("A server that never says goodbye holds the others up for a second at most")
    func noGoodbye() async throws {
        let server = try await MailServer.start()
        let start = ContinuousClock.now
        _ = try await CurlClient().send(mail(from: "stays-with@shop.example"), by: server.plain())
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(try server.mails.count == 1)
        try await server.process.kill()
    }

    @Test("Addresses and contents that would say more to a server than they should are refused")
    func injection() throws {
        for address in [
            "", "@", "a@", "@b", "ann", "a b@c.d", "a@b>\r\nRCPT TO:<c@d", "a@b\n", "<a@b>", "a@b,c@d", "\"a\"@b",
            "ä@b.c",
            "a@b/c", "a@[127.0.0.1]", "a@b@c", "a\0@b", String(repeating: "a", count: 300) + "@b",
        ] {
            #expect(throws: CurlError.invalidRequest(.mailAddress), "\(address)") { try mail(to: address) }
            #expect(throws: CurlError.invalidRequest(.mailAddress), "\(address)") { try mail(from: address) }
        }
        for content in ["", "a", "a\n", "a\r", "a\n.\n\r\n", "a\r\r\n", "a\n.\r\nMAIL FROM:<x@y>\r\n", "a\0\r\n"] {
            #expect(throws: CurlError.invalidRequest(.mailContent), "\(content)") {
                try SMTPMail(
                    sender: "a@b",
                    recipient: "c@d",
                    content: Array(content.utf8),
                    timeout: .seconds(1),
                    connectTimeout: .seconds(1)
                )
            }
        }
    }

    @Test("Servers that would be spoken to in the clear, or are no mail servers, are refused without repeating the URL")
    func urls() {
        for url in [
            "", "mail.example.com", "https://mail.example.com", "smtp://", "smtp://mail.example.com?starttls=off",
            "smtp://10.0.0.1:25?starttls=off", "smtps://localhost?starttls=off", "smtp://localhost?starttls=on",
            "smtp://canary@mail.example.com", "smtp://u:canary@mail.example.com/path",
            "smtp://u:canary%0d@mail.example.com",
        ] {
            do {
                _ = try SMTPServer(url: url)
                Issue.record("\(url)")
            } catch {
                #expect(!"\(error)".contains("canary"))
            }
        }
        #expect((try? SMTPServer(url: "smtp://u:p@mail.example.com").description) == "smtp://mail.example.com:587")
        #expect((try? SMTPServer(url: "smtps://mail.example.com/").description) == "smtps://mail.example.com:465")
    }
}

private func mail(
    from sender: String = "sender@shop.example",
    to recipient: String = "ann@example.com",
    text: String = "hello",
    timeout: Duration = .seconds(20),
    connectTimeout: Duration = .seconds(10)
) throws -> SMTPMail {
    try SMTPMail(
        sender: sender,
        recipient: recipient,
        content: Array("Subject: test\r\n\r\n\(text)\r\n".utf8),
        timeout: timeout,
        connectTimeout: connectTimeout
    )
}

extension MailServer {
    fileprivate func plain() throws -> SMTPServer { try SMTPServer(url: plainURL) }
}

extension CurlClient {
    fileprivate func failure(of mail: SMTPMail, by server: SMTPServer) async -> SMTPFailure? {
        do throws(SMTPFailure) {
            _ = try await send(mail, by: server)
            return nil
        } catch {
            return error
        }
    }
}
