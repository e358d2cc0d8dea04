import Encodings
import FoundationEssentials
import NIOConcurrencyHelpers
@testable import ServerTestSupport
import Testing
import TestSupport

private let strict = Document(
    application: "strict",
    settings: #"{"secondFactor": {"policy": "required", "factors": ["totp"]}}"#
)
private let former = Document(application: "former", keyVariable: "OTHER_API_KEY")
private let nicks = Document(
    application: "nicks",
    settings: #"{"identityProperty": "nick"}"#,
    properties: #"{"nick": {"type": "STRING", "indexed": true}}"#
)

@Suite(
    "Passwords that a former system checks",
    .serialized,
    .deployed(
        Document(mapping: #"{"email": "email"}"#),
        strict,
        former,
        nicks,
        environment: [
            "DEMO_PASSWORD_SOURCE_SECRET": "canary-rest-key",
            "FORMER_PASSWORD_SOURCE_SECRET": Canary.otherAPIKey,
            "ODD_PASSWORD_SOURCE_SECRET": "canary/../key",
        ]
    )
)
struct PasswordSourceTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// A user whom this service knows without a password.
    private struct Person {
        let id = UUID().uuidString
        let email = "p\(UInt32.random(in: 0...UInt32.max)).Canary@example.com"
        /// Shorter than the policy allows for new passwords.
        let password = "canary7"
    }

    // MARK: - The former system

    private static let wrong = AnsweringServer.Answer.reply(
        401,
        #"{"code": 3003, "message": "Invalid login or password", "errorData": {}}"#
    )

    /// Answers as Backendless does, which knows only this person.
    private static func backendless(_ person: Person, id: String? = nil) -> AnsweringServer.Answering {
        let (email, password, id) = (person.email, person.password, id ?? person.id)
        return { request in
            guard let body = JSON.object(request.body), body["login"]?.string == email,
                body["password"]?.string == password
            else { return wrong }
            return .reply(200, #"{"objectId": "\#(id)", "email": "\#(email)", "user-token": "canary token"}"#)
        }
    }

    private func setSource(
        _ kind: String,
        _ url: String,
        applicationID: String? = "APP-ID",
        secret: String = "DEMO_PASSWORD_SOURCE_SECRET",
        of application: String = "demo"
    ) async throws {
        let id = kind == "backendless" ? applicationID.map(JSON.quoted) ?? "null" : "null"
        let json = """
            {"settings": {"passwordSource": {"kind": "\(kind)", "url": "\(url)", "applicationId": \(id),
             "secretVariable": "\(secret)"}}}
            """
        try await deployment.admin().ask("PATCH", "applications/\(application)", json)
    }

    /// Runs a former system, and makes it the password source of an application.
    private func withFormer(
        _ answering: @escaping AnsweringServer.Answering,
        kind: String = "backendless",
        path: String = "",
        of application: String = "demo",
        _ body: (AnsweringServer) async throws -> Void
    ) async throws {
        try await deployment.database.psql("delete from demo.attempts")
        try await AnsweringServer.running(answering) { server in
            try await setSource(kind, server.url + path, of: application)
            try await body(server)
        }
    }

    // MARK: - Users and logins

    private func importUser(_ status: String = "ENABLED", into application: String = "demo") async throws -> Person {
        let person = Person()
        try await importUsers(
            #""objectId","email","password","userStatus""# + "\n"
                + #""\#(person.id)","\#(person.email)","","\#(status)""# + "\n",
            into: application
        )
        return person
    }

    private func importUsers(_ csv: String, into application: String) async throws {
        try await Document.withFile(csv) { path in
            _ = try await deployment.command("user", "import", application, path, "--from", "backendless")
        }
    }

    private func logIn(
        _ login: String,
        _ password: String,
        to document: Document? = nil
    ) async throws -> HTTPReply {
        let body = JSONValue.object(["login": .string(login), "password": .string(password)]).text
        return try await deployment.send("POST", "users/login", body, to: document)
    }

    private func failures() async throws -> String? {
        try await deployment.value("select coalesce(sum(failures), 0) from demo.attempts")
    }

    // MARK: - Right and wrong

    @Test("a right password is asked for once, stored, and opens a session; from then on it is checked here")
    func once() async throws {
        let person = try await importUser()
        try await withFormer(Self.backendless(person), path: "/base/") { server in
            let first = try deployment.signedIn(try await logIn(person.email.lowercased(), person.password))
            #expect(try await deployment.isValid(first.token))
            #expect(first.user["objectId"]?.string == person.id)
            #expect(first.user["email"]?.string == person.email)
            let request = try #require(server.requests.first)
            #expect(request.method == "POST")
            #expect(request.target == "/base/APP-ID/canary-rest-key/users/login")
            #expect(request.header("Content-Type") == "application/json")
            #expect(request.header("Authorization") == nil)
            #expect(JSON.object(request.body)?.keys == ["login", "password"])
            #expect(try await logIn(person.email, person.password).status == 200)
            try expectProblem(try await logIn(person.email, person.password + "x"), "login_invalid")
            #expect(server.requests.count == 1, "the former system is never asked again")
            let metrics = try await deployment.service.management.get("/metrics").text
            #expect(metrics.contains(#"federation_password_source_total{outcome="confirmed"}"#))
        }
    }

    @Test("what the former system refuses is a wrong password, and counts as one")
    func refusals() async throws {
        let person = try await importUser()
        let code = NIOLockedValueBox<Int?>(nil)
        let answering: AnsweringServer.Answering = { request in
            guard let code = code.withLockedValue({ $0 }) else { return await Self.backendless(person)(request) }
            return .reply(400, #"{"code": \#(code), "message": "refused"}"#)
        }
        try await withFormer(answering) { server in
            try expectProblem(try await logIn(person.email, "canary8"), "login_invalid")
            #expect(try await failures() == "2", "one for the source, one for the account")
            try await deployment.database.psql("delete from demo.attempts")
            for refusal in [3000, 3036, 3087, 3090] {
                code.withLockedValue { $0 = refusal }
                try expectProblem(try await logIn(person.email, person.password), "login_invalid", "\(refusal)")
            }
            #expect(server.requests.count == 5)
        }
    }

    @Test("a right password of another objectId opens nothing, is stored nowhere, and is logged")
    func otherUser() async throws {
        let person = try await importUser()
        for id in [UUID().uuidString, "", "canary"] {
            try await withFormer(Self.backendless(person, id: id)) { server in
                try expectProblem(try await logIn(person.email, person.password), "login_invalid", "\(id)")
                try expectProblem(try await logIn(person.email, person.password), "login_invalid", "\(id)")
                #expect(server.requests.count == 2)
            }
        }
        #expect(deployment.service.process.standardOutput.contains("that of another user"))
    }

    @Test("an unknown login, a user with a hash and a text that is no password ask nothing")
    func unasked() async throws {
        let (person, owner) = (try await importUser(), "owner\(UUID()).canary@example.com")
        _ = try await deployment.register(owner)
        try await withFormer(Self.backendless(person)) { server in
            for (login, password) in [
                ("nobody.canary@example.com", "canary7"), (owner, "canary7"), ("no address", "canary7"),
                (person.email, String(repeating: "x", count: 257)),
            ] {
                try expectProblem(try await logIn(login, password), "login_invalid")
            }
            #expect(try await logIn(owner, Deployment.password).status == 200)
            try await deployment.admin().ask(
                "PATCH",
                "applications/demo",
                #"{"settings": {"passwordSource": {"kind": "off"}}}"#
            )
            try expectProblem(try await logIn(person.email, person.password), "login_invalid")
            #expect(server.requests.isEmpty)
        }
    }

    @Test("the limits of guesses apply before the question")
    func limits() async throws {
        let person = try await importUser()
        try await withFormer(Self.backendless(person)) { server in
            var refused = 0
            while try await logIn(person.email, "canary8").status == 401 { refused += 1 }
            #expect(server.requests.count == refused)
            try expectProblem(try await logIn(person.email, person.password), "too_many_attempts")
            #expect(server.requests.count == refused)
            try await deployment.database.psql("delete from demo.attempts")
            #expect(try await logIn(person.email, person.password).status == 200)
            #expect(try await deployment.value("select count(*) from demo.attempts where failures > 0") == "0")
        }
    }

    @Test("two logins at once store one password, and both open a session")
    func atOnce() async throws {
        let person = try await importUser()
        let asked = NIOLockedValueBox(0)
        let answering: AnsweringServer.Answering = { request in
            asked.withLockedValue { $0 += 1 }
            try? await eventually("both ask") { asked.withLockedValue { $0 } == 2 }
            return await Self.backendless(person)(request)
        }
        try await withFormer(answering) { server in
            async let one = logIn(person.email, person.password)
            async let other = logIn(person.email, person.password)
            for reply in [try await one, try await other] {
                let session = try deployment.signedIn(reply)
                #expect(try await deployment.isValid(session.token))
            }
            #expect(server.requests.count == 2)
            let stored = "select count(*) from demo.passwords where object_id = '\(person.id)'"
            #expect(try await deployment.value(stored) == "1")
            #expect(try await logIn(person.email, person.password).status == 200)
        }
    }

    // MARK: - Trouble

    /// A response that says nothing about the password, and the failure of the login.
    private static let troubles: [(AnsweringServer.Answer, String)] = [
        (.reply(500), "provider_unavailable"),
        (.hangUp, "provider_unavailable"),
        (.reply(302, "{}", headers: [("Location", "/APP-ID/canary-rest-key/users/other")]), "provider_bad_reply"),
        (.reply(200, "<html>"), "provider_bad_reply"),
        (.reply(200, "{}"), "provider_bad_reply"),
        (.reply(204, ""), "provider_bad_reply"),
        (.reply(200, #"{"objectId": ""# + String(repeating: "x", count: 300_000) + #""}"#), "provider_bad_reply"),
        (.reply(401), "provider_misconfigured"),
        (.reply(400, #"{"code": 2002, "message": "unknown application"}"#), "provider_misconfigured"),
        (.reply(409, #"{"code": 3044, "message": "too many logins"}"#), "provider_misconfigured"),
        (.reply(429), "provider_rate_limited"),
        (.reply(400, #"{"code": 999, "message": "limit"}"#), "provider_rate_limited"),
    ]

    @Test("trouble of the former system is no wrong password and does not count")
    func trouble() async throws {
        let person = try await importUser()
        for (answer, reason) in Self.troubles {
            try await withFormer({ _ in answer }) { server in
                try expectProblem(try await logIn(person.email, person.password), reason, "\(answer)")
                #expect(server.requests.count == 1)
                #expect(try await failures() == "0")
            }
        }
        try await withFormer(Self.backendless(person)) { server in
            try await setSource("backendless", server.url.replacing("http:", with: "https:"))
            try expectProblem(try await logIn(person.email, person.password), "provider_unavailable", "no TLS there")
            for variable in ["UNSET_PASSWORD_SOURCE_SECRET", "ODD_PASSWORD_SOURCE_SECRET"] {
                try await setSource("backendless", server.url, secret: variable)
                let reply = try await logIn(person.email, person.password)
                try expectProblem(reply, "provider_misconfigured", "\(variable)")
            }
            #expect(server.requests.isEmpty)
            try await setSource("backendless", server.url)
            #expect(try await logIn(person.email, person.password).status == 200)
        }
    }

    @Test("a former system that does not answer fails the login in time")
    func silence() async throws {
        let person = try await importUser()
        try await withFormer({ _ in .silence }) { _ in
            try expectProblem(try await logIn(person.email, person.password), "provider_timeout")
            #expect(try await failures() == "0")
        }
    }

    @Test("after eight failures in a row nothing is sent for a while")
    func breaker() async throws {
        let person = try await importUser()
        try await withFormer({ _ in .reply(503) }) { server in
            for _ in 0..<30 {
                try expectProblem(try await logIn(person.email, person.password), "provider_unavailable")
            }
            #expect((8..<30).contains(server.requests.count), "\(server.requests.count)")
            #expect(try await failures() == "0")
        }
    }

    // MARK: - Other users and rules

    @Test("a disabled user is told so only with the right password")
    func disabled() async throws {
        let person = try await importUser("DISABLED")
        try await withFormer(Self.backendless(person)) { server in
            try expectProblem(try await logIn(person.email, "canary8"), "login_invalid")
            try expectProblem(try await logIn(person.email, person.password), "account_disabled")
            try expectProblem(try await logIn(person.email, person.password), "account_disabled")
            #expect(server.requests.count == 2)
        }
    }

    @Test("a second factor is demanded after a right password")
    func secondFactor() async throws {
        let person = try await importUser(into: "strict")
        try await withFormer(Self.backendless(person), of: "strict") { server in
            for _ in 0..<2 {
                let reply = try await logIn(person.email, person.password, to: strict)
                _ = try deployment.putOff(reply, "second_factor_enrolment_required")
            }
            #expect(server.requests.count == 1)
            #expect(try await deployment.value("select count(*) from strict.sessions") == "0")
        }
    }

    /// Creates a user without a password as an operator does, and returns the id.
    private func create(_ user: String, in application: String = "demo") async throws -> String {
        let owner = try await deployment.admin()
        let reply = try await owner.ask("POST", "applications/\(application)/users", #"{"user": \#(user)}"#)
        return try #require(reply["user"]?.object?["objectId"]?.string ?? reply["objectId"]?.string)
    }

    @Test("a user without any stored password is found by the address, if only one has it")
    func withoutRow() async throws {
        let person = Person()
        let id = try await create(#"{"email": "\#(person.email)"}"#)
        let question = "select login from demo.passwords where object_id = '\(id)'"
        #expect(try await deployment.value(question) == nil)
        try await withFormer(Self.backendless(person, id: id)) { (server) async throws in
            #expect(try await logIn(person.email.uppercased(), person.password).status == 200)
            #expect(try await deployment.value(question) == person.email.lowercased())
            #expect(try await logIn(person.email, person.password).status == 200)
            #expect(server.requests.count == 1)
        }
        let twice = Person()
        let first = try await create(#"{"email": "\#(twice.email)"}"#)
        _ = try await create(#"{"email": "\#(twice.email)"}"#)
        try await withFormer(Self.backendless(twice, id: first)) { server in
            try expectProblem(try await logIn(twice.email, twice.password), "login_invalid")
            #expect(server.requests.isEmpty)
        }
    }

    @Test("users who log in by another property are found by it")
    func otherProperty() async throws {
        let person = Person()
        let id = try await create(#"{"nick": "Ann Canary", "email": "\#(person.email)"}"#, in: "nicks")
        let answering: AnsweringServer.Answering = { request in
            guard JSON.object(request.body)?["login"]?.string == "Ann Canary" else { return Self.wrong }
            return .reply(200, #"{"objectId": "\#(id)"}"#)
        }
        try await withFormer(answering, of: "nicks") { server in
            for login in ["Ann", person.email] {
                try expectProblem(try await logIn(login, "canary7", to: nicks), "login_invalid")
            }
            #expect(server.requests.isEmpty)
            #expect(try await logIn("Ann Canary", "canary7", to: nicks).status == 200)
            #expect(try await logIn("ANN CANARY", "canary7", to: nicks).status == 200)
            #expect(server.requests.count == 1)
        }
        let refused = try await deployment.admin().send(
            "PATCH",
            "applications/nicks/properties/nick",
            #"{"indexed": false}"#
        )
        try expectProblem(refused, "document_invalid")
    }

    /// Logs a new user in by Facebook, who has no password here.
    private func facebookUser() async throws -> (email: String, session: LoginResult) {
        let email = "facebook\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        let visitor = try await deployment.newcomer(#"{"email": "\#(email)"}"#)
        return (email, try await deployment.loggedIn(visitor))
    }

    private func age(_ session: LoginResult) async throws {
        try await deployment.database.psql(
            "update demo.sessions set proved = now() - interval '1 hour' where object_id = '\(session.objectID)'"
        )
    }

    @Test("the password confirms the user of a session, too; a new password is never sent away")
    func session() async throws {
        let (ann, bob) = (try await facebookUser(), try await facebookUser())
        let answering: AnsweringServer.Answering = { request in
            guard let body = JSON.object(request.body), body["password"]?.string == "canary7" else { return Self.wrong }
            let id = body["login"]?.string == ann.email ? ann.session.objectID : bob.session.objectID
            return .reply(200, #"{"objectId": "\#(id)"}"#)
        }
        try await withFormer(answering) { server in
            func verify(_ password: String) async throws -> Bool? {
                let body = #"{"password": "\#(password)"}"#
                let reply = try await deployment.send("POST", "users/verifypassowrd", body, token: ann.session.token)
                return JSON.object(reply.text)?["valid"]?.bool
            }
            #expect(try await verify("canary8") == false)
            #expect(try await verify("canary7") == true)
            #expect(server.requests.count == 2)
            #expect(try await logIn(ann.email, "canary7").status == 200)
            #expect(server.requests.count == 2)

            func change(_ members: String) async throws -> HTTPReply {
                let path = "users/\(bob.session.objectID)"
                return try await deployment.send("PUT", path, "{\(members)}", token: bob.session.token)
            }
            try await age(bob.session)
            let new = #""password": "a new canary password""#
            try expectProblem(try await change(new), "reauthentication_required")
            #expect(server.requests.count == 2)
            try expectProblem(try await change(new + #", "currentPassword": "canary8""#), "login_invalid")
            let changed = try await change(new + #", "currentPassword": "canary7""#)
            #expect(changed.status == 200, "\(changed.text)")
            #expect(try await logIn(bob.email, "a new canary password").status == 200)
            #expect(server.requests.count == 4)
            #expect(!server.requests.contains { $0.body.contains("a new canary password") })
        }
    }

    // MARK: - Kinds

    @Test("an endpoint of the operator gets the bearer secret, and refuses by 401 or 403")
    func endpoint() async throws {
        let person = try await importUser()
        let status = NIOLockedValueBox(401)
        let answering: AnsweringServer.Answering = { request in
            guard request.header("Authorization") == "Bearer canary-rest-key" else { return .reply(500) }
            let status = status.withLockedValue { $0 }
            return .reply(status, status == 200 ? #"{"objectId": "\#(person.id.lowercased())"}"# : "no JSON")
        }
        try await withFormer(answering, kind: "endpoint", path: "/check") { server in
            for refusal in [401, 403] {
                status.withLockedValue { $0 = refusal }
                try expectProblem(try await logIn(person.email, person.password), "login_invalid")
            }
            status.withLockedValue { $0 = 404 }
            try expectProblem(try await logIn(person.email, person.password), "provider_misconfigured")
            status.withLockedValue { $0 = 200 }
            #expect(try await logIn(person.email, person.password).status == 200)
            #expect(Set(server.requests.map(\.target)) == ["/check"])
        }
    }

    @Test("this service is a former system of the wire of Backendless itself")
    func itself() async throws {
        let email = "itself.canary@example.com"
        let registered = try await deployment.register(email, to: former)
        let id = try #require(registered["objectId"]?.string)
        try await importUsers(#""objectId","email""# + "\n" + #""\#(id)","\#(email)""# + "\n", into: "demo")
        try await deployment.database.psql("delete from demo.attempts; delete from former.attempts")
        try await setSource(
            "backendless",
            "http://127.0.0.1:\(deployment.client.port)",
            applicationID: "former",
            secret: "FORMER_PASSWORD_SOURCE_SECRET"
        )
        try expectProblem(try await logIn(email, "canary8"), "login_invalid")
        #expect(try await logIn(email, Deployment.password).status == 200)
        let sessions = "select count(*) from former.sessions"
        #expect(try await deployment.value(sessions) == "1")
        #expect(try await logIn(email, Deployment.password).status == 200)
        #expect(try await deployment.value(sessions) == "1")
        // An account of another id here, with the address of a user there, is not opened.
        let other = "other.canary@example.com"
        _ = try await deployment.register(other, to: former)
        _ = try await create(#"{"email": "\#(other)"}"#)
        try expectProblem(try await logIn(other, Deployment.password), "login_invalid")
    }

    @Test(
        "settings that would ask nobody, or another server than meant, are refused",
        arguments: [
            #""kind": "backendless""#,
            #""kind": "backendless", "url": "https://api.example.com", "secretVariable": "A_PASSWORD_SOURCE_SECRET""#,
            #""kind": "endpoint", "url": "https://api.example.com""#,
            #"""
            "kind": "endpoint", "url": "https://api.example.com", "secretVariable": "A_PASSWORD_SOURCE_SECRET",
            "applicationId": "A"
            """#,
            #""url": "http://api.example.com""#, #""url": "https://api.example.com/?a=b""#,
            #""url": "https://user@api.example.com/""#, #""url": "http://localhost.example.com""#,
            #""url": "http://127.0.0.1:1x/""#, #""url": "ftp://api.example.com""#,
            #""applicationId": "a/b""#, #""secretVariable": "HOME""#,
            #""secretVariable": "FEDERATION_PASSWORD_SOURCE_SECRET""#, #""secret": "canary""#,
        ]
    )
    func settings(members: String) async throws {
        let reply = try await deployment.admin().send(
            "PATCH",
            "applications/former",
            #"{"settings": {"passwordSource": {\#(members)}}}"#
        )
        try expectProblem(reply, "document_invalid")
    }
}
