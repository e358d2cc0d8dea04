import Domain
import FoundationEssentials
@testable import Messaging
import Testing
import TestSupport

@Suite("The message of a mail")
struct MessageTests {
    @Test("a mail program finds nothing to complain of, and the headers that it needs", arguments: ["en", "de"])
    func headers(locale: String) async throws {
        for mail: Mail in [
            .passwordReset(link: Sample.link, minutes: 30, name: "Zoë"), .passwordChanged(name: nil), .test,
            .emailConfirmation(link: Sample.link, hours: 24, name: nil),
            .identityLinked(provider: "Twitter", name: nil),
        ] {
            let read = try await Sample.read(try Sample.message(of: mail, locale: locale, application: "Käse & Söhne"))
            #expect(read.defects == [])
            #expect(read.header("From") == "Käse & Söhne <no-reply@shop.example>")
            #expect(read.header("To") == "<ann@example.com>" || read.header("To") == "ann@example.com")
            #expect(read.header("Date") == "Sun, 22 Nov 2026 05:31:00 +0000")
            #expect(read.header("Auto-Submitted") == "auto-generated")
            #expect(read.header("Content-Language") == locale)
            #expect(read.header("Message-ID")?.hasSuffix("@shop.example>") == true)
            #expect(read.header("Subject")?.contains("Käse & Söhne") == true)
            #expect(read.text.contains("Käse & Söhne"))
            #expect(read.html.contains("Käse &amp; Söhne"))
            #expect(!read.text.contains("{{") && !read.html.contains("{{"))
            if case .passwordReset = mail {
                #expect(read.text.contains("\n\(Sample.link.reveal())\n"))
                #expect(read.text.contains("30"))
            }
        }
    }

    @Test("every line ends with CRLF, is ASCII, and is no longer than servers take")
    func lines() async throws {
        let long = String(repeating: "ü", count: 3000) + " ." + String(repeating: "x", count: 2000) + " \t\ny \n.\n"
        let templates = try MailTemplates(files: [
            "test.en.txt": long, "test.en.html": String(repeating: "y", count: 5000),
        ])
        let message = try Sample.message(of: .test, templates: templates)
        let lines = message.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        #expect(lines.last?.isEmpty == true)
        for line in lines.dropLast() {
            #expect(line.last == UInt8(ascii: "\r"))
            #expect(line.count <= 999)
            #expect(line.dropLast().allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 })
            #expect(![0x20, 0x09].contains(line.dropLast().last), "white space there may get lost")
        }
        let read = try await Sample.read(message)
        #expect(read.defects == [])
        #expect(read.text.contains(long.trimmingNewline))
    }

    @Test("plain ASCII stays readable, so that a developer's tool finds the link in the file")
    func readable() throws {
        let message = try Sample.message(of: .passwordReset(link: Sample.link, minutes: 30, name: nil))
        #expect(message.contains("\r\n\(Sample.link.reveal())\r\n"))
    }

