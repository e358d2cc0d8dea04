import Domain
import FoundationEssentials
import Messaging
import Testing
import TestSupport

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
            // A changed copy replaces the embedded template of its name, so the name must be a template's.
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
        "What is wrong with a template is said with its file and line",
        arguments: [
            ("test.en.txt", "a\n{{link}}", 2, "there is no {{link}} here; there is {{application}}"),
            ("test.en.txt", "{{}}", 1, "there is no {{}} here; there is {{application}}"),
            ("test.en.txt", "\r\n\r\n{{application", 3, "a {{ has no }} on its line"),
            ("test.en.txt", "{{\napplication}}", 1, "a {{ has no }} on its line"),
            ("test.en.txt", "{{app lication}}", 1, "there is no {{app lication}} here; there is {{application}}"),
            ("test.en.txt", "{{#application}}\n", 2, "a section is still open at the end"),
            (
                "test.en.txt", "a\n{{/application}}", 2,
                "this {{/…}} ends no section, or not the one that was opened last"
            ),
            (
                "passwordChanged.en.txt", "{{#name}}\r\n{{/application}}{{/name}}", 2,
                "this {{/…}} ends no section, or not the one that was opened last"
            ),
            ("test.en.txt", String(repeating: "{{#application}}", count: 4000), 1, "too many sections are open"),
        ]
    )
    func problems(name: String, content: String, line: Int, text: String) {
        #expect { try MailTemplates(files: [name: content]) } throws: { error in
            (error as? MailTemplates.Problems)?.texts == ["\(name):\(line): \(text)"]
        }
    }

    @Test(
        "What else Mustache knows is refused, as is a name that is not the template's, shown or not",
        arguments: [
            "{{{name}}}", "{{&name}}", "{{& name}}", "{{ {name} }}", "{{> test}}", "{{>name}}", "{{<name}}{{/name}}",
            "{{$name}}{{/name}}", "{{! name}}", "{{=<% %>=}}", "{{=| |=}}|&name|", "{{% CONTENT_TYPE: HTML}}", "{{.}}",
            "{{#name}}{{.}}{{/name}}", "{{name.name}}", "{{.name}}", "{{uppercased(name)}}",
            "{{#empty(name)}}{{/name}}",
            "{{Name}}", "{{nam\u{65}\u{301}}}", "{{#name}}{{^name}}{{link}}{{/name}}{{/name}}", "{{#link}}{{/link}}",
        ]
    )
    func refused(content: String) {
        #expect { try MailTemplates(files: ["passwordChanged.en.html": "<p>\n" + content]) } throws: { error in
            let texts = (error as? MailTemplates.Problems)?.texts
            return texts?.count == 1 && texts?.first?.hasPrefix("passwordChanged.en.html:2: there is no {{") == true
        }
    }

    @Test(
        "A file whose name is no template's is refused",
        arguments: ["nonsense.en.txt", "test.english.txt", "test.en.md", "../test.en.txt", "test.EN.txt"]
    )
    func misnamed(name: String) {
        #expect { try MailTemplates(files: [name: ""]) } throws: { error in
            (error as? MailTemplates.Problems)?.texts.first?.hasPrefix(name + ": is no template") == true
        }
    }

    @Test(
        "A value that is missing leaves nothing, and the line of a section's tag is none of the text",
        arguments: ["\n", "\r\n"]
    )
    func missing(lineBreak: String) async throws {
        let lines = [
            "<{{ name }}>", "{{#name}}", "with", " {{/ name }}\t", "{{^name}}", "without", "{{/name}}", "end { }}",
        ]
        let own = try MailTemplates(files: ["passwordChanged.en.txt": lines.joined(separator: lineBreak)])
        let texts = [
            try await Sample.text(of: .passwordChanged(name: nil), templates: own),
            try await Sample.text(of: .passwordChanged(name: "Ann"), templates: own),
        ]
        #expect(texts.map(\.trimmingNewlines) == ["<>\nwithout\nend { }}", "<Ann>\nwith\nend { }}"])
    }

    @Test("A subject is one line, whatever its template holds, and escapes nothing")
    func subject() async throws {
        let own = try MailTemplates(files: ["test.en.subject": "A <b>\r\nBcc: x@example.com\n\n{{application}}\n"])
        let mail = try await Sample.read(Sample.message(of: .test, application: "'n\r\nB&B'", templates: own))
        #expect(mail.header("Subject") == "A <b> Bcc: x@example.com 'n B&B'")
        #expect(mail.header("Bcc") == nil)
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
            // Tags of templates are plain text within a value.
            ("{{link}}{{{name}}}{{&application}}", "{{link}}{{{name}}}{{&amp;application}}"),
            ("{{>test}}{{name}}", "{{&gt;test}}{{name}}"), ("{{^name}}{{=<% %>=}}", "{{^name}}{{=&lt;% %&gt;=}}"),
            // Each is one Character, and yet the beginning of a tag or the end of an attribute.
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

extension String {
    fileprivate var trimmingNewlines: String { split(separator: "\n").joined(separator: "\n") }
}
