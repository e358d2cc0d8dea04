import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Policies of logins as an application sets them",
    .serialized,
    .deployed(
        Document(
            hasServerKey: true,
            settings: """
                {"passwords": {"minLength": 9}, "reauthentication": "session", "lockout": {"failures": 3, "seconds": 600},
                 "allowAccountEnumeration": true, "apiKeyRights": ["confirmationURL", "findByRole"], "roles": ["Editor"],
                 "registration": {"confirmEmail": false, "maxPerSourcePerHour": 1000}}
                """
        ),
        Document(
            application: "usual",
            hasServerKey: true,
            settings: #"{"roles": ["Editor"], "registration": {"maxPerSourcePerHour": 1000}}"#
        ),
        Document(
            application: "confirming",
            settings: #"{"apiKeyRights": ["confirmationURL"], "registration": {"confirmEmail": true}}"#
        ),
        Document(
            application: "single",
            hasServerKey: true,
            settings:
                #"{"multipleLogins": false, "sessionLimitBehavior": "refuse", "registration": {"maxPerSourcePerHour": 1000}}"#
        ),
        Document(
            application: "several",
            hasServerKey: true,
            settings:
                #"{"maxSessions": 2, "sessionLimitBehavior": "refuse", "registration": {"maxPerSourcePerHour": 1000}}"#
        ),
        environment: mails.environment
    )
)
struct LoginPolicyTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func document(_ application: String) throws -> Document {
        try #require(deployment.documents.first { $0.application == application })
    }

    private func register(_ email: String, _ password: String, to document: Document? = nil) async throws -> HTTPReply {
        let body = #"{"email": "\#(email)", "password": "\#(password)"}"#
        return try await deployment.send("POST", "users/register", body, to: document)
    }

    @Test("passwords are as long as the application says wherever one is chosen, and common ones are never taken")
    func shortPassword() async throws {
        try expectProblem(try await register("eight.canary@example.com", "xylophon"), "password_not_allowed")
        try expectProblem(try await register("common.canary@example.com", "password1"), "password_not_allowed")
        #expect(try await register("nine.canary@example.com", "xylophone").status == 200)
        let usual = try document("usual")
        let refusal = try await register("nine.canary@example.com", "xylophone", to: usual)
        #expect(try expectProblem(refusal, "password_not_allowed")["rule"]?.string == "tooShort")

        _ = try await deployment.send("GET", "users/restorepassword/nine.canary@example.com")
        let token = try await mails.token(to: "nine.canary@example.com", page: "reset-password")
        func reset(_ password: String) async throws -> HTTPReply {
            try await deployment.send(
                "POST",
                "users/resetpassword",
                #"{"token": "\#(token)", "password": "\#(password)"}"#
            )
        }
        let tooShort = try await reset("zymurgic")
        try expectProblem(tooShort, "password_not_allowed")
        #expect(tooShort.text.contains("fewer than 9 characters"))
        #expect(try await reset("zymurgies").status == 200)
        _ = try await deployment.logIn("nine.canary@example.com", password: "zymurgies")
    }

    @Test("T-43: where the session is enough it changes password and address, and a wrong current password is refused")
    func session() async throws {
        func old(_ name: String, in document: Document) async throws -> LoginResult {
            _ = try await deployment.register("\(name).canary@example.com", to: document)
            let session = try await deployment.logIn("\(name).canary@example.com", to: document)
            try await deployment.database.psql(
                "update \(document.application).sessions set proved = now() - interval '1 day'"
            )
            return session
        }
        func change(_ session: LoginResult, _ json: String, in document: Document) async throws -> HTTPReply {
            let path = "users/\(session.objectID)"
            return try await deployment.send("PUT", path, json, token: session.token, to: document)
        }
        let (own, usual) = (deployment.documents[0], try document("usual"))
        let ann = try await old("session", in: own)
        #expect(try await change(ann, #"{"password": "another canary sentence"}"#, in: own).status == 200)
        #expect(try await change(ann, #"{"email": "moved.canary@example.com"}"#, in: own).status == 200)
        let wrong = #"{"password": "a third canary sentence", "currentPassword": "wrong canary words"}"#
        try expectProblem(try await change(ann, wrong, in: own), "login_invalid")
        _ = try await deployment.logIn("moved.canary@example.com", password: "another canary sentence")

        let bob = try await old("session", in: usual)
        let refused = try await change(bob, #"{"password": "another canary sentence"}"#, in: usual)
        try expectProblem(refused, "reauthentication_required")
    }

    @Test("T-80: as many wrong passwords as the application says lock a login, and no other login")
    func lock() async throws {
        func logIn(_ name: String, _ password: String, to document: Document? = nil) async throws -> HTTPReply {
            let body = #"{"login": "\#(name).canary@example.com", "password": "\#(password)"}"#
            return try await deployment.send("POST", "users/login", body, to: document)
        }
        let usual = try document("usual")
        for application in [deployment.documents[0], usual] {
            _ = try await deployment.register("locked.canary@example.com", to: application)
            for _ in 1...3 {
                try expectProblem(try await logIn("locked", "wrong canary words", to: application), "login_invalid")
            }
        }
        _ = try await deployment.register("free.canary@example.com")
        let locked = try await logIn("locked", Deployment.password)
        try expectProblem(locked, "too_many_attempts")
        #expect((300...600).contains(Int(locked.header("Retry-After") ?? "") ?? 0))
        #expect(try await logIn("free", Deployment.password).status == 200)
        #expect(try await logIn("locked", Deployment.password, to: usual).status == 200)
        // Simulate the end of the lockout.
        try await deployment.database.psql("update demo.attempts set counted_since = now() - interval '601 s'")
        #expect(try await logIn("locked", Deployment.password).status == 200)
    }

    @Test("T-83: restoring the password of a login that nobody has is answered 3020 where the application says so")
    func unknownLogin() async throws {
        let usual = try document("usual")
        _ = try await deployment.register("known.canary@example.com")
        let ann = try await deployment.newcomer(#"{"email": "facebook.canary@example.com"}"#)
        _ = try await deployment.loggedIn(ann, mapping: #"{"email": "email"}"#)
        func restore(_ login: String, of document: Document? = nil) async throws -> HTTPReply {
            try await deployment.send("GET", "users/restorepassword/\(login)", to: document)
        }
        #expect(try await restore("Known.canary@example.com").status == 200)
        _ = try await mails.token(to: "known.canary@example.com", page: "reset-password")
        for login in ["nobody.canary@example.com", "facebook.canary@example.com", "no-address"] {
            try expectProblem(try await restore(login), "login_unknown")
            #expect(try await restore(login, of: usual).status == 200)
        }
        // Repeated requests for one login are subject to the limits of mails.
        for _ in 1...2 { try expectProblem(try await restore("nobody.canary@example.com"), "login_unknown") }
        try expectProblem(try await restore("nobody.canary@example.com"), "too_many_attempts")
        try await deployment.database.psql("update demo.users set user_status = 'DISABLED' where email like 'known%'")
        try expectProblem(try await restore("known.canary@example.com"), "login_unknown")
        let again = try await deployment.send("POST", "users/resendconfirmation/nobody.canary@example.com", "{}")
        try expectProblem(again, "confirmation_off")
    }

    @Test("what the application opens to every key is open to it, and leaves no trace in the audit log")
    func apiKeyRights() async throws {
        let (usual, confirming) = (try document("usual"), try document("confirming"))
        let user = try await deployment.register("role.canary@example.com")
        let assign = #"{"user": "role.canary@example.com", "roleName": "Editor"}"#
        let given = try await deployment.send("POST", "users/assignRole", assign, key: Canary.serverAPIKey)
        #expect(given.status == 200)
        let audited = "select count(*) from federation.audit_log"
        let before = try await deployment.value(audited)
        let found = try await deployment.get("users/role/Editor?loadRoles=true")
        #expect(JSON.value(found.text)?.array?.first?.object?["objectId"] == user["objectId"], "\(found.text)")
        #expect(try await deployment.value(audited) == before)
        try expectProblem(try await deployment.get("users/role/Editor", of: usual), "server_key_required")
        let forbidden = try await deployment.send("POST", "users/assignRole", assign)
        try expectProblem(forbidden, "role_assignment_forbidden")

        _ = try await deployment.register("url.canary@example.com", to: confirming)
        let path = "users/createEmailConfirmationURL/url.canary@example.com"
        let made = try await deployment.send("POST", path, to: confirming)
        let url = try #require(JSON.object(made.text)?["confirmationURL"]?.string, "\(made.text)")
        #expect(url.hasPrefix("https://users.example.com/confirming/confirm-email?token="))
        // The link does not prove access to the mailbox, so it cannot set a new password.
        let token = url.suffix(43)
        let other = #"{"token": "\#(token)", "newPassword": "words of a canary thief"}"#
        let moved = try await deployment.send("POST", "users/confirmemail", other, to: confirming)
        try expectProblem(moved, "link_invalid")
        let page = try await deployment.client.get("/confirming/confirm-email?token=\(token)")
        #expect(page.status == 200 && !page.text.contains("newPassword"))
        let status = "select user_status from confirming.users where email = 'url.canary@example.com'"
        #expect(try await deployment.value(status) == "EMAIL_CONFIRMATION_PENDING")
        // No link is issued for a confirmed account either.
        let body = #"{"token": "\#(url.suffix(43))", "password": "\#(Deployment.password)"}"#
        #expect(try await deployment.send("POST", "users/confirmemail", body, to: confirming).status == 200)
        let id = try #require(try await deployment.value("select object_id from confirming.users"))
        for identity in ["url.canary@example.com", id] {
            let again = "users/createEmailConfirmationURL/\(identity)"
            let refusal = try await deployment.send("POST", again, to: confirming)
            try expectProblem(refusal, "not_found")
        }
        try expectProblem(try await deployment.send("POST", path, to: usual), "server_key_required")
        try expectProblem(try await deployment.get("users/role/Editor", of: confirming), "server_key_required")
    }

    @Test("T-33b: links that clients have made for them are counted with the mails, and the mailed one sets a password")
    func clientLinks() async throws {
        let confirming = try document("confirming")
        let email = "counted.canary@example.com"
        _ = try await deployment.register(email, to: confirming)
        let path = "users/createEmailConfirmationURL/\(email)"
        for _ in 1...2 { #expect(try await deployment.send("POST", path, to: confirming).status == 200) }
        let refusal = try await deployment.send("POST", path, to: confirming)
        try expectProblem(refusal, "too_many_attempts")
        let token = try await mails.token(to: email, page: "confirm-email", of: "confirming")
        let body = #"{"token": "\#(token)", "newPassword": "words of the canary reader"}"#
        #expect(try await deployment.send("POST", "users/confirmemail", body, to: confirming).status == 200)
        let login = #"{"login": "\#(email)", "password": "words of the canary reader"}"#
        #expect(try await deployment.send("POST", "users/login", login, to: confirming).status == 200)
    }

    @Test(
        "logins beyond the sessions that a user may have are refused, whatever they are by, until one ends",
        arguments: [("single", 1, "already_logged_in"), ("several", 2, "too_many_sessions")]
    )
    func excess(name: String, max: Int, reason: String) async throws {
        let application = try document(name)
        let user = try await deployment.register("\(name).canary@example.com", to: application)
        let id = try #require(user["objectId"]?.string)
        func byPassword(_ token: String? = nil) async throws -> HTTPReply {
            let body = #"{"login": "\#(name).canary@example.com", "password": "\#(Deployment.password)"}"#
            return try await deployment.send("POST", "users/login", body, token: token, to: application)
        }
        func byServer() async throws -> HTTPReply {
            let body = #"{"objectId": "\#(id)"}"#
            return try await deployment.send("POST", "users/login", body, key: Canary.serverAPIKey, to: application)
        }
        var sessions: [LoginResult] = []
        for _ in 0..<max { sessions.append(try deployment.signedIn(try await byPassword())) }
        try expectProblem(try await byPassword(), reason)
        try expectProblem(try await byServer(), reason)
        let wrong = #"{"login": "\#(name).canary@example.com", "password": "wrong canary words"}"#
        try expectProblem(try await deployment.send("POST", "users/login", wrong, to: application), "login_invalid")
        // Replacing the client's own session leaves room; so does a logout.
        let next = try deployment.signedIn(try await byPassword(sessions[0].token))
        try expectProblem(try await byPassword(sessions[0].token), reason)
        #expect(try await deployment.get("users/logout", token: next.token, of: application).status == 200)
        #expect(try await byServer().status == 200)

        let ann = try await deployment.newcomer()
        for _ in 0..<max { _ = try await deployment.loggedIn(ann, to: application) }
        try expectProblem(try await deployment.login(ann, to: application), reason)
        let guest = try await deployment.send("POST", "users/register/guest", "{}", to: application)
        let session = try deployment.signedIn(guest)
        let bob = try await deployment.newcomer()
        let own = #"{"objectId": "\#(session.objectID)", "user-token": "\#(session.token)"}"#
        let body = #"{"accessToken": "\#(bob.token)", "guestUser": \#(own)}"#
        let converted = try deployment.signedIn(try await deployment.login(body: body, to: application))
        #expect(converted.objectID == session.objectID)
        for _ in 1..<max { _ = try await deployment.loggedIn(bob, to: application) }
        try expectProblem(try await deployment.login(bob, to: application), reason)
    }

    @Test("what is weaker than it need be is told by check, diff, get and over REST")
    func warnings() async throws {
        let named = ["passwords", "reauthentication", "allowAccountEnumeration", "apiKeyRights", "apiKeyRights"]
        let over = try await deployment.admin(.viewer).get("applications/demo")
        let warnings = over["warnings"]?.array?.compactMap(\.string) ?? []
        #expect(warnings.count == named.count)
        #expect(zip(warnings, named).allSatisfy { $0.hasPrefix($1) }, "\(warnings)")
        #expect(try await deployment.admin(.viewer).get("applications/usual")["warnings"] == .array([]))
        let document = deployment.documents[0]
        let check = try await Document.run("check", document.text)
        let diff = try await Document.run(
            "diff",
            document.text,
            environment: document.environment(database: deployment.database)
        )
        let show = try await deployment.federation("get", "applications/demo")
        for process in [check, diff, show] {
            #expect(process.exitStatus == .exited(0), "\(process.standardError)")
            let told = process.standardError.split(separator: "\n").map(String.init)
            #expect(told == warnings.map { "warning: " + $0 })
        }
    }
}
