import Domain
import Encodings
import Testing

@Suite("What people log in by")
struct LoginNameTests {
    private static let login = PropertyName("login") ?? .name

    @Test(
        "another property than the address has one spelling: small letters in NFC",
        arguments: [
            ("ann", "ann"), ("Ann", "ann"), ("ANN@Example.com", "ann@example.com"), ("+49 30 1234", "+49 30 1234"),
            ("Jos\u{E9}", "jos\u{E9}"), ("Jose\u{301}", "jos\u{E9}"), ("JOSE\u{301}", "jos\u{E9}"),
            ("\u{212A}ate", "kate"), ("\u{0395}\u{03BB}\u{03AD}\u{03BD}", "\u{03B5}\u{03BB}\u{03AD}\u{03BD}"),
            ("m\u{131}ke", "m\u{131}ke"), ("\u{17F}ally", "\u{17F}ally"), ("дом", "дом"), ("東京", "東京"),
            ("👍", "👍"),
        ]
    )
    func folding(text: String, key: String) throws {
        let login = try #require(Login(text, of: Self.login))
        #expect(Array(login.key.utf8) == Array(key.utf8))
        #expect(login.text.hasSameBytes(as: text))
        #expect(login.email == nil)
        #expect(Login(login.key, of: Self.login)?.key.hasSameBytes(as: key) == true, "folding again changes nothing")
        #expect("\(login)" == "•••")
    }

    @Test(
        "nobody logs in by what is empty, too long, or cannot be seen",
        arguments: [
            ("", false), (" ", false), (" ann", false), ("ann\u{A0}", false), ("a nn", true), ("a\tnn", false),
            ("a\u{0}", false), ("a\u{200B}b", false), ("a\u{202E}b", false), ("a\u{2028}b", false),
            ("a\u{E000}", false),
            (String(repeating: "a", count: 255), true), (String(repeating: "a", count: 256), false),
            (String(repeating: "\u{E9}", count: 127), true), (String(repeating: "\u{E9}", count: 128), false),
            // In lower case this text is a byte longer.
            (String(repeating: "\u{23A}", count: 127), false),
        ]
    )
    func refused(text: String, isLogin: Bool) {
        #expect((Login(text, of: Self.login) != nil) == isLogin)
    }

    @Test("T-38: by the address people log in as ever")
    func address() throws {
        let login = try #require(Login("Ann@Example.com", of: .email))
        #expect(login.key == "ann@example.com" && login.text == "Ann@Example.com" && login.email != nil)
        for text in ["ann", "m\u{131}ke@example.com", "\u{212A}ate@example.com", ""] {
            #expect(Login(text, of: .email) == nil)
        }
    }

    @Test("an application says by which property")
    func property() throws {
        var application = Application(
            id: try #require(ApplicationID("demo")),
            name: "",
            schema: "demo",
            revision: 1,
            settings: ApplicationSettings(),
            properties: []
        )
        #expect(application.login("ann") == nil)
        #expect(application.login("Ann@example.com")?.key == "ann@example.com")
        application.settings.identityProperty = Self.login
        #expect(application.login("Ann")?.key == "ann")
    }
}
