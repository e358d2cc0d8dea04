import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Second factors at the end of a dialog",
    .serialized,
    .deployed(
        Document(
            application: "optional",
            options: options,
            settings: settings(#""policy": "optional""#),
            mapping: #"{"email": "email", "first_name": "name"}"#
        ),
        Document(
            application: "required",
            options: options,
            settings: settings(
                #""policy": "required", "factors": ["totp", "recoveryCode", "passkey"], "passkeys": {"rpId": "example.com", "origins": ["https://users.example.com"]}"#
            ),
            mapping: #"{"email": "email", "first_name": "name"}"#
        ),
        Document(
            application: "plain",
            options: options,
            settings: settings(#""policy": "required", "factors": ["totp"]"#),
            mapping: #"{"email": "email"}"#
        )
    )
)
struct DialogFactorTests {
    private static let origin = "https://page.example.com"

    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private var optional: Document { deployment.documents[0] }
    private var required: Document { deployment.documents[1] }
    private var plain: Document { deployment.documents[2] }

    private func newcomer() async throws -> Visitor {
        let email = "d\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        return try await deployment.newcomer(#"{"email": "\#(email)", "first_name": "Dialog Canary"}"#)
    }

    /// Goes through a dialog up to the service's response to the browser.
    private func comeBack(
        _ person: Visitor,
        byPopup: Bool,
        challenge: Bool = false,
        of document: Document,
        in browser: Browser? = nil
    ) async throws -> HTTPReply {
        let body = challenge ? #"{"codeChallenge": "\#(ProofKey.challenge)"}"# : "{}"
        let headers = byPopup ? [("Origin", Self.origin)] : []
        let dialog = try await deployment.dialog(body, headers: headers, of: document, in: browser)
        return try await deployment.comeBack(to: try await deployment.answer(dialog, as: person), in: browser)
    }

    /// Creates a user with an authenticator app.
    private func enrolled() async throws -> (
        person: Visitor, id: String, app: AuthenticatorApp, factor: String, codes: [String]
    ) {
        let person = try await newcomer()
        let first = try await deployment.loggedIn(person, to: optional)
        let (app, id, codes) = try await deployment.enrolApp(of: first, in: optional)
        try await deployment.forgetSteps(in: optional)
        return (person, first.objectID, app, id, codes)
    }

    private func loginCode(_ end: HTTPReply) throws -> String {
        try #require(end.status == 303, "\(end.status) \(end.text)")
        let location = try #require(end.header("Location"))
        return try #require(try Address(location)["loginCode"])
    }

    private func count(_ table: String, of user: String, in document: Document) async throws -> String {
        try await deployment.value(
            "select count(*) from \(document.application).\(table) where object_id = '\(user)'"
        ) ?? ""
    }

    @Test("a popup asks for the factor before anything is written, and hands the user over when it is shown")
    func popup() async throws {
        let (person, id, app, _, _) = try await enrolled()
        let sessions = try await count("sessions", of: id, in: optional)
        let asked = FormPage(reply: try await comeBack(person, byPopup: true, of: optional))
        expectPage(asked.reply, status: 200, keepsCookie: true)
        #expect(!asked.text.contains("Dialog Canary") && !asked.text.contains("user-token"))
        let factor = try #require(asked.field("factor"))
        let wrong = FormPage(
            reply: try await deployment.answerFactor(
                asked,
                [("factor", factor), ("code", app.wrongCode)],
                of: optional
            )
        )
        expectPage(wrong.reply, status: 401, keepsCookie: true)
        #expect(wrong.text.contains("role=\"alert\""))
        #expect(try await count("sessions", of: id, in: optional) == sessions, "nobody is logged in yet")
        let answer = [("factor", factor), ("code", app.code())]
        let end = try await deployment.answerFactor(wrong, answer, of: optional)
        expectPage(end, status: 200, scripts: true)
        let (message, origin) = try handedOver(end)
        #expect(origin == Self.origin)
        #expect(message["objectId"]?.string == id)
        #expect(message["user-token"]?.string != nil)
        // Once more, with a code that would be valid.
        try await deployment.forgetSteps(in: optional)
        let again = try handedOver(try await deployment.answerFactor(wrong, answer, of: optional))
        #expect(again.message.keys == ["fault"], "\(again.message)")
    }

    @Test(
        "a redirect ends with a login code only when the factor is shown, and the code passes once",
        arguments: [false, true]
    )
    func redirect(hasChallenge: Bool) async throws {
        let (person, id, app, _, _) = try await enrolled()
        let before = try await count("sessions", of: id, in: optional)
        let asked = FormPage(
            reply: try await comeBack(person, byPopup: false, challenge: hasChallenge, of: optional)
        )
        expectPage(asked.reply, status: 200, keepsCookie: !hasChallenge)
        let policy = try #require(asked.reply.header("Content-Security-Policy"))
        #expect(policy.contains("form-action 'self' https://app.example.com;"), "\(policy)")
        let codes = "select count(*) from optional.single_use where kind = 'loginCode'"
        let kept = try await deployment.value(codes)
        let factor = try #require(asked.field("factor"))
        let wrong = try await deployment.answerFactor(
            asked,
            [("factor", factor), ("code", app.wrongCode)],
            of: optional
        )
        #expect(wrong.status == 401)
        #expect(try await deployment.value(codes) == kept, "there is no login code without the factor")
        let answer = [("factor", factor), ("code", app.code())]
        // Sending the same form twice gives two codes, one of which logs in.
        let first = try loginCode(try await deployment.answerFactor(asked, answer, of: optional))
        let second = try loginCode(try await deployment.answerFactor(asked, answer, of: optional))
        #expect(try await count("sessions", of: id, in: optional) == before)
        let verifier = hasChallenge ? ProofKey.verifier : nil
        let reply = try await deployment.redeem(first, verifier: verifier, of: optional)
        #expect(reply.status == 200, "\(reply.text)")
        #expect(JSON.object(reply.text)?["objectId"]?.string == id)
        let shown = try await deployment.value(
            "select count(*) from optional.sessions where object_id = '\(id)' and factor_kind = 'totp' and factor_proved is not null"
        )
        #expect(shown != "0", "the session says by what it was opened")
        try await deployment.forgetSteps(in: optional)
        #expect(try await deployment.redeem(second, verifier: verifier, of: optional).status == 401)
        #expect(try await deployment.redeem(first, verifier: verifier, of: optional).status == 401)
    }

    @Test("the recovery code is shown in place of the app, and counts once")
    func recoveryCode() async throws {
        let (person, _, _, _, codes) = try await enrolled()
        let code = try #require(codes.first)
        for isGood in [true, false] {
            let asked = FormPage(reply: try await comeBack(person, byPopup: true, of: optional))
            let other = try #require(asked.field("choose"))
            let chosen = FormPage(
                reply: try await deployment.answerFactor(asked, [("choose", other)], of: optional)
            )
            expectPage(chosen.reply, status: 200, keepsCookie: true)
            #expect(chosen.field("factor") == other)
            let end = try await deployment.answerFactor(chosen, [("factor", other), ("code", code)], of: optional)
            #expect(end.status == (isGood ? 200 : 401), "\(end.text)")
            #expect(end.text.contains("user-token") == isGood)
        }
    }

    @Test("another browser, another application and a broken text answer nothing", arguments: [false, true])
    func strangers(byPopup: Bool) async throws {
        let (person, _, app, _, _) = try await enrolled()
        let asked = FormPage(reply: try await comeBack(person, byPopup: byPopup, of: optional))
        let answer = [("factor", try #require(asked.field("factor"))), ("code", app.code())]
        let login = try #require(asked.field("login"))
        try await deployment.expectNothingWritten {
            let elsewhere = try await deployment.answerFactor(asked, answer, of: optional, in: Browser())
            expectPage(elsewhere, status: 400)
            let other = try await deployment.answerFactor(asked, answer, of: required)
            expectPage(other, status: 400)
            let twitter = try await deployment.answerFactor(
                asked,
                answer,
                of: optional,
                path: "users/oauth/twitter/secondFactor"
            )
            #expect(twitter.status == 400 || twitter.status == 404)
            for broken in ["", "x", String(login.dropLast(4)) + "AAAA"] {
                let reply = try await deployment.browser.post(
                    deployment.path("users/oauth/facebook/secondFactor", of: optional),
                    form: [("login", broken)] + answer,
                    at: deployment.client
                )
                expectPage(reply, status: 400)
            }
        }
        #expect(try await deployment.answerFactor(asked, answer, of: optional).status == (byPopup ? 200 : 303))
    }

    @Test("too many wrong codes end the login, as its end tells it")
    func guesses() async throws {
        let (person, _, app, factor, _) = try await enrolled()
        let asked = FormPage(reply: try await comeBack(person, byPopup: false, of: optional))
        var end: HTTPReply?
        for _ in 0..<12 where end == nil {
            let reply = try await deployment.answerFactor(
                asked,
                [("factor", factor), ("code", app.wrongCode)],
                of: optional
            )
            if reply.status == 303 { end = reply } else { #expect([401, 429].contains(reply.status)) }
        }
        let address = try Address(try #require(end?.header("Location")))
        #expect(address["reason"] == "pending_login_invalid", "\(address)")
        #expect(address["loginCode"] == nil)
    }

    @Test(
        "where a factor is required the page enrols one, shows the recovery codes and goes on",
        arguments: [false, true]
    )
    func enrolment(byPopup: Bool) async throws {
        let person = try await newcomer()
        let users = "select count(*) from required.users"
        let before = try await deployment.value(users)
        let asked = FormPage(reply: try await comeBack(person, byPopup: byPopup, of: required))
        expectPage(asked.reply, status: 200, keepsCookie: true)
        #expect(asked.text.contains("value=\"totp\"") && asked.text.contains("value=\"passkey\""))
        let begun = FormPage(reply: try await deployment.answerFactor(asked, [("kind", "totp")], of: required))
        expectPage(begun.reply, status: 200, keepsCookie: true)
        #expect(begun.text.contains("<svg "))
        let app = try begun.app
        let wrong = FormPage(
            reply: try await deployment.answerFactor(
                begun,
                [("draft", app.id), ("code", app.wrongCode)],
                of: required
            )
        )
        #expect(wrong.reply.status == 401)
        #expect(try wrong.app.seed == app.seed, "the same picture is shown once more")
        let codes = FormPage(
            reply: try await deployment.answerFactor(
                wrong,
                [("draft", try wrong.app.id), ("code", app.code())],
                of: required
            )
        )
        #expect(codes.reply.status == 200, "\(codes.text)")
        #expect(codes.recoveryCodes.count == 10)
        let user: JSONObject
        if byPopup {
            user = try codes.element("message")
            #expect(codes.reply.header("Content-Security-Policy")?.contains("script-src 'sha256-") == true)
        } else {
            #expect(try await deployment.value(users) == before, "nobody is made before the end")
            let end = try await deployment.answerFactor(codes, [("goOn", "yes")], of: required)
            let reply = try await deployment.redeem(try loginCode(end), of: required)
            user = try #require(JSON.object(reply.text), "\(reply.text)")
        }
        let id = try #require(user["objectId"]?.string, "\(user)")
        #expect(try await count("factors", of: id, in: required) == "2")
        // The next login asks for the factor, and accepts one of the recovery codes that were shown.
        try await deployment.forgetSteps(in: required)
        let again = FormPage(reply: try await comeBack(person, byPopup: true, of: required))
        let recovery = try #require(again.field("choose"))
        let end = try await deployment.answerFactor(
            again,
            [("factor", recovery), ("code", codes.recoveryCodes[3])],
            of: required
        )
        #expect(try handedOver(end).message["objectId"]?.string == id)
    }

    @Test("an application without recovery codes goes on at once")
    func withoutRecoveryCodes() async throws {
        let person = try await newcomer()
        let asked = FormPage(reply: try await comeBack(person, byPopup: false, of: plain))
        let begun = FormPage(reply: try await deployment.answerFactor(asked, [("kind", "totp")], of: plain))
        let app = try begun.app
        let end = try await deployment.answerFactor(begun, [("draft", app.id), ("code", app.code())], of: plain)
        let reply = try await deployment.redeem(try loginCode(end), of: plain)
        #expect(reply.status == 200, "\(reply.text)")
    }

    @Test("a passkey is made by the page, and asked for by it")
    func passkey() async throws {
        let person = try await newcomer()
        let asked = FormPage(reply: try await comeBack(person, byPopup: true, of: required))
        let begun = FormPage(reply: try await deployment.answerFactor(asked, [("kind", "passkey")], of: required))
        expectPage(begun.reply, status: 200, scripts: true, keepsCookie: true)
        let options = try begun.element("options")
        let challenge = try #require(options["challenge"]?.string.flatMap { Base64URL.decode($0.utf8) })
        var key = SoftAuthenticator(
            key: try SoftAuthenticator.Key(.es256),
            relyingPartyID: "example.com",
            origin: "https://users.example.com",
            userHandle: options["user"]?.object?["id"]?.string.flatMap { Base64URL.decode($0.utf8) }
        )
        let made = try await deployment.answerFactor(
            begun,
            [("draft", try #require(begun.field("draft"))), ("credential", key.register(challenge: challenge))],
            of: required
        )
        let id = try #require(try FormPage(reply: made).element("message")["objectId"]?.string, "\(made.text)")

        let again = FormPage(reply: try await comeBack(person, byPopup: true, of: required))
        expectPage(again.reply, status: 200, scripts: true, keepsCookie: true)
        let next = try #require(
            try again.element("options")["challenge"]?.string.flatMap { Base64URL.decode($0.utf8) }
        )
        let broken = try await deployment.answerFactor(again, [("credential", "{")], of: required)
        #expect(broken.status == 401)
        let end = try await deployment.answerFactor(
            again,
            [("credential", try key.assert(challenge: next))],
            of: required
        )
        #expect(try handedOver(end).message["objectId"]?.string == id)
    }

    @Test(
        "a dialog for linking asks nothing: its code links to a session that has shown its factor, and logs nobody in"
    )
    func linking() async throws {
        let (person, id, app, _, _) = try await enrolled()
        func code(_ body: String) async throws -> String {
            let dialog = try await deployment.dialog(body, of: optional)
            return try loginCode(try await deployment.comeBack(to: try await deployment.answer(dialog, as: person)))
        }
        let refused = try await deployment.redeem(try await code(#"{"linking": true}"#), of: optional)
        try expectProblem(refused, "second_factor_required")

        // A login's dialog asks for a factor, which counts for the session of its login code.
        let asked = FormPage(reply: try await comeBack(person, byPopup: false, of: optional))
        let answer = [("factor", try #require(asked.field("factor"))), ("code", app.code())]
        let shown = try loginCode(try await deployment.answerFactor(asked, answer, of: optional))
        let session = try deployment.signedIn(try await deployment.redeem(shown, of: optional))
        try await deployment.database.psql(
            "update optional.sessions set factor_proved = now() - interval '6 minutes', proved = now() - interval '6 minutes'"
        )
        func link(_ code: String) async throws -> HTTPReply {
            let body = #"{"loginCode": "\#(code)"}"#
            return try await deployment.send(
                "POST",
                "users/identities/facebook",
                body,
                token: session.token,
                to: optional
            )
        }
        // The identity is linked already: the code only authenticates again.
        let linked = try await link(try await code(#"{"linking": true}"#))
        #expect(linked.status == 200, "\(linked.text)")
        let proofs = """
            select proved > now() - interval '1 minute', factor_proved > now() - interval '1 minute'
            from optional.sessions where object_id = '\(id)' order by created desc limit 1
            """
        #expect(try await deployment.database.psql(proofs) == [["t", "f"]])
        try await deployment.forgetSteps(in: optional)
        let again = FormPage(reply: try await comeBack(person, byPopup: false, of: optional))
        let once = try loginCode(try await deployment.answerFactor(again, answer, of: optional))
        let proved = try await link(once)
        #expect(proved.status == 200, "\(proved.text)")
        #expect(try await deployment.database.psql(proofs) == [["t", "t"]])
    }
}

private let options = #""returnUrls": ["https://app.example.com/done"]"#

private func settings(_ policy: String) -> String {
    #"{"allowedOrigins": ["https://page.example.com"], "secondFactor": {\#(policy)}}"#
}
