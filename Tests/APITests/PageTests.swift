import Domain
import Encodings
import FoundationEssentials
import HTTPTypes
import Hummingbird
@testable import Pages
import Secrets
import Testing

@Suite("Pages for people")
struct PageTests {
    private static let hostile = [
        "</title><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onload='alert(1)", "</style><b>",
        "&lt;script&gt;", "a\u{0301}<",
    ]

    private func application(
        _ name: String,
        color: String? = nil,
        logo: String? = nil
    ) -> Domain.Application {
        var settings = ApplicationSettings()
        settings.pages.color = color.flatMap { PageColor($0) }
        settings.pages.logo = logo.flatMap { PageLogo($0) }
        return Domain.Application(
            id: .demo,
            name: name,
            schema: "demo",
            revision: 1,
            settings: settings,
            properties: []
        )
    }

    private func page(of application: Domain.Application?, in languages: String? = nil) -> WebPage {
        var headers = HTTPFields()
        headers[.acceptLanguage] = languages
        return WebPage(of: application, for: headers)
    }

    private func digest(_ text: some StringProtocol) -> String {
        Data(Digest.sha256(String(text))).base64EncodedString()
    }

    /// Returns the content of each element with that tag name.
    private func elements(_ name: String, in html: HTML) -> [Substring] {
        html.text.split(separator: "<\(name)>").dropFirst().compactMap { rest in
            rest.firstRange(of: "</\(name)>").map { rest[..<$0.lowerBound] }
        }
    }

    @Test("the digest of the style sheet is that of just that text")
    func digest() {
        let sheet = PageStyle.sheet.text.text
        #expect(PageStyle.sheet.source == "'sha256-\(digest(sheet))'")
        #expect(!sheet.contains("<") && !sheet.contains("url("))
    }

    @Test("a policy admits the styles of its page and no other, and pictures only where there is a logo")
    func policy() throws {
        let logo = "data:image/png;base64,iVBORw0KGgo="
        for application in [
            nil, application("Demo"), application("Demo", color: "#FFDD00"), application("Demo", logo: logo),
        ] {
            let page = page(of: application)
            let response = page.response(.login, "<p>x</p>")
            let policy = try #require(response.headers[.contentSecurityPolicy])
            let html = page.document(.login, "<p>x</p>")
            let styles = elements("style", in: html)
            let admitted = styles.map { "'sha256-\(digest($0))'" }.joined(separator: " ")
            #expect(styles.count == 2)
            #expect(policy.contains("; style-src \(admitted); "), "\(policy)")
            #expect(policy.contains("img-src") == (application?.settings.pages.logo != nil), "\(policy)")
            #expect(!policy.contains("unsafe") && !policy.contains("http"), "\(policy)")
            #expect(!html.text.contains(" style="))
            #expect(html.text.contains("<img src=\"\(logo)\" alt=\"\">") == policy.contains("img-src data:;"))
        }
    }

    @Test("what somebody calls an application is text, wherever it stands", arguments: hostile)
    func names(name: String) throws {
        let page = page(of: application(name))
        let html = page.document(.login, "<p>\(page.words(.logInNow))</p>").text
        let plain = self.page(of: application("Demo")).document(.login, "<p>Demo</p>").text
        let tags = { (text: String) in text.split(separator: "<").count { $0.first?.isLetter == true } }
        #expect(tags(html) == tags(plain), "\(html)")
        #expect(!html.contains(name))
    }

    @Test("a title names what the page is about, and the application")
    func title() {
        func title(_ application: Domain.Application?, _ languages: String?) -> Substring? {
            elements("title", in: page(of: application, in: languages).document(.choosePassword, "")).first
        }
        #expect(title(application("Demo & Co"), nil) == "Choose a new password – Demo &amp; Co")
        #expect(title(application("Demo"), "de-CH") == "Neues Passwort wählen – Demo")
        #expect(title(nil, nil) == "Choose a new password")
    }

    @Test("text can be read on whatever color an application has")
    func contrast() throws {
        for number in stride(from: 0, through: 0xFFFFFF, by: 4099) {
            var settings = PageSettings()
            settings.color = PageColor("#" + Hexadecimal.encode([16, 8, 0].map { UInt8(number >> $0 & 0xFF) }))
            let color = try #require(settings.color)
            let sheet = PageStyle.colors(of: settings).text.text
            #expect(sheet.contains("--accent: \(color.text);"))
            let isWhite = sheet.contains("--on-accent: #ffffff;")
            #expect(isWhite != sheet.contains("--on-accent: #000000;"))
            let luminance = PageStyle.luminance(of: color)
            #expect((isWhite ? 1.05 / (luminance + 0.05) : (luminance + 0.05) / 0.05) >= 4.5, "\(color.text)")
        }
    }

    private static let headers: [(String?, String)] = [
        (nil, "en"), ("", "en"), ("de", "de"), ("DE-at", "de"), ("en", "en"), ("fr", "en"), ("fr,de;q=0.5", "de"),
        ("fr;q=0.9, de;q=0.8, en;q=0.7", "de"), ("de;q=0.7, en;q=0.8", "en"), ("en-US,en;q=0.9,de;q=0.8", "en"),
        ("de;q=0", "en"), ("de;q=0.000,en;q=0", "en"), ("*", "en"), ("de;q=1.000", "de"), ("de ; q=0.1", "de"),
        ("de;Q=0.1", "de"), ("de;q=1.5", "en"), ("de;q=-1", "en"), ("de;q=0.1234", "en"), ("de;q=", "en"),
        ("de;q", "en"), ("de;q=a", "en"), ("de;q=1;x=2", "en"), (",,de,,", "de"), (";q=1,de", "de"),
        ("den", "en"), ("<script>", "en"), ("de,de,en", "de"), (String(repeating: "x,", count: 250) + "de", "en"),
    ]

