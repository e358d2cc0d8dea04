@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()
private let logo = "data:image/png;base64,iVBORw0KGgo="

@Suite(
    "How hosted pages look and what they say",
    .serialized,
    .deployed(
        Document(
            settings: """
                {"registration": {"confirmEmail": true}, "passwords": {"minLength": 12},
                 "pages": {"color": "#ffdd00", "logo": "\(logo)"}}
                """
        ),
        environment: mails.environment
    )
)
struct HostedPageTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func page(_ path: String, in languages: String? = nil) async throws -> HTTPReply {
        let headers = languages.map { [("Accept-Language", $0)] } ?? []
        return try await deployment.client.send("GET", path, headers: headers)
    }

    private func newcomer(_ email: String) async throws -> (confirmation: String, reset: String) {
        _ = try await deployment.register(email)
        let confirmation = try await mails.token(to: email, page: "confirm-email")
        #expect(try await deployment.send("GET", "users/restorepassword/\(email)").status == 200)
        return (confirmation, try await mails.token(to: email, page: "reset-password"))
    }

    @Test("a form tells what a password has to be before anybody has chosen one, and so does the browser")
    func rule() async throws {
        let tokens = try await newcomer("rule.canary@example.com")
        for path in ["reset-password?token=\(tokens.reset)", "confirm-email?token=\(tokens.confirmation)"] {
            let page = try await page("/demo/" + path)
            expectPage(page, status: 200)
            #expect(page.text.contains(#"autocomplete="new-password" minlength="12" aria-describedby="rule" required"#))
            #expect(page.text.contains(#"<ul class="rule" id="rule">"#))
            #expect(page.text.contains("At least 12 characters"))
        }
    }

    @Test("pages have the name, the color and the logo of their application, and speak the reader's language")
    func look() async throws {
        let path = "/demo/reset-password?token=\(try await newcomer("look.canary@example.com").reset)"
        for (languages, language, title) in [
            (nil, "en", "Choose a new password"), ("de-AT,de;q=0.9,en;q=0.8", "de", "Neues Passwort wählen"),
            ("fr", "en", "Choose a new password"),
        ] {
            let page = try await page(path, in: languages)
            expectPage(page, status: 200)
            #expect(page.text.contains("<html lang=\"\(language)\">"))
            #expect(page.header("Content-Language") == language)
            #expect(page.text.contains("<title>\(title) – demo</title>"))
            #expect(page.text.contains("<h1>\(title)</h1>"))
            #expect(page.text.contains("<header><img src=\"\(logo)\" alt=\"\"><p>demo</p></header>"))
            #expect(page.text.contains("--accent: #ffdd00; --on-accent: #000000;"))
            #expect(page.header("Content-Security-Policy")?.contains("img-src data:;") == true)
        }
        let refused = try await deployment.client.send(
            "POST",
            "/demo/reset-password",
            headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Accept-Language", "de")],
            body: Array("token=\(path.suffix(43))&password=zu+kurz".utf8)
        )
        expectPage(refused, status: 422)
        #expect(refused.text.contains(#"role="alert"><p>Dieses Passwort ist zu kurz."#), "\(refused.text)")
    }

    @Test("a page of another application has its own look, and one of none says no name")
    func others() async throws {
        let other = try await page("/witness/reset-password?token=x")
        expectPage(other, status: 400)
        #expect(other.text.contains("<title>Something went wrong – witness</title>"))
        #expect(!other.text.contains("<img") && !other.text.contains("#ffdd00"))
        #expect(other.header("Content-Security-Policy")?.contains("img-src") == false)
        let none = try await page("/nobody/reset-password?token=x", in: "de")
        expectPage(none, status: 404)
        #expect(none.text.contains("<title>Das hat nicht geklappt</title>") && !none.text.contains("<header>"))
    }

    @Test("the pages of a dialog and of a deletion have the same look and languages")
    func dialogs() async throws {
        for path in ["users/oauth/facebook/authorize?state=x", "users/oauth/facebook/deletion/x"] {
            let page = try await deployment.client.send(
                "GET",
                deployment.path(path),
                headers: [("Accept-Language", "de")]
            )
            #expect(page.text.contains(#"<html lang="de">"#) && page.text.contains("<p>demo</p></header>"))
            #expect(page.text.contains("--accent: #ffdd00;"))
            #expect(page.text.contains("Diese Anmeldung ist abgelaufen") || page.text.contains("keinen Löschantrag"))
        }
    }
}
