import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Confirming an e-mail address",
    .serialized,
    .deployed(
        Document(hasServerKey: true, settings: #"{"registration": {"confirmEmail": true}}"#),
        Document(application: "other", keyVariable: "OTHER_API_KEY"),
        environment: mails.environment
    )
)
struct EmailConfirmationTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func page(_ token: String) async throws -> HTTPReply {
        try await deployment.client.get("/demo/confirm-email?token=\(token)")
    }

    private func submit(_ token: String, _ field: String? = "password=\(Deployment.password)") async throws -> HTTPReply
    {
        let fields = ["token=\(token)"] + (field.map { [$0.replacing(" ", with: "+")] } ?? [])
        return try await deployment.client.send(
            "POST",
            "/demo/confirm-email",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(fields.joined(separator: "&").utf8)
        )
    }

    private func logIn(_ email: String) async throws -> HTTPReply {
        let body = #"{"login": "\#(email)", "password": "\#(Deployment.password)"}"#
        return try await deployment.send("POST", "users/login", body)
    }

    @Test("who registers waits for it; a scanner that opens the link confirms nothing, the person does, once")
    func story() async throws {
        let user = try await deployment.register("ann.canary@example.com")
        #expect(user["userStatus"]?.string == "EMAIL_CONFIRMATION_PENDING")
        try expectProblem(try await logIn("ann.canary@example.com"), "email_unconfirmed")
        let token = try await mails.token(to: "ann.canary@example.com", page: "confirm-email")
        for _ in 1...2 { #expect(try await page(token).status == 200) }
        try expectProblem(try await logIn("ann.canary@example.com"), "email_unconfirmed")
        #expect(try await submit(token).status == 200)
        #expect(try await submit(token).status == 400)
        #expect(try await logIn("ann.canary@example.com").status == 200)
        let row = try await deployment.row(of: user["objectId"]?.string ?? "")
        #expect(row?["email_verified"] == .bool(true))
    }

    @Test("T-33b: a password that somebody else chose for the address counts no more once its owner has confirmed it")
    func strangersPassword() async throws {
        let email = "owner.canary@example.com"
        let user = try await deployment.register(email)
        let id = user["objectId"]?.string ?? ""
        // Other things that a stranger may have left in the account.
        try await deployment.database.psql(
            """
            insert into demo.identities (provider, provider_app, subject, object_id) values ('facebook', '1', '666', '\(id)');
            insert into demo.sessions (token_hash, object_id, expires)
            values (sha256('stranger'), '\(id)', now() + interval '1 hour')
            """
        )
        let token = try await mails.token(to: email, page: "confirm-email")
        let shown = try await page(token).text
        #expect(shown.contains("name=\"password\"") && shown.contains("name=\"newPassword\""))
        #expect(try await submit(token, nil).status == 400, "no password at all")
        for _ in 1...2 {
            let wrong = try await submit(token, "password=this is what the owner never chose")
            #expect(wrong.status == 401 && wrong.text.contains("<form method=\"post\">"), "\(wrong.text)")
        }
        #expect(try await submit(token, "newPassword=short").status == 422)
        #expect(try await submit(token, "password=x&newPassword=my very own canary sentence").status == 400)
        try expectProblem(try await logIn(email), "email_unconfirmed")
        #expect(try await deployment.row(of: id)?["email_verified"] == .bool(false))

        #expect(try await submit(token, "newPassword=my very own canary sentence").status == 200)
        try expectProblem(try await logIn(email), "login_invalid")
        #expect(try await deployment.logIn(email, password: "my very own canary sentence").objectID == id)
        #expect(try await deployment.row(of: id)?["email_verified"] == .bool(true))
        #expect(try await deployment.value("select count(*) from demo.identities where object_id = '\(id)'") == "0")
        #expect(
            try await deployment.value("select count(*) from demo.sessions where token_hash = sha256('stranger')")
                == "0"
        )
        #expect(try await submit(token, "newPassword=another canary sentence of mine").status == 400, "it counts once")
        #expect(try await mails.next(to: email).contains("all other devices were logged out"))
    }

    @Test("T-85: passwords that are tried by the link of a confirmation are guesses like all others")
    func guesses() async throws {
        let email = "tried.canary@example.com"
        _ = try await deployment.register(email)
        let token = try await mails.token(to: email, page: "confirm-email")
        var statuses: Set<Int> = []
        // The wait doubles with each failure, so at last it is longer than a request, however slow the machine is.
        for _ in 1...16 where !statuses.contains(429) {
            statuses.insert(try await submit(token, "password=one of many canary tries").status)
        }
        #expect(statuses == [401, 429])
    }

    @Test("another mail can be asked for, whoever it is for, until the address is confirmed")
    func resending() async throws {
        _ = try await deployment.register("bob.canary@example.com")
        _ = try await mails.next(to: "bob.canary@example.com")
        var token = ""
        for path in ["users/resendconfirmation", "users/resendEmailConfirmation"] {
            for identity in ["bob.canary@example.com", "nobody.canary@example.com"] {
                let reply = try await deployment.send("POST", "\(path)/\(identity)")
                #expect(reply.status == 200, "\(path): \(reply.text)")
                #expect(reply.body.isEmpty)
            }
            token = try await mails.token(to: "bob.canary@example.com", page: "confirm-email")
        }
        let bare = try await deployment.send("POST", "users/confirmemail", #"{"token": "\#(token)"}"#)
        try expectProblem(bare, "password_missing")
        let body = #"{"token": "\#(token)", "password": "\#(Deployment.password)"}"#
        #expect(try await deployment.send("POST", "users/confirmemail", body).status == 200)
        #expect(try await logIn("bob.canary@example.com").status == 200)
        try await deployment.database.psql("delete from demo.attempts")
        #expect(try await deployment.send("POST", "users/resendconfirmation/bob.canary@example.com").status == 200)
        let links = "select count(*) from demo.email_proofs where email = 'bob.canary@example.com'"
        #expect(try await deployment.value(links) == "0")
        let other = try await deployment.send(
            "POST",
            "users/resendconfirmation/bob.canary@example.com",
            to: deployment.documents[1]
        )
        try expectProblem(other, "confirmation_off")
    }

    @Test("T-80: whoever asks for confirmations keeps nobody from the link of a reset")
    func otherLinks() async throws {
        let email = "locked.canary@example.com"
        let id = try await deployment.register(email)["objectId"]?.string ?? ""
        _ = try await mails.next(to: email)
        try await deployment.database.psql("update demo.users set email_verified = true where object_id = '\(id)'")
        for _ in 1...2 {
            #expect(try await deployment.send("POST", "users/resendconfirmation/\(email)").status == 200)
        }
        try expectProblem(
            try await deployment.send("POST", "users/resendconfirmation/\(email)"),
            "too_many_attempts"
        )
        #expect(try await deployment.send("GET", "users/restorepassword/\(email)").status == 200)
        _ = try await mails.token(to: email, page: "reset-password")
    }

    @Test("an address that takes the place of another is asked to be confirmed")
    func newAddress() async throws {
        let user = try await deployment.register("moving.canary@example.com")
        let token = try await mails.token(to: "moving.canary@example.com", page: "confirm-email")
        #expect(try await submit(token).status == 200)
        let session = try deployment.signedIn(try await logIn("moving.canary@example.com"))
        let body = #"{"email": "moved.canary@example.com"}"#
        let reply = try await deployment.send("PUT", "users/\(session.objectID)", body, token: session.token)
        #expect(reply.status == 200, "\(reply.text)")
        let id = user["objectId"]?.string ?? ""
        #expect(try await deployment.row(of: id)?["email_verified"] == .bool(false))
        #expect(try await submit(mails.token(to: "moved.canary@example.com", page: "confirm-email")).status == 200)
        #expect(try await deployment.row(of: id)?["email_verified"] == .bool(true))
    }

    @Test("T-80: an address that is given again and again, in other letters, is sent three mails an hour")
    func sameAddress() async throws {
        _ = try await deployment.register("steady.canary@example.com")
        let token = try await mails.token(to: "steady.canary@example.com", page: "confirm-email")
        #expect(try await submit(token).status == 200)
        let session = try deployment.signedIn(try await logIn("steady.canary@example.com"))
        for address in ["Victim", "vIctim", "viCtim", "vicTim", "victIm", "victiM", "victim"] {
            let body = #"{"email": "\#(address).canary@example.com"}"#
            let reply = try await deployment.send("PUT", "users/\(session.objectID)", body, token: session.token)
            #expect(reply.status == 200, "\(reply.text)")
        }
        let links =
            "select count(*) from demo.mails where object_id = '\(session.objectID)' and event like 'confirmation/%'"
        #expect(try await deployment.value(links) == "4", "one of them for the registration")
    }

    @Test("T-80, T-81: mails to the addresses of one mailbox are counted together, whichever account they are of")
    func mailbox() async throws {
        func register(_ email: String) async throws -> HTTPReply {
            let body = #"{"email": "\#(email)", "password": "\#(Deployment.password)"}"#
            return try await deployment.send("POST", "users/register", body)
        }
        for number in 1...2 { #expect(try await register("filled.canary+\(number)@example.com").status == 200) }
        // A registration of an existing account sends no mail.
        for _ in 1...3 { try expectProblem(try await register("filled.canary+1@example.com"), "login_taken") }
        #expect(try await deployment.send("POST", "users/resendconfirmation/filled.canary+1@example.com").status == 200)
        let refused = try await register("filled.canary+3@example.com")
        try expectProblem(refused, "too_many_attempts")
        #expect((refused.header("Retry-After").flatMap { Int($0) } ?? 0) > 3000)
        #expect(
            try await deployment.value("select count(*) from demo.passwords where login like 'filled.canary+%'") == "2"
        )
        // Gmail ignores dots, and has a second domain.
        for email in ["f.illed.canary@gmail.com", "filled.can.ary+x@googlemail.com", "filledcanary@gmail.com"] {
            #expect(try await register(email).status == 200)
        }
        try expectProblem(try await register("filledcanary+y@gmail.com"), "too_many_attempts")
        #expect(try await register("other.canary@gmail.com").status == 200)
        for email in ["f.illed.canary@gmail.com", "filledcanary@gmail.com"] {
            #expect(try await deployment.value("select count(*) from demo.passwords where login = '\(email)'") == "1")
        }
    }

    @Test(
        "who waits for the confirmation, is disabled and enabled again, waits still; an operator can vouch for the address"
    )
    func enabled() async throws {
        let user = try await deployment.register("moderated.canary@example.com")
        let id = user["objectId"]?.string ?? ""
        func set(_ status: String) async throws {
            let body = #"{"userStatus": "\#(status)"}"#
            let reply = try await deployment.send("PUT", "users/\(id)/status", body, key: Canary.serverAPIKey)
            #expect(reply.status == 200, "\(reply.text)")
        }
        try await set("DISABLED")
        try await set("ENABLED")
        try expectProblem(try await logIn("moderated.canary@example.com"), "email_unconfirmed")
        try await set("ENABLED")
        #expect(try await logIn("moderated.canary@example.com").status == 200)
        // Disabling a user who has logged in does not require a confirmation again.
        try await set("DISABLED")
        try await set("ENABLED")
        #expect(try await logIn("moderated.canary@example.com").status == 200)
    }

    @Test("a server that changes an address has its reader asked, as the person does")
    func serverChange() async throws {
        let user = try await deployment.register("leaving.canary@example.com")
        let first = try await mails.token(to: "leaving.canary@example.com", page: "confirm-email")
        #expect(try await submit(first).status == 200)
        let id = try #require(user["objectId"]?.string)
        func put(_ body: String) async throws {
            let reply = try await deployment.send("PUT", "data/Users/\(id)", body, key: Canary.serverAPIKey)
            #expect(reply.status == 200, "\(reply.text)")
        }
        try await put(#"{"email": "reached.canary@example.com"}"#)
        let token = try await mails.token(to: "reached.canary@example.com", page: "confirm-email")
        #expect(try await deployment.row(of: id)?["email_verified"] == .bool(false))
        let links = "select count(*) from demo.email_proofs where object_id = '\(id)' and purpose = 'confirmation'"
        try await put(#"{"email": "reached.canary@example.com", "name": "Moved"}"#)
        #expect(try await deployment.value(links) == "1", "the address is the same")
        #expect(try await submit(token).status == 200)
        #expect(try await deployment.row(of: id)?["email_verified"] == .bool(true))
    }

    @Test("a server gets the link itself, by login or id; nobody else does")
    func serverLink() async throws {
        let user = try await deployment.register("carl.canary@example.com")
        let path = "users/createEmailConfirmationURL/"
        try expectProblem(try await deployment.send("POST", path + "carl.canary@example.com"), "server_key_required")
        for identity in ["Carl.canary%40example.com", user["objectId"]?.string ?? ""] {
            let reply = try await deployment.send("POST", path + identity, key: Canary.serverAPIKey)
            let url = try #require(JSON.object(reply.text)?["confirmationURL"]?.string, "\(reply.text)")
            #expect(url.hasPrefix("https://users.example.com/demo/confirm-email?token="))
            #expect(!url.contains(Canary.serverAPIKey))
            #expect(try await page(String(url.suffix(43))).status == 200)
        }
        let unknown = try await deployment.send("POST", path + "nobody@example.com", key: Canary.serverAPIKey)
        try expectProblem(unknown, "not_found")
        // A token is valid for one purpose and one application only.
        let token = try await mails.token(to: "carl.canary@example.com", page: "confirm-email")
        #expect(try await deployment.client.get("/demo/reset-password?token=\(token)").status == 400)
        #expect(try await deployment.client.get("/other/confirm-email?token=\(token)").status == 400)
        #expect(try await deployment.client.get("/nowhere/confirm-email?token=\(token)").status == 404)
        #expect(try await page("").status == 400)
    }
}
