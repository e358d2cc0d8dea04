import FoundationEssentials
import Vocabulary
import Mailing
import TestSupport
import Testing

@Suite("Templates of mails")
struct TemplateTests {
    @Test("German and English come with the service, and every mail can be written in both")
    func shipped() throws {
        #expect(try MailTemplates.shipped().languages == ["de", "en"])
    }

    @Test("The folder mail-templates holds what is embedded, so that it can be copied and changed")
    func folder() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: PackageLayout.path("mail-templates"))
        #expect(names.count == Mail.Template.allCases.count * 2 * 3)
        for name in names {
            // A changed copy goes before the embedded one, so the name is that of a template.
            let template = try #require(
                name.split(separator: ".").first.flatMap { Mail.Template(rawValue: String($0)) }
            )
            _ = try MailTemplates(files: [name: template.rawValue])
        }
    }

    @Test(
        "The language is that of the reader if there is one, and the deployment's otherwise",
        arguments: [
            ("de", "Hallo"), ("de_AT", "Hallo"), ("DE-de", "Hallo"), ("fr", "Hello"), (nil, "Hello"), ("", "Hello"),
            ("d", "Hello"), ("deutsch", "Hello"), ("../de", "Hello"), ("en", "Hello"), ("d\u{0308}e", "Hello"),
        ]
    )
    func languages(_ locale: String?, _ greeting: String) async throws {
        let text = try await Sample.text(of: .passwordChanged(name: nil), locale: locale)
        #expect(text.contains(greeting))
    }

    @Test("A file of the deployment goes before the embedded one, and a language of its own is whole or refused")
    func overriding() async throws {
        let own = try MailTemplates(files: ["passwordChanged.en.txt": "Moin{{^name}} ohne Namen{{/name}}!\n"])
        #expect(try await Sample.text(of: .passwordChanged(name: nil), templates: own).contains("Moin ohne Namen!"))
        #expect(try await Sample.text(of: .passwordChanged(name: "Ann"), templates: own).contains("Moin!"))
        #expect(throws: MailTemplates.Problems.self) { try MailTemplates(files: ["test.fr.txt": "Bonjour"]) }
        let french = try MailTemplates(files: [
            "test.fr.txt": "Bonjour", "test.fr.html": "Bonjour", "test.fr.subject": "!",
        ])
        #expect(try await Sample.text(of: .test, locale: "fr_CA", templates: french).contains("Bonjour"))
        #expect(!french.isComplete(in: "fr"))
    }

    @Test(
        "What is wrong with a template is said with its file",
        arguments: [
            ("test.en.txt", "{{link}}"), ("passwordReset.en.html", "{{{link}}}"), ("test.en.txt", "{{application"),
            ("test.en.txt", "{{&application}}"), ("test.en.txt", "{{> other}}"), ("test.en.txt", "{{#application}}"),
            ("test.en.txt", "{{/application}}"), ("passwordChanged.en.txt", "{{#name}}{{/application}}{{/name}}"),
            ("test.en.txt", "{{}}"), ("nonsense.en.txt", ""), ("test.english.txt", ""), ("test.en.md", ""),
            ("../test.en.txt", ""), ("test.EN.txt", ""),
        ]
    )
    func problems(name: String, content: String) {
        #expect { try MailTemplates(files: [name: content]) } throws: { error in
            (error as? MailTemplates.Problems)?.texts.contains { $0.hasPrefix(name + ":") } == true
        }
    }

    @Test("All problems of a folder are said at once")
    func allProblems() {
        #expect { try MailTemplates(files: ["test.en.txt": "{{x}}", "test.de.txt": "{{y}}", "z": ""]) } throws: {
            error in
            (error as? MailTemplates.Problems)?.texts.count == 3
        }
    }
}

@Suite("What people call themselves, in mails")
struct ShownNameTests {
    @Test(
        "T-114: markup of a name stays text: in HTML it is escaped, code point by code point",
        arguments: [
            ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"),
            ("\"><script>", "&quot;&gt;&lt;script&gt;"), ("a & b", "a &amp; b"), ("O'Neil", "O&#39;Neil"),
            // One Character each, and yet the beginning of a tag and the end of an attribute.
            ("<\u{301}b>", "&lt;\u{301}b&gt;"), ("\"\u{301} x", "&quot;\u{301} x"),
        ]
    )
    func escaped(name: String, shown: String) async throws {
        let mail = try await Sample.parsed(.passwordReset(link: Sample.link, minutes: 30, name: name))
        #expect(mail.html.contains("Hello \(shown),"))
        #expect(mail.text.contains("Hello \(name),"))
        #expect(!mail.html.contains("<img") && !mail.html.contains("<script"))
        #expect(mail.html.contains("<a href=\"https://users.example.com/x?token=a&amp;b=c\">"))
    }

    @Test(
        "a name that a mail program makes a link of, or that is no line, is left out",
        arguments: [
            "evil.example", "Win at http://evil.example now", "ann@evil.example", "evil。example", "a/b", "a:b",
            "x\r\nBcc: a",
            "\u{202E}nna", "a\u{200B}b", "a\u{2028}b", "", String(repeating: "a", count: 61),
            "a" + String(repeating: "\u{301}", count: 10_000),
        ]
    )
    func leftOut(name: String) async throws {
        for mail: Mail in [
            .passwordReset(link: Sample.link, minutes: 30, name: name), .passwordChanged(name: name),
            .emailConfirmation(link: Sample.link, hours: 24, name: name),
            .identityLinked(provider: "Twitter", name: name),
        ] {
            let text = try await Sample.text(of: mail)
            #expect(text.contains("Hello,"))
            #expect(!text.contains("evil"))
        }
    }

    @Test(
        "names as people have them are shown",
        arguments: ["Ann", "J. R. Smith", "Zoë Müller", "李雷", "Dr. No", "Anne-Marie"]
    )
    func shown(name: String) async throws {
        #expect(try await Sample.text(of: .passwordChanged(name: name)).contains("Hello \(name),"))
    }
}
