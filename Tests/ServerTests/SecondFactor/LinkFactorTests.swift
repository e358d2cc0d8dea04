import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Second factors where a link sets a password",
    .serialized,
    .deployed(
        Document(
            settings: #"""
                {"secondFactor": {"policy": "optional", "factors": ["totp", "recoveryCode", "email"]},
                 "registration": {"confirmEmail": false, "maxPerSourcePerHour": 1000}}
                """#,
            mapping: #"{"email": "email"}"#
        ),
        environment: mails.environment
    )
)
struct LinkFactorTests {
    private static let sentence = "my new canary sentence"

    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func person(note: String = "") async throws -> (email: String, session: LoginResult) {
        let email = "l\(UInt32.random(in: 0...UInt32.max)).canary\(note)@example.com"
        _ = try await deployment.register(email)
        try await deployment.database.psql("update demo.users set email_verified = true where email = '\(email)'")
        return (email, try await deployment.logIn(email))
    }

    private func link(to email: String) async throws -> String {
        let reply = try await deployment.send("GET", "users/restorepassword/\(email)")
        try #require(reply.status == 200, "\(reply.text)")
        return try await mails.token(to: email, page: "reset-password")
    }

    private func reset(_ token: String, _ more: String = "") async throws -> HTTPReply {
        let body = #"{"token": "\#(token)", "password": "\#(Self.sentence)"\#(more)}"#
        return try await deployment.send("POST", "users/resetpassword", body)
    }

    private func submit(_ page: String, _ form: [(String, String)]) async throws -> FormPage {
        FormPage(reply: try await deployment.browser.post("/demo/\(page)", form: form, at: deployment.client))
    }

    private func logInStatus(_ email: String, _ password: String) async throws -> String {
        let body = #"{"login": "\#(email)", "password": "\#(password)"}"#
        let reply = try await deployment.send("POST", "users/login", body)
        return JSON.object(reply.text)?["errorData"]?.object?["reason"]?.string ?? "\(reply.status)"
    }

    @Test("by JSON: the link alone changes nothing; with the factor it sets the password, once")
    func json() async throws {
        let (email, session) = try await person()
        let (app, factor, _) = try await deployment.enrolApp(of: session)
        try await deployment.forgetSteps()
        let token = try await link(to: email)
        try await deployment.expectNothingWritten {
            let asked = try deployment.putOff(try await reset(token))
            #expect(asked.id(of: "totp") == factor)
            #expect(asked.id(of: "recoveryCode") != nil)
        }
        let asked = try deployment.putOff(try await reset(token))
        func more(_ code: String, pending: String? = nil) -> String {
            #", "pending": "\#(pending ?? asked.pending)", "factorId": "\#(factor)", "code": "\#(code)""#
        }
        try expectProblem(try await reset(token, more(app.wrongCode)), "second_factor_invalid")
        #expect(try await deployment.isValid(session.token), "nothing has ended yet")
        // A pending factor of one link is invalid for another, and is no login.
        let other = try await link(to: email)
        let elsewhere = try deployment.putOff(try await reset(other))
        try expectProblem(
            try await reset(token, more(app.code(), pending: elsewhere.pending)),
            "pending_login_invalid"
        )
        try expectProblem(try await deployment.finish(asked, code: app.code()), "pending_login_invalid")
        let set = try await reset(token, more(app.code()))
        #expect(set.status == 200 || set.status == 204, "\(set.text)")
        #expect(try await !deployment.isValid(session.token))
        #expect(try await logInStatus(email, Self.sentence) == "second_factor_required", "a reset is no factor")
        try expectProblem(try await reset(token, more(app.code(1))), "link_invalid")
    }

    @Test("the page asks for the factor with the password, and says what was wrong")
    func page() async throws {
        let (email, session) = try await person()
        let (app, factor, codes) = try await deployment.enrolApp(of: session)
        try await deployment.forgetSteps()
        let token = try await link(to: email)
        let shown = FormPage(reply: try await deployment.client.get("/demo/reset-password?token=\(token)"))
        #expect(shown.field("factor") == factor)
        let pending = try #require(shown.field("pending"))
        func form(_ code: String, factor: String, pending: String) -> [(String, String)] {
            [("token", token), ("password", Self.sentence), ("pending", pending), ("factor", factor), ("code", code)]
        }
        let without = try await submit("reset-password", [("token", token), ("password", Self.sentence)])
        #expect(without.reply.status == 401)
        let wrong = try await submit("reset-password", form(app.wrongCode, factor: factor, pending: pending))
        #expect(wrong.reply.status == 401 && wrong.text.contains("role=\"alert\""))
        #expect(try await deployment.isValid(session.token))
        let other = try #require(wrong.field("choose"))
        let chosen = try await submit(
            "reset-password",
            [("token", token), ("pending", try #require(wrong.field("pending"))), ("choose", other)]
        )
        #expect(chosen.reply.status == 200 && chosen.field("factor") == other)
        let last = try #require(chosen.field("pending"))
        let set = try await submit("reset-password", form(codes[0], factor: other, pending: last))
        #expect(set.reply.status == 200, "\(set.text)")
        #expect(!set.text.contains("<form"))
        #expect(try await logInStatus(email, Self.sentence) == "second_factor_required")
        let left = try await deployment.value("select cardinality(codes) from demo.factors where id = '\(other)'")
        #expect(left == "9")
    }

    /// Enrols a mailbox for codes by mail.
    ///
    /// - Returns: The recovery codes that come with the first factor.
    private func enrolMail(_ address: String?, of session: LoginResult, reading mailbox: String) async throws
        -> [String]
    {
        let target = address.map { #", "email": "\#($0)""# } ?? ""
        let begun = try await deployment.send(
            "POST",
            "users/factors",
            #"{"kind": "email"\#(target)}"#,
            token: session.token
        )
        let draft = try #require(JSON.object(begun.text)?["id"]?.string, "\(begun.text)")
        let code = try await eventually("a code by mail") {
            try mails.take(to: mailbox).compactMap { mail in
                mail.firstMatch(of: /\b[0-9]{6}\b/).map { String($0.output) }
            }.first
        }
        let confirmed = try await deployment.send(
            "POST",
            "users/factors/\(draft)/confirm",
            #"{"code": "\#(code)"}"#,
            token: session.token
        )
        let codes = try #require(JSON.object(confirmed.text), "\(confirmed.text)")["recoveryCodes"]?.array ?? []
        return codes.compactMap(\.string)
    }

    @Test("a code by mail to the mailbox of the link, however it is spelt, shows nothing that the link has not shown")
    func sameMailbox() async throws {
        let (email, session) = try await person()
        let halves = email.split(separator: "@")
        let codes = try await enrolMail(nil, of: session, reading: email)
        for spelling in ["\(halves[0])+Note@\(halves[1])", "\(halves[0])+@\(halves[1])"] {
            _ = try await enrolMail(spelling, of: session, reading: spelling)
        }
        let asked = try deployment.putOff(try await reset(try await link(to: email)))
        #expect(asked.factors.compactMap { $0["kind"]?.string } == ["recoveryCode"])
        let token = try await link(to: email)
        let page = FormPage(reply: try await deployment.client.get("/demo/reset-password?token=\(token)"))
        #expect(page.field("choose") == nil, "the page offers no other one")
        let again = try deployment.putOff(try await reset(token))
        let id = try #require(again.id(of: "recoveryCode"))
        let more = #", "pending": "\#(again.pending)", "factorId": "\#(id)", "code": "\#(codes[0])""#
        let set = try await reset(token, more)
        #expect(set.status == 200 || set.status == 204, "\(set.text)")
    }

    @Test("nor does a code to the mailbox without the note that the address of the link has")
    func mailboxOfNote() async throws {
        let (email, session) = try await person(note: "+note")
        let bare = email.replacing("+note", with: "")
        _ = try await enrolMail(bare, of: session, reading: bare)
        let asked = try deployment.putOff(try await reset(try await link(to: email)))
        #expect(asked.factors.compactMap { $0["kind"]?.string } == ["recoveryCode"])
    }

    @Test("a code to another mailbox counts for a link")
    func otherMailbox() async throws {
        let (email, session) = try await person()
        let other = "other-\(email)"
        _ = try await enrolMail(other, of: session, reading: other)
        let asked = try deployment.putOff(try await reset(try await link(to: email)))
        #expect(asked.factors.compactMap { $0["kind"]?.string } == ["email", "recoveryCode"])
    }

    @Test("a reversal asks for a factor of before the change, and for none where only the thief's are left")
    func reversal() async throws {
        // With a stolen session a thief adds a factor to an account that had none.
        let (email, session) = try await person()
        _ = try await deployment.enrolApp(of: session)
        let token = try await mails.token(to: email, page: "undo-change")
        let page = FormPage(reply: try await deployment.client.get("/demo/undo-change?token=\(token)"))
        #expect(page.reply.status == 200 && page.field("pending") == nil, "\(page.text)")
        let undone = try await submit("undo-change", [("token", token), ("password", Self.sentence)])
        #expect(undone.reply.status == 200, "\(undone.text)")
        #expect(try await logInStatus(email, Self.sentence) == "200", "the thief's factor is gone")

        // On an account with a factor, something else changes.
        let back = try await deployment.logIn(email, password: Self.sentence)
        let (app, factor, _) = try await deployment.enrolApp(of: back)
        // Wait for the mail about the first factor, so that the next link is that of the renewal.
        _ = try await mails.token(to: email, page: "undo-change")
        try await deployment.forgetSteps()
        let renewed = try await deployment.send(
            "POST",
            "users/factors",
            #"{"kind": "recoveryCode"}"#,
            token: back.token
        )
        #expect(renewed.status == 200, "\(renewed.text)")
        let later = try await mails.token(to: email, page: "undo-change")
        let asked = FormPage(reply: try await deployment.client.get("/demo/undo-change?token=\(later)"))
        #expect(asked.field("factor") == factor)
        let form = [
            ("token", later), ("password", "my third canary sentence"),
            ("pending", try #require(asked.field("pending"))),
            ("factor", factor),
        ]
        #expect(try await submit("undo-change", form + [("code", app.wrongCode)]).reply.status == 401)
        #expect(try await submit("undo-change", form + [("code", app.code())]).reply.status == 200)
    }
}
