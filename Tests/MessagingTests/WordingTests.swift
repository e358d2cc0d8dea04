import FoundationEssentials
import Messaging
import Testing
import TestSupport

/// Tests of the wording of mails, since users have learnt to distrust mails.
///
/// The tests read the template files, which have both variants of each sentence.
@Suite("The words of mails")
struct WordingTests {
    /// Phrases of phishing mails: haste, threats, and accounts that somebody "opens".
    private static let alarms = [
        "at once", "immediately", "opens your account", "way into", "take it back", "somebody else is in your account",
        "sofort an", "jemand anders in Ihrem Konto", "holen Sie es",
    ]

    /// Returns the files of a template in a language, with their extensions.
    private static func files(_ template: Mail.Template, _ language: String) throws -> [(ending: String, text: String)]
    {
        try ["subject", "txt", "html"].map { ending in
            let path = PackageLayout.path(
                "Sources/Messaging/Mails/templates/\(template.rawValue).\(language).\(ending)"
            )
            return (ending, try String(contentsOfFile: path, encoding: .utf8))
        }
    }

    @Test("no mail alarms, in any language, as text or as HTML", arguments: Mail.Template.allCases)
    func calm(template: Mail.Template) throws {
        for language in ["en", "de"] {
            for (ending, text) in try Self.files(template, language) {
                let found = Self.alarms.filter { text.contains($0) }
                #expect(found.isEmpty, "\(template).\(language).\(ending)")
            }
        }
    }

    @Test("what tells of a change says that there is nothing to do for who made it")
    func nothingToDo() throws {
        let changes: [Mail.Template] = [
            .passwordChanged, .identityLinked, .emailChanged, .loginChanged, .loginMethodRemoved, .factorAdded,
            .factorRemoved,
        ]
        for template in changes {
            for (language, words) in [
                ("en", "you don't need to do anything"), ("de", "müssen Sie nichts weiter tun"),
            ] {
                for (ending, text) in try Self.files(template, language) where ending != "subject" {
                    #expect(text.contains(words), "\(template).\(language).\(ending)")
                }
            }
        }
    }
}