    @Test("a page is in the language that is asked for first, of those that there are", arguments: headers)
    func languages(header: String?, language: String) {
        let page = page(of: nil, in: header)
        #expect(page.words.language.rawValue == language)
        let response = page.response(.login, "")
        #expect(response.headers[.contentLanguage] == language)
        #expect(page.document(.login, "").text.contains("<html lang=\"\(language)\">"))
    }

    @Test("every language says what the others say, with the same values", arguments: PageLanguage.allCases)
    func texts(language: PageLanguage) {
        let (own, english) = (PageTable.texts(in: language).texts, PageTable.texts(in: .english).texts)
        func values(_ parts: [Substring]?) -> Set<String> {
            Set((parts ?? []).enumerated().filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) })
        }
        for text in PageText.allCases {
            let parts = own[text.rawValue]
            #expect(parts?.count.isMultiple(of: 2) == false, "\(text) is not there, or its braces are no pairs")
            #expect(values(parts) == values(english[text.rawValue]), "\(text)")
            #expect(values(parts).allSatisfy { PageText.Name(rawValue: $0) != nil }, "\(text)")
        }
        for key in own.keys where PageText(rawValue: key) == nil {
            let parts = key.split(separator: ".")
            #expect(parts.first == "failure" && parts.count > 1, "\(key)")
            #expect(Failure.Reason(rawValue: String(parts.dropFirst().first ?? "")) != nil, "\(key)")
        }
        #expect(PageWords(in: language)(.months).text.split(separator: " ").count == 12)
    }

    @Test("each value is in the text that names it, as a text", arguments: PageLanguage.allCases)
    func values(language: PageLanguage) {
        let words = PageWords(in: language, of: "A & B")
        let values = Dictionary(uniqueKeysWithValues: PageText.Name.allCases.map { ($0, "<\($0)>" as HTML) })
        for text in PageText.allCases {
            let said = words(text, values).text
            let parts = PageTable.texts(in: language).texts[text.rawValue] ?? []
            for (place, name) in parts.enumerated() where !place.isMultiple(of: 2) {
                #expect(said.contains(name == "application" ? "A &amp; B" : "<\(name)>"), "\(text)")
            }
            #expect(!said.contains("{") && !said.contains("}") && !said.contains("  "), "\(text)")
        }
        let address = "otpauth:a&b"
        #expect(words(.scanPicture, [.address: "\(address)"]).text.contains("<a href=\"otpauth:a&amp;b\">"))
    }

    @Test(
        "a browser is called what people call it, and what nobody knows stays as it came",
        arguments: [
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
                "Chrome, Windows"
            ),
            ("Mozilla/5.0 (Windows NT 10.0) (KHTML, like Gecko) Chrome/126.0 Safari/537.36 Edg/126.0", "Edge, Windows"),
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1", "Safari, iPhone"),
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) CriOS/126.0 Safari/604.1", "Chrome, iPhone"),
            ("Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0", "Firefox, Android"),
            ("shop/3.1 (iPhone; iOS 17.5)", "shop/3.1 (iPhone; iOS 17.5)"), ("curl/8.5.0", "curl/8.5.0"), ("", ""),
        ]
    )
    func userAgents(header: String, name: String) {
        #expect(UserAgentName(header).text == name)
    }

    @Test("no page tells people of bytes", arguments: PageLanguage.allCases)
    func noBytes(language: PageLanguage) {
        #expect(!PageWords(in: language)(.minLength, [.count: "15"]).text.lowercased().contains("byte"))
    }

    @Test("days are written as their readers write them, and stay readable for programs")
    func days() {
        let moment: Int64 = 1_774_000_000_000
        let (english, german) = (PageWords(in: .english), PageWords(in: .german))
        #expect(english.day(moment).text == "<time datetime=\"2026-03-20\">20 March 2026</time>")
        #expect(german.day(moment).text == "<time datetime=\"2026-03-20\">20. März 2026</time>")
        let time = "<time datetime=\"2026-03-20T09:46Z\">20 March 2026, 09:46 UTC</time>"
        #expect(english.moment(moment).text == time)
        #expect(english.day(-1).text == "<time datetime=\"1969-12-31\">31 December 1969</time>")
    }

    @Test("a failure that has no text of its own in a language is told in English, and says that it is")
    func failures() {
        let (english, german) = (PageWords(in: .english), PageWords(in: .german))
        let (link, other) = (Failure(.linkInvalid, "This link"), Failure(.roleUnknown, "There is no <such> role."))
        #expect(english.failure(link).text == "This link")
        #expect(german.failure(link).text.hasPrefix("Dieser Link"))
        #expect(german.failure(other).text == "<span lang=\"en\">There is no &lt;such&gt; role.</span>")
        let short = Failure(.passwordNotAllowed, "Too short", details: ["rule": .string("tooShort")])
        #expect(german.failure(short).text.hasPrefix("Dieses Passwort ist zu kurz."))
    }

    @Test("JSON cannot end the element that it stands in")
    func json() {
        #expect(HTML(json: Array(#"{"a":"</script>&"}"#.utf8)).text == #"{"a":"\u003C/script\u003E\u0026"}"#)
    }
}

extension ApplicationID {
    fileprivate static var demo: ApplicationID {
        guard let id = ApplicationID("demo") else { preconditionFailure("demo is an id") }
        return id
    }
}
