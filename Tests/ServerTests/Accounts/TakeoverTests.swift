import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite("Taking an account over, and back", .serialized, .deployed(Document(), environment: mails.environment))
struct TakeoverTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private let words = "my own canary sentence"

    private func page(_ token: String) async throws -> HTTPReply {
        try await deployment.client.get("/demo/undo-change?token=\(token)")
    }

    private func submit(_ token: String, _ password: String) async throws -> HTTPReply {
        try await deployment.client.send(
            "POST",
            "/demo/undo-change",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("token=\(token)&password=\(password.replacing(" ", with: "+"))".utf8)
        )
    }

    private func logInReason(_ email: String, _ password: String) async throws -> String? {
        let body = #"{"login": "\#(email)", "password": "\#(password)"}"#
        let reply = try await deployment.send("POST", "users/login", body)
        return JSON.object(reply.text)?["errorData"]?.object?["reason"]?.string
    }

    /// Registers a user with an old, confirmed address, and returns the session that a thief has obtained.
    private func owner(_ email: String) async throws -> LoginResult {
        let id = try await deployment.register(email)["objectId"]?.string ?? ""
        try await deployment.database.psql(
            "update demo.users set email_verified = true, created = now() - interval '1 year' where object_id = '\(id)'"
        )
        return try await deployment.logIn(email)
    }

    private func change(_ session: LoginResult, email: String) async throws -> HTTPReply {
        try await deployment.send(
            "PUT",
            "users/\(session.objectID)",
            #"{"email": "\#(email)"}"#,
            token: session.token
        )
    }

    /// Links an identity and makes it old enough to be restored.
    private func link(_ session: LoginResult) async throws -> Visitor {
        let person = try await deployment.newcomer()
        let body = #"{"accessToken": "\#(person.token)"}"#
        let reply = try await deployment.send("POST", "users/identities/facebook", body, token: session.token)
        try #require(reply.status == 200, "\(reply.text)")
        try await deployment.database.psql(
            "update demo.identities set created = now() - interval '200 days' where object_id = '\(session.objectID)'"
        )
        return person
    }

    @Test("T-33: the former address is told of another one, and whoever reads it takes the account back, once")
    func address() async throws {
        let (email, thief) = ("ann.canary@example.com", "thief.canary@example.com")
        let session = try await owner(email)
        let changed = try await change(session, email: thief)
        #expect(changed.status == 200, "\(changed.text)")
        let token = try await mails.token(to: email, page: "undo-change")

        // The thief does everything possible to keep the account.
        #expect(try await deployment.send("GET", "users/restorepassword/\(thief)").status == 200)
        let reset = try await mails.token(to: thief, page: "reset-password")
        let body = #"{"token": "\#(reset)", "password": "a thieving canary sentence"}"#
        try expectProblem(try await deployment.send("POST", "users/resetpassword", body), "conflict")
        let password = #"{"password": "a thieving canary sentence"}"#
        let taken = try await deployment.send("PUT", "users/\(session.objectID)", password, token: session.token)
        #expect(taken.status == 200, "\(taken.text)")
        for address in [email, thief] {
            #expect(try await mails.next(to: address).contains("all other devices were logged out"), "both hear of it")
        }
        let stolen = try await deployment.logIn(thief, password: "a thieving canary sentence")
        #expect(try await deployment.send("GET", "users/restorepassword/\(thief)").status == 200)
        let late = try await mails.token(to: thief, page: "reset-password")

        for _ in 1...2 {
            let shown = try await page(token)
            #expect(shown.status == 200 && shown.text.contains("<form method=\"post\">"))
            #expect(shown.text.contains(email) && !shown.text.contains(thief))
        }
        #expect(try await deployment.isValid(stolen.token), "looking changes nothing")
        let short = try await submit(token, "too short")
        #expect(short.status == 422 && short.text.contains("<form method=\"post\">"))
        let undone = try await submit(token, words)
        #expect(undone.status == 200, "\(undone.text)")
        #expect(try await submit(token, words).status == 400)
        #expect(try await page(token).status == 400)

        for token in [session.token, stolen.token] { #expect(try await !deployment.isValid(token)) }
        #expect(try await logInReason(thief, "a thieving canary sentence") == "login_invalid")
        let body2 = #"{"token": "\#(late)", "password": "a thieving canary sentence"}"#
        try expectProblem(try await deployment.send("POST", "users/resetpassword", body2), "link_invalid")
        #expect(try await deployment.logIn(email, password: words).objectID == session.objectID)
        let row = try await deployment.row(of: session.objectID)
        #expect(row?["email"] == .string(email) && row?["email_verified"] == .bool(true))
        for address in [email, thief] {
            #expect(try await mails.next(to: address).contains("all other devices were logged out"))
        }
        #expect(
            try await deployment.value("select count(*) from demo.email_proofs where object_id = '\(session.objectID)'")
                == "0"
        )
    }

    @Test("T-43: an identity that is unlinked comes back by the notice, through the app's own call as well")
    func unlinking() async throws {
        let email = "bea.canary@example.com"
        let session = try await owner(email)
        let person = try await link(session)
        let unlinked = try await deployment.send("DELETE", "users/identities/facebook", token: session.token)
        #expect(unlinked.status == 204, "\(unlinked.text)")
        let token = try await mails.token(to: email, page: "undo-change")
        let body = #"{"token": "\#(token)", "password": "\#(words)"}"#
        let undone = try await deployment.send("POST", "users/undochange", body)
        #expect(undone.status == 200 && undone.text == #"{"notRestored":[]}"#, "\(undone.text)")
        try expectProblem(try await deployment.send("POST", "users/undochange", body), "link_invalid")
        #expect(try await !deployment.isValid(session.token))
        #expect(try await deployment.loggedIn(person).objectID == session.objectID)
    }

    @Test("an identity that opens another account by now is named, and the rest comes back")
    func elsewhere() async throws {
        let email = "eva.canary@example.com"
        let session = try await owner(email)
        let person = try await link(session)
        _ = try await deployment.send("DELETE", "users/identities/facebook", token: session.token)
        let token = try await mails.token(to: email, page: "undo-change")
        let other = try await deployment.loggedIn(person)
        #expect(other.objectID != session.objectID)
        let undone = try await submit(token, words)
        #expect(undone.status == 200 && undone.text.contains("could not be linked again"), "\(undone.text)")
        #expect(try await deployment.loggedIn(person).objectID == other.objectID)
        #expect(try await deployment.logIn(email, password: words).objectID == session.objectID)
    }

    @Test("a password that is removed can be set anew by the notice")
    func password() async throws {
        let email = "cleo.canary@example.com"
        let session = try await owner(email)
        _ = try await link(session)
        let removed = try await deployment.send("DELETE", "users/identities/password", token: session.token)
        #expect(removed.status == 204, "\(removed.text)")
        #expect(try await logInReason(email, Deployment.password) == "login_invalid")
        let token = try await mails.token(to: email, page: "undo-change")
        #expect(try await submit(token, words).status == 200)
        #expect(try await deployment.logIn(email, password: words).objectID == session.objectID)
    }

    @Test("an address that was never confirmed is told, and trusted with no link")
    func unconfirmed() async throws {
        let email = "dora.canary@example.com"
        _ = try await deployment.register(email)
        let session = try await deployment.logIn(email)
        #expect(try await change(session, email: "dora2.canary@example.com").status == 200)
        let notice = try await mails.next(to: email)
        #expect(notice.contains("no longer belongs to the account") && !notice.contains("token="), "\(notice)")
        #expect(
            try await deployment.value("select count(*) from demo.email_proofs where object_id = '\(session.objectID)'")
                == "0"
        )
    }

    @Test("T-80: accounts that name somebody's mailbox use none of the notices up that its owner gets")
    func flood() async throws {
        for number in 1...4 {
            let other = "fay.canary+\(number)@example.com"
            _ = try await deployment.register(other)
            let reply = try await change(try await deployment.logIn(other), email: "away\(number).canary@example.com")
            #expect(reply.status == 200, "\(reply.text)")
        }
        let session = try await owner("fay.canary@example.com")
        #expect(try await change(session, email: "thief2.canary@example.com").status == 200)
        _ = try await mails.token(to: "fay.canary@example.com", page: "undo-change")
        var told = 0
        for number in 1...4 { told += try mails.take(to: "fay.canary+\(number)@example.com").count }
        #expect(told == 3, "nobody's mailbox is filled")
    }
}
