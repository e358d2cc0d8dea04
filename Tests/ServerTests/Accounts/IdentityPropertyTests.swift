import Domain
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Logins by another property than the address",
    .serialized,
    .deployed(
        Document(
            hasServerKey: true,
            settings:
                #"{"identityProperty": "login", "roles": ["Editor"], "registration": {"maxPerSourcePerHour": 1000}}"#,
            properties: """
                {"login": {"type": "STRING", "clientMappable": true}, "nick": {"type": "STRING", "clientMappable": true}}
                """,
            mapping: #"{"email": "email"}"#
        ),
        Document(
            application: "phones",
            hasServerKey: true,
            settings:
                #"{"identityProperty": "phone", "registration": {"confirmEmail": true, "maxPerSourcePerHour": 1000}}"#,
            properties: #"{"phone": {"type": "TEXT"}}"#
        ),
        Document(
            application: "open",
            hasServerKey: true,
            settings: #"{"identityProperty": "login", "collection": {"updateOthers": ["users"]}}"#,
            properties: """
                {"login": {"type": "STRING", "clientMappable": true, "visibleTo": "users"},
                 "nick": {"type": "STRING", "clientMappable": true, "visibleTo": "users"}}
                """
        ),
        Document(application: "usual", properties: #"{"login": {"type": "STRING"}, "age": {"type": "INT"}}"#),
        environment: mails.environment
    )
)
struct IdentityPropertyTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func document(_ application: String) throws -> Document {
        try #require(deployment.documents.first { $0.application == application })
    }

    private func register(_ members: String, to document: Document? = nil) async throws -> HTTPReply {
        let body = #"{"password": "\#(Deployment.password)", \#(members)}"#
        return try await deployment.send("POST", "users/register", body, to: document)
    }

    private func account(_ login: String, _ members: String = "") async throws -> LoginResult {
        let reply = try await register(#""login": "\#(login)"\#(members)"#)
        try #require(reply.status == 200, "\(reply.text)")
        return try await deployment.logIn(login)
    }

    private func put(_ session: LoginResult, _ json: String) async throws -> HTTPReply {
        try await deployment.send("PUT", "users/\(session.objectID)", json, token: session.token)
    }

    private func stale(_ session: LoginResult) async throws {
        try await deployment.database.psql(
            "update demo.sessions set proved = now() - interval '6 minutes' where object_id = '\(session.objectID)'"
        )
    }

    @Test("registering needs it, in one spelling it is one account's, and any spelling logs in")
    func register() async throws {
        try expectProblem(try await register(#""email": "no.login.canary@example.com""#), "login_missing")
        try expectProblem(try await register(#""login": """#), "login_missing")
        for wrong in [#"" ann""#, #""a\u0007b""#, #""\#(String(repeating: "x", count: 256))""#] {
            try expectProblem(try await register(#""login": \#(wrong)"#), "value_not_convertible")
        }
        try expectProblem(try await register(#""login": "Mail", "email": "no address""#), "email_invalid")
        let made = try await register(#""login": "Ann.Canary", "nick": "a""#)
        let user = try #require(JSON.object(made.text), "\(made.text)")
        #expect(user["login"]?.string == "Ann.Canary" && user["email"] == .null)
        try expectProblem(try await register(#""login": "ann.canary""#), "login_taken")
        for login in ["Ann.Canary", "ann.canary", "ANN.CANARY"] {
            #expect(try await deployment.logIn(login).objectID == user["objectId"]?.string)
        }
        let wrong = #"{"login": "ann.canary", "password": "wrong canary words"}"#
        try expectProblem(try await deployment.send("POST", "users/login", wrong), "login_invalid")
        // An address is a valid login name, and free as long as users have it only as their e-mail address.
        _ = try await account("other.canary", #", "email": "address.canary@example.com""#)
        let byAddress = #"{"login": "address.canary@example.com", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", byAddress), "login_invalid")
        #expect(try await register(#""login": "address.canary@example.com""#).status == 200)
        let columns = JSON.value(try await deployment.get("users/userclassprops").text)?.array ?? []
        let identities = columns.filter { $0.object?["identity"]?.bool == true }
        #expect(identities.map { $0.object?["name"]?.string } == ["login"])
    }

    @Test("a password is none that the login gives away")
    func password() async throws {
        let body = #"{"login": "Guessable Canary Login", "password": "guessable canary login"}"#
        try expectProblem(try await deployment.send("POST", "users/register", body), "password_not_allowed")
    }

    @Test("a telephone number may come as a number, though clients cannot write the property otherwise")
    func phone() async throws {
        let phones = try document("phones")
        let lacking = try await register(#""phone": 49301234567"#, to: phones)
        #expect(try expectProblem(lacking, "property_missing")["property"]?.string == "email")
        let made = try await register(#""phone": 49301234567, "email": "phone.canary@example.com""#, to: phones)
        #expect(JSON.object(made.text)?["phone"]?.string == "49301234567", "\(made.text)")
        let body = #"{"login": 49301234567, "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", body, to: phones), "email_unconfirmed")
        let start = "https://users.example.com/phones/confirm-email?token="
        let mail = try await mails.next(to: "phone.canary@example.com")
        let link = try #require(mail.firstRange(of: start))
        let token = String(mail[link.upperBound...].prefix(43))
        let page = try await deployment.client.get("/phones/confirm-email?token=\(token)")
        #expect(page.text.contains(#"<input type="text" autocomplete="username" value="49301234567" readonly>"#))
        let confirm = #"{"token": "\#(token)", "password": "\#(Deployment.password)"}"#
        #expect(try await deployment.send("POST", "users/confirmemail", confirm, to: phones).status == 200)
        let session = try deployment.signedIn(try await deployment.send("POST", "users/login", body, to: phones))
        let change = try await deployment.send(
            "PUT",
            "users/\(session.objectID)",
            #"{"phone": "4930"}"#,
            token: session.token,
            to: phones
        )
        #expect(JSON.object(change.text)?["phone"]?.string == "49301234567", "it is not open to clients")
        // A new address must be confirmed, even if a server writes it and it is not the login name.
        let moved = try await deployment.send(
            "PUT",
            "users/\(session.objectID)",
            #"{"email": "moved.canary@example.com"}"#,
            key: Canary.serverAPIKey,
            to: phones
        )
        #expect(moved.status == 200, "\(moved.text)")
        #expect(try await mails.next(to: "moved.canary@example.com").contains(start))
        #expect(
            try deployment.signedIn(try await deployment.send("POST", "users/login", body, to: phones)).objectID
                == session.objectID
        )
    }

    @Test("T-43: another one needs a recent authentication, is refused where it is taken, and is never taken away")
    func change() async throws {
        let ann = try await account("before.canary", #", "nick": "n""#)
        _ = try await account("taken.canary")
        try await stale(ann)
        try expectProblem(try await put(ann, #"{"login": "after.canary"}"#), "reauthentication_required")
        try expectProblem(
            try await put(ann, #"{"email": "thief.canary@example.com"}"#),
            "reauthentication_required",
            "mails would go there"
        )
        #expect(try await put(ann, #"{"login": "before.canary", "nick": "m"}"#).status == 200)
        let current = #""currentPassword": "\#(Deployment.password)""#
        let taken = try await put(ann, #"{"login": "TAKEN.canary", "nick": "lost", \#(current)}"#)
        try expectProblem(taken, "login_taken_by_other")
        try expectProblem(try await put(ann, #"{"login": null, \#(current)}"#), "login_missing")
        #expect(try await deployment.row(of: ann.objectID)?["nick"]?.string == "m")
        let changed = try await put(ann, #"{"login": "After.Canary", \#(current)}"#)
        #expect(JSON.object(changed.text)?["login"]?.string == "After.Canary", "\(changed.text)")
        #expect(try await deployment.logIn("after.canary").objectID == ann.objectID)
        let former = #"{"login": "before.canary", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", former), "login_invalid")
        let word = try await put(ann, #"{"password": "another canary sentence", \#(current)}"#)
        #expect(word.status == 200, "\(word.text)")
        let verify = try await deployment.send(
            "POST",
            "users/verifypassowrd",
            #"{"password": "another canary sentence"}"#,
            token: ann.token
        )
        #expect(verify.text == #"{"valid":true}"#)
        _ = try await deployment.logIn("after.canary", password: "another canary sentence")
    }

    @Test("who came by a provider gets a password with a value of it only")
    func firstPassword() async throws {
        let ann = try await deployment.loggedIn(try await deployment.newcomer(#"{"email": "p.canary@example.com"}"#))
        let password = #""password": "another canary sentence""#
        try expectProblem(try await put(ann, "{\(password)}"), "login_missing")
        #expect(try await put(ann, #"{"login": "provided.canary", \#(password)}"#).status == 200)
        let again = try await deployment.logIn("provided.canary", password: "another canary sentence")
        #expect(again.objectID == ann.objectID)
    }

    @Test("T-83: a mail goes to the address of the account, to none that a provider has told, and nothing shows")
    func restore() async throws {
        func restore(_ login: String) async throws {
            let reply = try await deployment.send("GET", "users/restorepassword/\(login)")
            #expect(reply.status == 200 && reply.body.isEmpty, "\(reply.text)")
        }
        let ann = try await account("restored.canary", #", "email": "restored.canary@example.com""#)
        for login in ["nobody.canary", "restored.canary@example.com", "Restored.Canary"] { try await restore(login) }
        let token = try await mails.token(to: "restored.canary@example.com", page: "reset-password")
        #expect(try mails.take(to: "restored.canary@example.com").isEmpty)
        let reset = #"{"token": "\#(token)", "password": "another canary sentence"}"#
        #expect(try await deployment.send("POST", "users/resetpassword", reset).status == 200)
        let session = try await deployment.logIn("restored.canary", password: "another canary sentence")
        #expect(session.objectID == ann.objectID)

        _ = try await account("silent.canary")
        try await restore("silent.canary")
        let visitor = try await deployment.newcomer(#"{"email": "told.canary@example.com"}"#)
        let bob = try await deployment.loggedIn(visitor)
        #expect(try await put(bob, #"{"login": "told.canary", "password": "another canary sentence"}"#).status == 200)
        let before = unsent()
        try await restore("told.canary")
        try await eventually("nothing comes of it") { unsent() > before }
        try await deployment.database.psql(
            "update demo.users set email_verified = true where object_id = '\(bob.objectID)'"
        )
        try await restore("told.canary")
        _ = try await mails.token(to: "told.canary@example.com", page: "reset-password")
        #expect(try mails.take(to: "told.canary@example.com").allSatisfy { !$0.contains("reset-password") })
        try await restore("told.canary")
        let more = try await deployment.send("GET", "users/restorepassword/told.canary")
        try expectProblem(more, "too_many_attempts", "three an hour for a login")
    }

    /// Counts the links that were sent to nobody, according to the log.
    private func unsent() -> Int {
        deployment.service.process.standardOutput.split(separator: "\n").count {
            $0.contains("link asked for") && $0.contains("nobody")
        }
    }

    @Test("a change is told to a confirmed address, whose reader brings the login back with the account")
    func undo() async throws {
        let ann = try await account("owner.canary", #", "email": "owner.canary@example.com""#)
        try await deployment.database.psql(
            "update demo.users set email_verified = true where object_id = '\(ann.objectID)'"
        )
        #expect(try await put(ann, #"{"login": "Thief.Canary"}"#).status == 200)
        let token = try await mails.token(to: "owner.canary@example.com", page: "undo-change")
        #expect(try await put(ann, #"{"email": "thief.canary@example.com"}"#).status == 200)
        let body = #"{"token": "\#(token)", "password": "a canary sentence of old"}"#
        let undone = try await deployment.send("POST", "users/undochange", body)
        #expect(undone.status == 200, "\(undone.text)")
        let session = try await deployment.logIn("owner.canary", password: "a canary sentence of old")
        #expect(session.objectID == ann.objectID)
        #expect(session.user["login"]?.string == "owner.canary")
        #expect(session.user["email"]?.string == "owner.canary@example.com")
        let thief = #"{"login": "thief.canary", "password": "a canary sentence of old"}"#
        try expectProblem(try await deployment.send("POST", "users/login", thief), "login_invalid")
    }

    @Test("a login that somebody has got since stays theirs, and the link stays good")
    func undoTaken() async throws {
        let ann = try await account("wanted.canary", #", "email": "wanted.canary@example.com""#)
        try await deployment.database.psql(
            "update demo.users set email_verified = true where object_id = '\(ann.objectID)'"
        )
        #expect(try await put(ann, #"{"login": "renamed.canary"}"#).status == 200)
        let token = try await mails.token(to: "wanted.canary@example.com", page: "undo-change")
        let other = try await account("wanted.canary")
        let body = #"{"token": "\#(token)", "password": "a canary sentence of old"}"#
        try expectProblem(try await deployment.send("POST", "users/undochange", body), "login_taken_by_other")
        #expect(try await deployment.logIn("wanted.canary").objectID == other.objectID)
        #expect(try await put(other, #"{"login": "left.canary"}"#).status == 200)
        #expect(try await deployment.send("POST", "users/undochange", body).status == 200)
    }

    @Test("no mapping writes it for who has a password")
    func mapping() async throws {
        let visitor = try await deployment.newcomer(#"{"name": "Mapped Canary"}"#)
        let mapping = #"{"name": "login"}"#
        let first = try await deployment.loggedIn(visitor, mapping: mapping)
        #expect(first.user["login"]?.string == "Mapped Canary", "nobody logs in by it yet")
        let chosen = #"{"login": "chosen.canary", "password": "another canary sentence"}"#
        #expect(try await put(first, chosen).status == 200)
        let second = try await deployment.loggedIn(visitor, mapping: mapping)
        #expect(second.user["login"]?.string == "chosen.canary")
    }

    @Test("T-43: who may change others changes nobody's, whether they have a password or not")
    func ofOthers() async throws {
        let open = try document("open")
        for login in ["ann", "bob"] {
            #expect(try await register(#""login": "\#(login)""#, to: open).status == 200)
        }
        let ann = try await deployment.logIn("ann", to: open)
        let made = try await deployment.send(
            "POST",
            "data/bulk/Users",
            #"[{"login": "cleo"}, {}]"#,
            key: Canary.serverAPIKey,
            to: open
        )
        let bob = try #require(try await deployment.value("select object_id from open.users where login = 'bob'"))
        let others = JSON.value(made.text)?.array?.compactMap { $0.string } ?? []
        try #require(others.count == 2, "\(made.text)")
        for id in others + [bob] {
            func put(_ json: String) async throws -> HTTPReply {
                try await deployment.send("PUT", "users/\(id)", json, token: ann.token, to: open)
            }
            try expectProblem(try await put(#"{"login": "dora", "nick": "x"}"#), "not_own_record")
            // Sending the whole object back is allowed, and `null` does not delete a login name.
            #expect(try await put(#"{"login": null, "nick": "y"}"#).status == 200)
        }
        let same = try await deployment.send("PUT", "users/\(bob)", #"{"login": "bob"}"#, token: ann.token, to: open)
        #expect(same.status == 200, "\(same.text)")
        let stored = try await deployment.value(
            "select string_agg(coalesce(login, '-') || nick, ' ' order by login) from open.users where nick = 'y'"
        )
        #expect(stored == "boby cleoy -y")
    }

    @Test("roles are given by it")
    func roles() async throws {
        let ann = try await account("editor.canary", #", "email": "editor.canary@example.com""#)
        func assign(_ user: String) async throws -> HTTPReply {
            let body = #"{"user": "\#(user)", "roleName": "Editor"}"#
            return try await deployment.send("POST", "users/assignRole", body, key: Canary.serverAPIKey)
        }
        try expectProblem(try await assign("editor.canary@example.com"), "not_found")
        #expect(try await assign("Editor.Canary").status == 200)
        let roles = try await deployment.get("users/userroles", token: ann.token)
        #expect(JSON.value(roles.text)?.array?.contains(.string("Editor")) == true)
    }

    @Test("a guest becomes a user with it")
    func guest() async throws {
        let guest = try deployment.signedIn(try await deployment.send("POST", "users/register/guest", "{}"))
        let body =
            #"{"objectId": "\#(guest.objectID)", "login": "guest.canary", "password": "\#(Deployment.password)"}"#
        let made = try await deployment.send("POST", "users/register", body, token: guest.token)
        #expect(made.status == 200, "\(made.text)")
        #expect(try await deployment.logIn("guest.canary").objectID == guest.objectID)
    }

    @Test("it is chosen before anybody has a password, and its property stays what it is")
    func settings() async throws {
        let admin = try await deployment.admin()
        func set(_ name: String, of application: String) async throws -> HTTPReply {
            let patch = #"{"settings": {"identityProperty": \#(name)}}"#
            return try await admin.send("PATCH", "applications/\(application)", patch)
        }
        for name in [#""nothing""#, #""age""#, "7"] {
            try expectProblem(try await set(name, of: "usual"), "document_invalid")
        }
        #expect(try await set(#""login""#, of: "usual").status == 200)
        let changes: [(method: String, path: String, body: String?)] = [
            ("DELETE", "applications/usual/properties/login?confirm=login", nil),
            ("PATCH", "applications/usual/properties/login", #"{"name": "handle"}"#),
            ("PATCH", "applications/usual/properties/login", #"{"type": "JSON"}"#),
        ]
        for (method, path, body) in changes {
            let refused = try await admin.send(method, path, body)
            let problem = try expectProblem(refused, "document_invalid")
            #expect(refused.text.contains("the login name"), "\(problem)")
        }
        #expect(try await set("null", of: "usual").status == 200)

        _ = try await account("settings.canary")
        try expectProblem(try await set(#""email""#, of: "demo"), "conflict")
        var document = deployment.documents[0]
        document.settings = "{}"
        let diff = try await Document.run(
            "diff",
            document.text,
            environment: document.environment(database: deployment.database)
        )
        #expect(diff.exitStatus != .exited(0))
        #expect(diff.standardError.contains("users have passwords already"), "\(diff.standardError)")
    }
}