    @Test(
        "nothing in a name of an application, or of a sender, adds a header or ends one",
        arguments: [
            "Demo\r\nBcc: victim@example.com", "Demo\nBcc: x@y", "a\u{2028}b\u{85}c\u{0B}d",
            "\"Demo\" <evil@example.com>, x",
            "=?utf-8?Q?Bcc=3A?=", String(repeating: "long ", count: 200), "\\\"", "", " ", "ä\r\n\r\n<script>",
        ]
    )
    func injection(application: String) async throws {
        let message = try Sample.message(of: .test, application: application)
        let read = try await Sample.read(message)
        #expect(read.defects == [])
        #expect(
            read.headers.compactMap(\.first) == [
                "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "Content-Language", "MIME-Version",
                "Content-Type",
            ]
        )
        #expect(
            read.header("From")?.hasSuffix("<no-reply@shop.example>") == true || application.allSatisfy { $0 == " " }
        )
        #expect(!read.html.contains("<script"))
        // An encoded word in the name appears as written, not decoded.
        if application.hasPrefix("=?") { #expect(read.header("Subject")?.contains(application) == true) }
    }

    @Test(
        "T-39: addresses that two parsers read differently are none",
        arguments: [
            "", "ann", "@example.com", "ann@", "a@b@c", "a b@c.d", " ann@example.com", "ann@example.com ", "a@b,c@d",
            "\"<b>\"@x", "a@b\r\nBcc: c@d", "a@b\0", "<a@b>", "ann@exa mple.com", "ä@example.com", "ann@käse.example",
            "a..b@c.d", ".a@b", "a.@b", "a@b..c", "a@.b", "a@[127.0.0.1]", "a(b)@c", "a@b;c", "a@b:c", "a\\@b",
            String(repeating: "a", count: 65) + "@b.c", "a@" + String(repeating: "b", count: 253), "K@\u{212A}.com",
        ]
    )
    func addresses(_ text: String) {
        #expect(MailAddress(text) == nil)
        // Space around an address, and angle brackets, belong to the header and not to the address.
        let isInHeader = [" ann@example.com", "ann@example.com ", "<a@b>"].contains(text)
        guard !isInHeader else { return }
        #expect(throws: MailboxProblem.self) { try Mailbox(text) }
        #expect(throws: MailboxProblem.self) { try Mailbox("Shop <\(text)>") }
    }

    @Test(
        "an address with a name is read by RFC 5322",
        arguments: [
            ("The Shop <a@b.c>", "The Shop"), (#""Plan, Überschritten" <a@b.c>"#, "Plan, Überschritten"),
            (#""The \"best\" \\ shop" <a@b.c>"#, #"The "best" \ shop"#),
            (#"Ann "B. C." Dee <a@b.c>"#, "Ann B. C. Dee"), ("J. Doe<a@b.c>", "J. Doe"),
            ("  Big   Shop  < a@b.c >  ", "Big Shop"), (#"Shop (of (all) things\)) <a@b.c> (no reply)"#, "Shop"),
            ("<a@b.c>", nil), ("a@b.c", nil), (" a@b.c (The Shop)", nil), ("\"\" <a@b.c>", nil),
            ("Käse <a@b.c>", "Käse"),
        ] as [(String, String?)]
    )
    func mailboxes(text: String, name: String?) throws {
        let mailbox = try Mailbox(text)
        #expect(mailbox.name == name)
        #expect(mailbox.address.text == "a@b.c")
    }

    @Test(
        "what is no mailbox is told by what is wrong with it",
        arguments: [
            ("Shop, The <a@b.c>", MailboxProblem.several), ("a@b.c, d@e.f", .several), ("<a@b.c>, <d@e.f>", .several),
            ("Shops: a@b.c, d@e.f;", .group), ("Shop @ Home <a@b.c>", .special), ("Shop [x] <a@b.c>", .special),
            ("\"Shop <a@b.c>", .openQuote), ("Shop\" <a@b.c>", .openQuote), ("Shop (x <a@b.c>", .openComment),
            ("Shop) <a@b.c>", .openComment), ("Shop <a@b.c> x", .trailingText), ("Shop <a@b.c", .noAddress),
            ("Shop <a b@c.d>", .noAddress), ("Shop <a@(x)b.c>", .noAddress), ("Shop", .noAddress), ("", .noAddress),
            ("\"a\u{202E}b\" <a@b.c>", .control), (String(repeating: "n", count: 201) + " <a@b.c>", .tooLong),
            (String(repeating: "(", count: 2000), .tooLong), ("\"a@b.c\"", .noAddress),
        ]
    )
    func noMailboxes(text: String, problem: MailboxProblem) {
        #expect(throws: problem) { try Mailbox(text) }
    }

    @Test("a quoted name is shown without its quotes, in a header that other programs read")
    func quotedSender() throws {
        let mailbox = try Mailbox(#""Plan, Überschritten" <no-reply@shop.example>"#)
        let header = MailHeader.mailbox(name: try #require(mailbox.name), address: mailbox.address)
        let encoded = Data("Plan, Überschritten".utf8).base64EncodedString()
        #expect(header == "=?utf-8?B?\(encoded)?= <no-reply@shop.example>")
        let plain = try Mailbox(#""Shop, The" <a@b.c>"#)
        #expect(MailHeader.mailbox(name: try #require(plain.name), address: plain.address) == #""Shop, The" <a@b.c>"#)
    }

    @Test("usual addresses are taken, and not printed")
    func usual() throws {
        for text in ["ann@example.com", "a.b+tag@mail.example.co.uk", "o'neil_1@x", "no-reply@localhost"] {
            let address = try #require(MailAddress(text))
            #expect(address.text == text)
            #expect(!"\(address) \(String(reflecting: address))".contains("@"))
        }
        #expect(throws: MailboxProblem.self) { try Mailbox("x\r\nBcc: y <a@b.c>") }
    }
}

@Suite("The folder of mails")
struct MailFolderTests {
    @Test("a mail becomes a file of its own that only its owner can read")
    func written() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let mailer = Mailer(
            templates: try .shipped(),
            sender: try Mailbox("a@b.c"),
            language: "en",
            carrier: .folder(
                MailFolder(
                    path: folder,
                    clock: WallClock { 1_795_325_460_000 },
                    random: RandomSource { count in (0..<count).map { _ in UInt8.random(in: 0...255) } }
                )
            )
        )
        let recipient = try #require(MailAddress("ann@example.com"))
        for _ in 0..<3 {
            let composed = mailer.compose(.test, to: recipient, locale: nil, application: "Demo", id: UUID(), now: 0)
            guard case .accepted = await mailer.send(try #require(composed).mail) else {
                Issue.record("not written")
                return
            }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.count == 3)
        #expect(names.allSatisfy { $0.wholeMatch(of: /1795325460000-[0-9A-F]{8}\.eml/) != nil })
        let mode = try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int
        #expect(mode == 0o700)
    }
}

extension String {
    fileprivate var trimmingNewline: String { hasSuffix("\n") ? String(dropLast()) : self }
}
