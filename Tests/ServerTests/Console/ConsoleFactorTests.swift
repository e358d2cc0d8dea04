import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Second factors and the service in the console",
    .serialized,
    .deployed(
        Document(application: "shop", mapping: #"{"email": "email", "name": "name"}"#),
        environment: mails.environment.merging(["FEDERATION_OPERATOR_ORIGIN": "http://localhost:8081"]) { $1 }
    )
)
struct ConsoleFactorTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let factors = "/console/factors"

    /// Creates an operator and returns a browser in which the operator has logged in.
    private func browser(_ name: String) async throws -> ConsoleBrowser {
        let json = #"{"name": "\#(name)", "role": "owner"}"#
        let made = try await deployment.admin().ask("POST", "operators", json)
        let browser = ConsoleBrowser(deployment.service.management)
        try await browser.open("/console/login")
        try await browser.send(formTo: "/console/login", ["token": made["token"]?.string ?? ""])
        return browser
    }

    /// Returns the text between two others in the page.
    private func part(_ browser: ConsoleBrowser, after start: String, upTo end: String) throws -> String {
        let found = try #require(browser.page.firstRange(of: start), "\(browser.page)")
        let rest = browser.page[found.upperBound...]
        return String(rest[..<(rest.firstRange(of: end)?.lowerBound ?? rest.endIndex)])
    }

    @Test("a secret typed into a form that asks for a factor is in no page: it is typed again, with the code")
    func secrets() async throws {
        let browser = try await browser("ida")
        let (app, _) = try await enrol(browser)
        try await browser.send(formTo: Self.factors + "/confirm", ["code": app.code(-1)])
        let path = "/console/applications/shop/providers/facebook"
        try await browser.open(path)
        try await deployment.database.psql(
            "update federation.operator_tokens set factor_proved = now() - interval '13 hours' where operator = 'ida'"
        )
        let names = Self.secrets(in: .object(try await deployment.admin().get("application.schema.json")))
        let known = ["appSecret", "clientSecret", "consumerSecret", "webhookVerifyToken"]
        #expect(names.isSuperset(of: known), "\(names)")
        var typed = ["app-1-appId": "424242"]
        for name in names { typed["app-1-\(name)"] = "secretThatWasTyped" }
        try await browser.send(formTo: path, typed)
        #expect(browser.page.contains("<h1>Second factor</h1>"), "\(browser.page)")
        #expect(browser.page.contains("name=\"app-1-appId\" value=\"424242\""))
        #expect(browser.page.contains("name=\"app-1-appSecret\" type=\"password\""))
        #expect(!browser.page.contains("secretThatWasTyped"))
        let id = try part(browser, after: "<option value=\"", upTo: "\"")
        let shown = ["factor-id": id, "factor-code": app.code(0), "app-1-appSecret": "secretThatWasTyped"]
        try await browser.send(formTo: path, shown)
        #expect(browser.status == 200 && browser.page.contains("424242"), "\(browser.page)")
        #expect(!browser.page.contains("secretThatWasTyped"))
        let apps = try await deployment.admin().get("applications/shop/providers/facebook")["apps"]?.array
        #expect(apps?.compactMap { $0.object?["appId"]?.string }.contains("424242") == true)
    }

    /// Returns the names of a document's secret members, except keys, which the service generates.
    private static func secrets(in value: JSONValue, named name: String = "") -> Set<String> {
        var found = Set((value.array ?? []).flatMap { secrets(in: $0, named: name) })
        for member in value.object?.members ?? [] {
            if member.key == "$ref", member.value.string == "#/$defs/secret", name != "key" { found.insert(name) }
            found.formUnion(secrets(in: member.value, named: member.key == "oneOf" ? name : member.key))
        }
        return found
    }

    /// Enrols an authenticator app in the console.
    private func enrol(_ browser: ConsoleBrowser) async throws -> (app: AuthenticatorApp, id: String) {
        try await browser.open(Self.factors)
        try await browser.send(formTo: Self.factors, ["kind": "totp", "label": "<b>telephone</b>"])
        let address = try part(browser, after: "href=\"otpauth:", upTo: "\"").replacing("&amp;", with: "&")
        let id = try part(browser, after: "name=\"id\" value=\"", upTo: "\"")
        return (try AuthenticatorApp(["id": .string(id), "otpauth": .string("otpauth:" + address)]), id)
    }

    @Test("an authenticator app is enrolled with its picture; a wrong code can be typed again; codes are shown once")
    func enrolment() async throws {
        let browser = try await browser("fay")
        let (app, _) = try await enrol(browser)
        #expect(browser.page.contains("<svg") && !browser.page.contains(" style="))
        try await browser.send(formTo: Self.factors + "/confirm", ["code": app.wrongCode])
        #expect(browser.status == 401 && browser.page.contains("role=\"alert\""), "\(browser.page)")
        try await browser.send(formTo: Self.factors + "/confirm", ["code": app.code(-1)])
        #expect(browser.page.split(separator: "<li><code>").count == 11, "\(browser.page)")
        let code = try part(browser, after: "<li><code>", upTo: "<")
        try await browser.open(Self.factors)
        #expect(browser.page.contains("10 codes left") && !browser.page.contains(code))
        #expect(browser.page.contains("&lt;b&gt;telephone&lt;/b&gt;") && !browser.page.contains("<b>telephone"))
        #expect(browser.page.contains("Passkey"))
    }

    @Test("to take a factor away, or to add one, takes one that was shown of late")
    func removal() async throws {
        let browser = try await browser("gus")
        let (app, _) = try await enrol(browser)
        try await browser.send(formTo: Self.factors + "/confirm", ["code": app.code(-1)])
        try await deployment.database.psql(
            "update federation.operator_tokens set factor_proved = now() - interval '6 minutes' where operator = 'gus'"
        )
        try await browser.open(Self.factors)
        let path = "\(Self.factors)/\(try part(browser, after: "action=\"\(Self.factors)/", upTo: "\""))"
        try await browser.send(formTo: Self.factors, ["kind": "passkey"])
        #expect(browser.status == 403 && browser.page.contains("<h1>Second factor</h1>"), "\(browser.page)")
        try await browser.open(Self.factors)
        try await browser.send(formTo: path)
        #expect(browser.page.contains("<h1>Second factor</h1>"), "\(browser.page)")
        let factor = try part(browser, after: "<option value=\"", upTo: "\"")
        // An invalid and an empty passkey response are refused.
        for shown in [
            ["factor-credential": "{}", "factor-pending": "x"], ["factor-credential": "x"], ["factor-code": ""],
        ] {
            try await browser.send(formTo: path, shown)
            #expect((400...499).contains(browser.status ?? 0), "\(shown): \(browser.page)")
        }
        try await browser.send(formTo: path, ["factor-id": factor, "factor-code": app.code(0)])
        #expect(browser.status == 200 && browser.page.contains("<h1>Your second factors</h1>"), "\(browser.page)")
        #expect(!browser.page.contains("telephone"))
    }

    @Test("a passkey is asked for by a button that holds what the browser needs; what is none is refused")
    func passkey() async throws {
        let browser = try await browser("hal")
        try await browser.open(Self.factors)
        try await browser.send(formTo: Self.factors, ["kind": "passkey", "label": "laptop"])
        #expect(browser.page.contains("data-what=\"create\"") && browser.page.contains("/console/assets/passkeys-"))
        let options = try part(browser, after: "data-passkey=\"", upTo: "\"").replacing("&quot;", with: "\"")
        #expect(JSON.object(options)?["rp"]?.object?["id"]?.string == "localhost", "\(options)")
        for credential in ["", "{}", "[]", "<script>"] {
            try await browser.open(Self.factors)
            try await browser.send(formTo: Self.factors, ["kind": "passkey", "label": "laptop"])
            try await browser.send(formTo: Self.factors + "/confirm", ["credential": credential])
            #expect((400...499).contains(browser.status ?? 0) && !browser.page.contains("<script>"), "\(browser.page)")
        }
        try await browser.open(Self.factors)
        #expect(browser.page.contains("No second factor yet."))
    }

    // MARK: Operators

    @Test("an owner makes an operator, whose token is shown once and signs in; a wrong name keeps what was typed")
    func newOperator() async throws {
        let browser = try await deployment.browser()
        try await browser.open("/console/operators")
        try await browser.send(formTo: "/console/operators", ["name": "no name", "role": "editor"])
        #expect(
            (400...499).contains(browser.status ?? 0) && browser.page.contains("value=\"no name\""),
            "\(browser.page)"
        )
        try await browser.send(formTo: "/console/operators", ["name": "nina", "role": "editor"])
        let shown = browser.page.split(separator: "<p><code>").dropFirst().first ?? ""
        let token = String(shown.prefix { $0 != "<" })
        #expect(token.count > 30 && browser.page.contains(">nina</a></td>"), "\(browser.page)")
        try await browser.open("/console/operators")
        #expect(!browser.page.contains(token))
        let nina = ConsoleBrowser(deployment.service.management)
        try await nina.open("/console/operators")
        try await nina.send(formTo: "/console/login", ["token": token])
        #expect(nina.page.contains("<h1>Operators</h1>") && !nina.page.contains("Create an operator"), "\(nina.page)")
    }

    // MARK: The service

    @Test("an owner has a test mailed, hears what came of it, and the audit log has it without the address")
    func testMail() async throws {
        let browser = try await deployment.browser()
        let address = "test.canary@example.com"
        try await browser.open("/console/service")
        try await browser.send(formTo: "/console/service/mails", ["to": "nobody", "locale": ""])
        #expect(
            (400...499).contains(browser.status ?? 0) && browser.page.contains("value=\"nobody\""),
            "\(browser.page)"
        )
        try await browser.send(formTo: "/console/service/mails", ["to": address, "locale": "de"])
        #expect(browser.page.contains("The mail server accepted the test mail."), "\(browser.page)")
        let sent = try mails.take(to: address)
        #expect(sent.count == 1 && sent.first?.contains("Test-E-Mail") == true, "\(sent)")
        let audit = try await deployment.admin().get("audit?action=mail.test")
        #expect(audit["items"]?.array?.count == 1 && !JSONValue.object(audit).text.contains("canary"))
        let viewer = try await deployment.browser(.viewer)
        try await viewer.open("/console/service")
        #expect(!viewer.page.contains("Send a test mail to"))
        try await viewer.post("/console/service/mails", ["form": viewer.formToken ?? "", "to": address])
        #expect(viewer.status == 403)
    }

    @Test("mails are looked at in each language, as text and as HTML that does nothing")
    func mailTemplates() async throws {
        let browser = try await deployment.browser(.viewer)
        try await browser.open("/console/service")
        let listed = browser.page.split(separator: "href=\"/console/service/mails/").dropFirst().map {
            String($0.prefix { $0 != "\"" })
        }
        #expect(listed.count == 36 && listed.contains("passwordReset/de"), "\(listed)")
        for mail in listed {
            let reply = try await browser.open("/console/service/mails/\(mail)")
            #expect(reply.status == 200 && reply.text.contains("<pre class=\"mail\">"), "\(mail)")
            let html = try await browser.open("/console/service/mails/\(mail)/html")
            let policy = html.header("Content-Security-Policy") ?? ""
            #expect(html.status == 200 && policy.hasPrefix("sandbox; default-src 'none'"), "\(mail): \(policy)")
        }
        try await browser.open("/console/service/mails/passwordReset/de")
        #expect(browser.page.contains("Passwort") && browser.page.contains("token=EXAMPLE"), "\(browser.page)")
        try await browser.open("/console/service/mails/%3Cscript%3E/%3Cscript%3E")
        #expect(browser.status == 404 && !browser.page.contains("<script>"))
    }

    @Test("what is due and how the rounds went is told, and what is encrypted under which key")
    func background() async throws {
        let due = try await eventually("a round has ended", every: .milliseconds(300)) { () -> JSONObject? in
            let background = try await deployment.admin(.viewer).get("background")
            return background["instance"]?.object?["lastRound"]?.integer == nil ? nil : background
        }
        let item = due["items"]?.array?.compactMap(\.object).first { $0["application"]?.string == "shop" }
        #expect(item?["erasures"]?.integer == 0 && item?["problem"] == nil, "\(due)")
        #expect(due["instance"]?.object?["blocked"]?.isNull == true, "\(due)")
        let browser = try await deployment.browser(.viewer)
        try await browser.open("/console/service")
        #expect(
            browser.page.contains("The last run of this instance finished")
                && browser.page.contains("<span class=\"tag done\">current</span>")
        )
        #expect(try await deployment.admin(.viewer).get("background?limit=1")["next"]?.string == "shop")
    }
}
