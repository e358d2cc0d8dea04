import Domain
@testable import Messaging
import Testing

@Suite("What a message says")
struct TextMessageTests {
    private func message(name: String = "Demo", host: String? = nil, locale: String? = nil) throws -> TextMessage {
        TextMessage(
            Secret("012345"),
            to: try PhoneNumber("+41791234567"),
            id: ObjectID(random: Array(repeating: 7, count: 16)),
            application: try #require(ApplicationID("demo")),
            name: name,
            host: host,
            locale: locale
        )
    }

    @Test(
        "German for who speaks it, English for all others",
        arguments: [
            ("de", "de"), ("de_AT", "de"), ("de-CH", "de"), ("DE", "de"), ("en", "en"), ("fr", "en"), ("den", "en"),
            ("", "en"), (nil, "en"),
        ] as [(String?, String)]
    )
    func languages(locale: String?, language: String) throws {
        let message = try message(locale: locale)
        #expect(message.language == language)
        let texts = [
            "de": "012345 ist Ihr Code für Demo. Geben Sie ihn nicht weiter.",
            "en": "012345 is your code for Demo. Do not share it with anyone.",
        ]
        #expect(message.text.reveal() == texts[language])
    }

    @Test("a link says who invites, in one line, in the reader's language")
    func link() throws {
        for (locale, sentence) in [
            ("de_CH", "Demo  x lädt Sie ein, ein Konto zu erstellen: "),
            ("fr", "Demo  x invites you to create an account: "),
        ] {
            let message = TextMessage(
                invitingBy: Secret("https://users.example.com/demo/invitation?token=T"),
                to: try PhoneNumber("+41791234567"),
                id: ObjectID(random: Array(repeating: 7, count: 16)),
                application: try #require(ApplicationID("demo")),
                name: "Demo\r\nx",
                locale: locale
            )
            #expect(message.text.reveal() == sentence + "https://users.example.com/demo/invitation?token=T")
        }
    }

    @Test("for a page, the last line binds the code to its host, whatever the application is called")
    func hosts() throws {
        for name in ["Demo", "Demo\n\n@evil.example #1", "\r\n@evil.example #1"] {
            let lines = try message(name: name, host: "shop.example").text.reveal().split(
                separator: "\n",
                omittingEmptySubsequences: false
            )
            #expect(lines.count == 3 && lines[1].isEmpty && lines[2] == "@shop.example #012345", "\(name)")
            #expect(lines[0].unicodeScalars.allSatisfy { $0.value >= 0x20 })
        }
    }

    @Test("a message is one SMS: 160 characters of GSM 03.38", arguments: ["de", "en"])
    func length(language: String) throws {
        let text = try message(
            name: String(repeating: "N", count: 100),
            host: "users.some-longer-name.example.com",
            locale: language
        ).text.reveal()
        #expect(text.contains(String(repeating: "N", count: 40)) && !text.contains(String(repeating: "N", count: 41)))
        // The only character beyond ASCII is ü, and no character takes two places in the GSM alphabet.
        #expect(
            text.unicodeScalars.allSatisfy { $0.isASCII || $0 == "ü" } && !text.contains { "[]{}\\^~|€".contains($0) }
        )
        #expect(text.count <= 160, "\(text.count)")
    }
}
