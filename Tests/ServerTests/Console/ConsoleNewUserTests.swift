import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Users whom operators make",
    .serialized,
    .deployed(
        Document(
            application: "shop",
            settings: #"{"newUsers": "closed", "registration": {"enabled": false}, "roles": ["Guide"]}"#,
            properties:
                #"{"city": {"type": "STRING", "required": true}, "age": {"type": "INT"}, "secret": {"type": "STRING"}}"#,
            mapping:
                #"[{"from": "email", "to": "email"}, {"from": "name", "to": "name"}, {"from": "name", "to": "city"}]"#
        ),
        environment: mails.environment
    )
)
struct ConsoleNewUserTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let form = "/console/applications/shop/new-user"
    private static let route = "applications/shop/users"

    private func address() -> String { "\(UUID().uuidString.lowercased()).canary@example.com" }

    private func count() async throws -> String? { try await deployment.value("select count(*) from shop.users") }

    @Test("with a password the user logs in, though the application takes no new users, and has roles and properties")
    func password() async throws {
        let email = address()
        let browser = try await deployment.browser()
        try await browser.open("/console/applications/shop/users")
        #expect(browser.page.contains("href=\"\(Self.form)\""), "\(browser.page)")
        try await browser.open(Self.form)
        let last = try await deployment.lastAudited()
        try await browser.send(
            formTo: Self.form,
            [
                "property-email": email, "property-name": "Ann <b>", "property-city": "Bern", "property-age": "41",
                "way": "password", "password": Deployment.password, "role": "Guide",
            ]
        )
        #expect(browser.status == 200 && browser.page.contains("The user is created."), "\(browser.page)")
        #expect(browser.page.contains("<h1>Ann &lt;b&gt;</h1>") && browser.page.contains("Guide"))
        let user = try await deployment.logIn(email, to: deployment.documents[0])
        #expect(user.user["age"]?.integer == 41 && user.user["city"]?.string == "Bern")
        let audited = try await deployment.audited(behind: last).filter { $0["action"]?.string == "user.create" }
        #expect(audited.count == 1 && audited[0]["actor"]?.string == "owner", "\(audited)")
        #expect(audited.first?["details"]?.object?["to"]?.text == #"{"roles":["Guide"]}"#, "\(audited)")

        // A second user with the same login name is not created.
        try await browser.open(Self.form)
        let before = try await count()
        try await browser.send(
            formTo: Self.form,
            ["property-email": email, "property-city": "Bern", "way": "password", "password": Deployment.password]
        )
        #expect(
            browser.status == 409 && browser.page.contains("Another user already has this email"),
            "\(browser.page)"
        )
        #expect(browser.page.contains("value=\"\(email)\"") && !browser.page.contains(Deployment.password))
        #expect(try await count() == before)
    }

    @Test("with a link by mail the user chooses a password, and is in")
    func link() async throws {
        let email = address()
        let browser = try await deployment.browser(.editor)
        try await browser.open(Self.form)
        #expect(!browser.page.contains("name=\"role\""), "an editor gives no roles")
        try await browser.send(
            formTo: Self.form,
            ["property-email": email, "property-city": "Bern", "way": "mail"]
        )
        #expect(browser.status == 200 && browser.page.contains("will be sent shortly"), "\(browser.page)")
        let token = try await mails.token(to: email, page: "reset-password", of: "shop")
        let chosen = try await deployment.client.send(
            "POST",
            "/shop/reset-password",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("token=\(token)&password=\(Deployment.password.replacing(" ", with: "+"))".utf8)
        )
        #expect(chosen.status == 200, "\(chosen.text)")
        _ = try await deployment.logIn(email, to: deployment.documents[0])
    }

    @Test("a mail that cannot go makes nobody, and a record that is refused costs no mail")
    func mailRefused() async throws {
        let email = address()
        let owner = try await deployment.admin()
        let before = try await count()
        func make(_ members: String) async throws -> HTTPReply {
            try await owner.send(
                "POST",
                Self.route,
                #"{"user": {"email": "\#(email)"\#(members)}, "mail": "passwordReset"}"#
            )
        }
        // The required property is missing; each refusal takes back the count against the mailbox's limit.
        for _ in 0..<20 { try expectProblem(try await make(""), "property_missing") }
        #expect(try await count() == before)
        #expect(try await make(#", "city": "Bern""#).status == 201)
        #expect(try await mails.next(to: email).contains("/shop/reset-password?token="))
        try await deployment.database.psql(
            "delete from shop.users where email = '\(email)'; delete from shop.passwords where login = '\(email)'"
        )
        var reply = try await make(#", "city": "Bern""#)
        for _ in 0..<20 where reply.status == 201 {
            try await deployment.database.psql("delete from shop.passwords where login = '\(email)'")
            reply = try await make(#", "city": "Bern""#)
        }
        try expectProblem(reply, "too_many_attempts")
        #expect(try await deployment.value("select count(*) from shop.passwords where login = '\(email)'") == "0")
    }

    @Test(
        "what a registration refuses, and what is no user, is refused by name, and nobody is made",
        arguments: [
            (
                #"{"user": {"email": "no address", "city": "x"}, "password": "correct horse battery"}"#, 400,
                "email_invalid"
            ),
            (
                #"{"user": {"email": "a.canary@example.com", "city": "x"}, "password": "short"}"#, 422,
                "password_not_allowed"
            ),
            (#"{"user": {"city": "x"}, "password": "correct horse battery"}"#, 400, "login_missing"),
            (#"{"user": {"email": "a.canary@example.com"}}"#, 400, "property_missing"),
            (#"{"user": {"city": "x", "age": "old"}}"#, 422, "value_not_convertible"),
            (#"{"user": {"city": "x", "nothing": 1}}"#, 400, "document_invalid"),
            (#"{"user": {"city": "x", "objectId": "y"}}"#, 400, "document_invalid"),
            (#"{"user": {"city": "x", "userStatus": "GUEST"}}"#, 400, "malformed_request"),
            (#"{"user": {"city": "x"}, "roles": ["Nobody"]}"#, 404, "role_unknown"),
            (#"{"user": {"city": "x"}, "roles": ["AuthenticatedUser"]}"#, 400, "role_fixed"),
            (#"{"user": {"city": "x"}, "roles": "Guide"}"#, 400, "document_invalid"),
            (#"{"user": {"city": "x"}, "mail": "passwordReset"}"#, 400, "document_invalid"),
            (#"{"user": {"email": "a.canary@example.com", "city": "x"}, "mail": "other"}"#, 400, "document_invalid"),
            (
                #"{"user": {"email": "a.canary@example.com", "city": "x"}, "mail": "passwordReset", "password": "correct horse battery"}"#,
                400, "document_invalid"
            ),
            (#"{"users": {}}"#, 400, "document_invalid"), ("[]", 400, "document_invalid"),
        ]
    )
    func refusals(json: String, status: Int, reason: String) async throws {
        let before = try await count()
        let reply = try await deployment.admin().send("POST", Self.route, json)
        #expect(reply.status == status && reply.text.contains(reason), "\(json): \(reply.status) \(reply.text)")
        #expect(try await count() == before)
    }

    @Test("viewers make nobody, editors give no roles, and no other page makes anybody")
    func rights() async throws {
        let before = try await count()
        let json = #"{"user": {"city": "Bern"}, "roles": ["Guide"]}"#
        for role in [Role.viewer, .editor] {
            let reply = try await deployment.admin(role).send("POST", Self.route, json)
            #expect(reply.status == 403 && reply.text.contains("operator_forbidden"), "\(role): \(reply.text)")
        }
        let viewer = try await deployment.browser(.viewer)
        #expect(try await viewer.open(Self.form).status == 400)
        let fields = ["property-city": "Bern", "way": "none", "form": viewer.formToken ?? ""]
        #expect([400, 403].contains(try await viewer.post(Self.form, fields).status))
        let owner = try await deployment.browser()
        try await owner.open(Self.form)
        let own = fields.merging(["form": owner.formToken ?? ""]) { $1 }
        for headers in [[("Origin", "https://evil.example")], [("Sec-Fetch-Site", "cross-site")]] {
            #expect(try await owner.post(Self.form, own, headers: headers).status == 400)
        }
        #expect(try await owner.post(Self.form, own.merging(["form": "x"]) { $1 }).status == 400)
        #expect(try await count() == before)
        #expect(try await owner.post(Self.form, own).status == 200)
        #expect(try await count() != before)
    }

    @Test("what does not fit is told at its field, with what was typed")
    func misfits() async throws {
        let browser = try await deployment.browser()
        let before = try await count()
        try await browser.open(Self.form)
        #expect(browser.page.contains("Required. "), "\(browser.page)")
        for (fields, field) in [
            (["property-city": "Bern", "property-age": "old"], "property-age-problem"),
            (["property-email": "a.canary@example.com"], "property-city-problem"),
            (
                [
                    "property-email": "nobody", "property-city": "Bern", "way": "password",
                    "password": Deployment.password,
                ], "property-email-problem"
            ),
            (["property-city": "Bern", "way": "password", "password": ""], "id=\"password\""),
        ] {
            try await browser.open(Self.form)
            try await browser.send(formTo: Self.form, ["way": "none"].merging(fields) { $1 })
            let status = browser.status ?? 0
            #expect((400...422).contains(status) && browser.page.contains(field), "\(fields): \(browser.page)")
            #expect(browser.page.contains("aria-invalid"), "\(fields): \(browser.page)")
        }
        #expect(try await count() == before)
    }

    @Test("a password that comes with roles is typed again where a second factor is asked for, and stands in no page")
    func factor() async throws {
        let json = #"{"name": "rolf", "role": "owner"}"#
        let made = try await deployment.admin().ask("POST", "operators", json)
        let browser = ConsoleBrowser(deployment.service.management)
        try await browser.open("/console/login")
        try await browser.send(formTo: "/console/login", ["token": made["token"]?.string ?? ""])
        try await browser.open(Self.form)
        let form = browser.formToken ?? ""
        try await deployment.database.psql(
            """
            insert into federation.operator_factors (id, object_id, kind)
            select gen_random_uuid(), object_id, 'totp' from federation.operators where name = 'rolf';
            update federation.operator_tokens set factor_proved = now() - interval '6 minutes' where operator = 'rolf'
            """
        )
        let before = try await count()
        let fields = [
            "property-email": address(), "property-city": "Bern", "way": "password",
            "password": "secretThatWasTyped", "role": "Guide", "form": form,
        ]
        try await browser.post(Self.form, fields)
        #expect(browser.page.contains("<h1>Second factor</h1>"), "\(browser.page)")
        #expect(
            !browser.page.contains("secretThatWasTyped") && browser.page.contains("name=\"password\" type=\"password\"")
        )
        #expect(try await count() == before)
    }

    @Test("federation user create makes a user by the same rules")
    func command() async throws {
        let email = address()
        let refused = try await deployment.federation("user", "create", "shop", "--property", "email=\(email)")
        #expect(refused.exitStatus != .exited(0) && refused.standardError.contains("city"), "\(refused.standardError)")
        try await deployment.command(
            "user",
            "create",
            "shop",
            "--property",
            "email=\(email)",
            "--property",
            "city=Bern",
            "--property",
            "age=41",
            "--role",
            "Guide",
            "--mail-link",
            environment: mails.environment
        )
        #expect(try await mails.next(to: email).contains("https://users.example.com/shop/reset-password?token="))
        let stored = "select concat_ws('|', city, age, user_status) from shop.users where email = '\(email)'"
        #expect(try await deployment.value(stored) == "Bern|41|ENABLED")
    }
}
