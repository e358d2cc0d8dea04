import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

private func document(
    _ application: String,
    _ more: String,
    factors: String =
        #""policy": "optional", "factors": ["totp", "email", "recoveryCode"], "exemptProviders": ["facebook"]"#
) -> Document {
    Document(
        application: application,
        settings: #"""
            {"sameAddress": "ask", "secondFactor": {\#(factors)},
             "registration": {"confirmEmail": false, "maxPerSourcePerHour": 1000}\#(more)}
            """#,
        mapping: #"{"email": "email", "name": "name"}"#
    )
}

@Suite(
    "A first login whose address an account has",
    .serialized,
    .deployed(
        document("demo", ""),
        document("telling", #", "allowAccountEnumeration": true"#),
        document("closed", #", "newUsers": "closed""#),
        document("required", "", factors: #""policy": "required""#),
        environment: mails.environment
    )
)
struct SameAddressTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func document(_ application: String) throws -> Document {
        try #require(deployment.documents.first { $0.application == application })
    }

    private func address() -> String { "s\(UInt32.random(in: 0...UInt32.max)).canary@example.com" }

    /// An account with a password, whose address is confirmed or not.
    private func account(_ email: String, confirmed: Bool = true, in document: Document? = nil) async throws -> String {
        let schema = (document ?? deployment.documents[0]).application
        try await deployment.database.psql("delete from \(schema).attempts")
        let id = try #require(try await deployment.register(email, to: document)["objectId"]?.string)
        try await deployment.database.psql(
            "update \(schema).users set email_verified = \(confirmed), name = 'Older' where object_id = '\(id)'"
        )
        return id
    }

    private func visitor(_ email: String) async throws -> Visitor {
        try await deployment.newcomer(#"{"email": "\#(email)", "name": "Younger"}"#)
    }

    /// The error data of a login that was put off.
    private func asked(_ reply: HTTPReply) throws -> JSONObject {
        try expectProblem(reply, "account_exists")
    }

    /// The pending login of a first login by Facebook with the address of an account.
    private func pending(_ visitor: Visitor, to document: Document? = nil) async throws -> String {
        try #require(try asked(try await deployment.login(visitor, to: document))["pending"]?.string)
    }

    private func start(_ pending: String, to document: Document? = nil) async throws -> HTTPReply {
        try await deployment.send("POST", "users/sameAddress/start", #"{"pending": "\#(pending)"}"#, to: document)
    }

    private func finish(
        _ pending: String,
        _ more: String = "",
        token: String? = nil,
        key: String? = nil,
        to document: Document? = nil
    ) async throws -> HTTPReply {
        var headers: [(String, String)] = []
        if let token { headers.append(("user-token", token)) }
        if let key { headers.append(("Idempotency-Key", key)) }
        return try await deployment.client.post(
            deployment.path("users/sameAddress/finish", of: document),
            json: #"{"pending": "\#(pending)"\#(more.isEmpty ? "" : ", " + more)}"#,
            headers: headers
        )
    }

    private func code(to address: String) async throws -> String {
        try await eventually("a code to \(address)") {
            let lines = try mails.take(to: address).flatMap { $0.split(whereSeparator: \.isNewline) }
            return lines.first { line in line.count == 6 && line.allSatisfy(\.isNumber) }.map(String.init)
        }
    }

    private func wrong(_ code: String) -> String { code == "123456" ? "654321" : "123456" }

    @Test("a session of the account links the login: one account with its id, properties and session")
    func session() async throws {
        let email = address()
        let older = try await account(email)
        let visitor = try await visitor(email.uppercased().replacing("EXAMPLE", with: "example"))
        let data = try asked(try await deployment.login(visitor))
        #expect(data.keys == ["reason", "requestId", "pending", "expires"], "the login methods are told to nobody")
        let pending = try #require(data["pending"]?.string)
        let users = "select count(*) from demo.users where lower(email) = '\(email)'"
        #expect(try await deployment.value(users) == "1", "nothing is written before the answer")
        let session = try await deployment.logIn(email)
        let finished = try await finish(pending, token: session.token)
        let login = try deployment.signedIn(finished)
        #expect(login.objectID == older && login.token == session.token)
        #expect(finished.header("Federation-User-Created") == "false")
        #expect(try await deployment.value(users) == "1")
        #expect(try await mails.next(to: email).contains("Facebook"), "a mail tells of the new login method")
        #expect(try await deployment.loggedIn(visitor).objectID == older, "the next login asks nothing")
        try expectProblem(try await finish(pending, token: session.token), "pending_login_invalid")
    }

    @Test("a code that was mailed to the account links the login and opens a session, once")
    func mailedCode() async throws {
        let email = address()
        let older = try await account(email)
        let visitor = try await visitor(email)
        let pending = try await pending(visitor)
        let started = try await start(pending)
        #expect(started.status == 200 && JSON.object(started.text)?.keys == ["sentTo", "expires"], "\(started.text)")
        #expect(!started.text.contains(email))
        let code = try await code(to: email)
        try expectProblem(try await finish(pending, #""code": "\#(wrong(code))""#), "login_invalid")
        let finished = try await finish(pending, #""code": \#(Int(code) ?? 0)"#, key: "mailed-\(older)")
        let login = try deployment.signedIn(finished)
        #expect(login.objectID == older)
        #expect(try await deployment.isValid(login.token))
        let again = try await finish(pending, #""code": \#(Int(code) ?? 0)"#, key: "mailed-\(older)")
        #expect(try deployment.signedIn(again).token == login.token, "the response of the first was lost")
        try expectProblem(try await finish(pending, #""code": "\#(code)""#), "pending_login_invalid")
        #expect(try await deployment.logIn(email).objectID == older, "a confirmed account keeps its password")
        #expect(try await deployment.loggedIn(visitor).objectID == older)
        #expect(try await deployment.row(of: older)?["name"]?.string == "Younger", "as for a linked identity")
    }

    @Test("a user who wants an account of their own gets one, and a guest becomes that user")
    func separate() async throws {
        let email = address()
        let older = try await account(email)
        let visitor = try await visitor(email)
        let login = try deployment.signedIn(try await finish(try await pending(visitor), #""separate": true"#))
        #expect(login.created && login.objectID != older)
        #expect(try await deployment.loggedIn(visitor).objectID == login.objectID)
        let guest = try deployment.signedIn(try await deployment.send("POST", "users/register/guest"))
        let other = try await self.visitor(email)
        let body = """
            {"accessToken": "\(other.token)",
             "guestUser": {"objectId": "\(guest.objectID)", "user-token": "\(guest.token)"}}
            """
        let data = try asked(try await deployment.login(body: body))
        let pending = try #require(data["pending"]?.string)
        let joined = try deployment.signedIn(try await finish(pending, #""separate": true"#))
        #expect(joined.objectID == guest.objectID)
        try expectProblem(try await finish(pending, #""code": "123456", "separate": true"#), "malformed_request")
    }

    @Test("D6, T-33: who brings another's address gets nothing by it, and an account made with it keeps nothing")
    func planted() async throws {
        let email = address()
        let planted = try await account(email, confirmed: false)
        let thief = try await deployment.newcomer(#"{"email": "thief.canary@example.com"}"#)
        let session = try await deployment.logIn(email)
        let body = #"{"accessToken": "\#(thief.token)"}"#
        #expect(
            try await deployment.send("POST", "users/identities/facebook", body, token: session.token).status == 200
        )
        try await deployment.database.psql(
            "update demo.identities set provider_app = 'other' where object_id = '\(planted)'"
        )
        let visitor = try await visitor(email)
        let pending = try await pending(visitor)
        try expectProblem(try await finish(pending), "malformed_request")
        let stranger = try await deployment.loggedIn(try await deployment.newcomer("{}"))
        try expectProblem(try await finish(pending, token: stranger.token), "pending_login_invalid")
        #expect(try await start(pending).status == 200)
        _ = try mails.take(to: "thief.canary@example.com")
        let login = try deployment.signedIn(try await finish(pending, #""code": "\#(try await code(to: email))""#))
        #expect(login.objectID == planted)
        #expect(try await !deployment.isValid(session.token))
        let password = #"{"login": "\#(email)", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", password), "login_invalid")
        #expect(
            try await deployment.value("select count(*) from demo.identities where object_id = '\(planted)'") == "1"
        )
        #expect(try await deployment.row(of: planted)?["email_verified"]?.bool == true)
    }

    @Test("an unconfirmed account keeps the identities that the reader of the mailbox says are their own")
    func kept() async throws {
        let email = address()
        let older = try await account(email, confirmed: false)
        try await deployment.database.psql(
            """
            insert into demo.identities (provider, provider_app, subject, object_id)
            values ('twitter', '*', '\(UInt32.random(in: 0...UInt32.max))', '\(older)')
            """
        )
        let pending = try await pending(try await visitor(email))
        #expect(try await start(pending).status == 200)
        let code = try await code(to: email)
        let finished = try await finish(pending, #""code": "\#(code)", "keepIdentities": true"#)
        #expect(try deployment.signedIn(finished).objectID == older)
        #expect(
            try await deployment.value("select count(*) from demo.identities where object_id = '\(older)'") == "2"
        )
    }

    @Test("D18: a mailed code does not replace the second factor, even where the provider is exempt from it")
    func factor() async throws {
        let email = address()
        let older = try await account(email)
        let (app, factor, _) = try await deployment.enrolApp(of: try await deployment.logIn(email))
        let visitor = try await visitor(email)
        let pending = try await pending(visitor)
        #expect(try await start(pending).status == 200)
        let code = try await code(to: email)
        let waiting = try deployment.putOff(try await finish(pending, #""code": "\#(code)""#))
        let identities = "select count(*) from demo.identities where object_id = '\(older)'"
        #expect(try await deployment.value(identities) == "0", "nothing is written before the factor")
        try await deployment.forgetSteps()
        let wrong = try await deployment.finishFactor(
            waiting,
            #""factorId": "\#(factor)", "code": "\#(app.wrongCode)""#
        )
        try expectProblem(wrong, "second_factor_invalid")
        let shown = try await deployment.finishFactor(waiting, #""factorId": "\#(factor)", "code": "\#(app.code())""#)
        #expect(try deployment.signedIn(shown).objectID == older)
        #expect(try await deployment.value(identities) == "1")
        // Without a fresh factor, a session of the account does not suffice either.
        let other = try await self.pending(try await self.visitor(email))
        let stale = try deployment.signedIn(shown)
        try await deployment.database.psql(
            "update demo.sessions set factor_proved = now() - interval '1 hour' where object_id = '\(older)'"
        )
        try await deployment.database.psql("delete from demo.identities where object_id = '\(older)'")
        try expectProblem(try await finish(other, token: stale.token), "second_factor_reauthentication_required")
    }

    @Test("D18: a mailbox is one factor: a code to it, in whatever spelling, is not the second one")
    func oneMailbox() async throws {
        let email = address()
        _ = try await account(email)
        let session = try await deployment.logIn(email)
        let spelled = email.replacing(".canary", with: ".canary+codes")
        let begun = try await deployment.beginFactor("email", #""email": "\#(spelled)""#, of: session)
        let draft = try #require(JSON.object(begun.text)?["id"]?.string, "\(begun.text)")
        let confirmed = try await deployment.confirmFactor(
            draft,
            #""code": "\#(try await code(to: spelled))""#,
            of: session
        )
        let factor = try #require(JSON.object(confirmed.text)?["id"]?.string, "\(confirmed.text)")
        let pending = try await pending(try await visitor(email))
        #expect(try await start(pending).status == 200)
        let waiting = try deployment.putOff(try await finish(pending, #""code": "\#(try await code(to: email))""#))
        #expect(waiting.factors.compactMap { $0["kind"]?.string } == ["recoveryCode"])
        try expectProblem(try await deployment.startFactor(waiting, factor), "not_found")
        let shown = try await deployment.finishFactor(waiting, #""factorId": "\#(factor)", "code": "123456""#)
        try expectProblem(shown, "not_found")
    }

    @Test("D6: no code is mailed to an address that only a provider gave, or while a deletion is requested")
    func otherMailbox() async throws {
        let email = address()
        let federated = try await deployment.loggedIn(try await visitor(email))
        let pending = try await pending(try await visitor(email))
        try expectProblem(try await start(pending), "factor_not_offered")
        #expect(try mails.take(to: email).isEmpty)
        try expectProblem(try await finish(pending, token: federated.token), "identity_taken")
        let other = address()
        let older = try await account(other)
        let second = try await self.pending(try await visitor(other))
        #expect(try await start(second).status == 200)
        try await deployment.database.psql(
            """
            insert into federation.deletion_requests
                (code, application_id, request_hash, call_hash, provider, object_id, issued, due)
            values ('SAMEADDRESSABCDEFGHIJKLMNO', 'demo', sha256('c'), sha256('d'), 'password', '\(older)', now(),
                now() + interval '1 day')
            """
        )
        try expectProblem(try await finish(second, #""code": "\#(try await code(to: other))""#), "conflict")
        try await deployment.database.psql("delete from federation.deletion_requests")
    }

    @Test("T-118: an ID token from before an erasure makes nobody, also by way of the question")
    func erased() async throws {
        let email = address()
        let visitor = try await visitor(email)
        let first = try deployment.signedIn(
            try await finish(try await pendingAfterAccount(email, visitor), #""separate": true"#)
        )
        let token = try await deployment.idToken(of: visitor, #""iatOffset": -100"#)
        let gone = try await deployment.admin(.owner).send(
            "DELETE",
            "applications/demo/users/\(first.objectID)?confirm=\(first.objectID)"
        )
        #expect(gone.status == 200 || gone.status == 204, "\(gone.text)")
        let data = try asked(try await deployment.login(idToken: token))
        let pending = try #require(data["pending"]?.string)
        try expectProblem(try await finish(pending, #""separate": true"#), "credential_revoked")
    }

    /// The pending login of a visitor, after an account was made with the address.
    private func pendingAfterAccount(_ email: String, _ visitor: Visitor) async throws -> String {
        _ = try await account(email)
        return try await pending(visitor)
    }

    @Test("a factor that is enrolled for a code does not replace one that the account has got meanwhile")
    func enrolment() async throws {
        let required = try document("required")
        let email = address()
        let older = try await account(email, confirmed: false, in: required)
        let pending = try await pending(try await visitor(email), to: required)
        #expect(try await start(pending, to: required).status == 200)
        let code = try await code(to: email)
        let finished = try await finish(pending, #""code": "\#(code)""#, to: required)
        let waiting = try deployment.putOff(finished, "second_factor_enrolment_required")
        let begun = try await deployment.client.post(
            deployment.path("users/factors", of: required),
            json: #"{"kind": "totp", "pending": "\#(waiting.pending)"}"#
        )
        let app = try AuthenticatorApp(try #require(JSON.object(begun.text), "\(begun.text)"))
        try await deployment.database.psql(
            """
            insert into required.factors (id, object_id, kind, secret, secret_key_id)
            values (gen_random_uuid(), '\(older)', 'totp', '\\x00', 'none')
            """
        )
        let confirmed = try await deployment.client.post(
            deployment.path("users/factors/\(app.id)/confirm", of: required),
            json: #"{"code": "\#(app.code())", "pending": "\#(waiting.pending)"}"#
        )
        try expectProblem(confirmed, "second_factor_required")
        #expect(
            try await deployment.value("select count(*) from required.identities where object_id = '\(older)'") == "0"
        )
        #expect(try await deployment.value("select count(*) from required.factors where object_id = '\(older)'") == "1")
    }

    @Test("guesses at a code are limited: for one pending login, and for the account over all of them")
    func guesses() async throws {
        let email = address()
        let older = try await account(email)
        var reasons: [String] = []
        for _ in 1...6 {
            let visitor = try await visitor(email)
            let pending = try await pending(visitor)
            try await deployment.database.psql(
                "delete from demo.attempts where key <> sha256('account code \(older)'::bytea)"
            )
            #expect(try await start(pending).status == 200)
            let code = try await code(to: email)
            for _ in 1...6 {
                try await deployment.database.psql("update demo.attempts set blocked_until = now() - interval '1 s'")
                let reply = try await finish(pending, #""code": "\#(wrong(code))""#)
                let data = JSON.object(reply.text)?["errorData"]?.object
                reasons.append(data?["reason"]?.string ?? reply.text)
                if reasons.last != "login_invalid" { break }
            }
            if reasons.last == "too_many_attempts" {
                try expectProblem(try await finish(pending, #""code": "\#(code)""#), "too_many_attempts")
                break
            }
        }
        #expect(reasons.count { $0 == "login_invalid" } == 20, "\(reasons)")
        #expect(reasons.last == "too_many_attempts" && reasons.contains("pending_login_invalid"), "\(reasons)")
        #expect(
            try await deployment.value("select count(*) from demo.identities where object_id = '\(older)'") == "0"
        )
        #expect(try await deployment.logIn(email).objectID == older, "other login methods still work")
    }

    @Test("a pending login ends with its account: changed address, disabled, erased, restored by a link, or revoked")
    func ends() async throws {
        for (change, reason) in [
            ("update demo.users set email = 'gone.canary@example.com' where object_id = 'ID'", "pending_login_invalid"),
            ("delete from demo.users where object_id = 'ID'", "pending_login_invalid"),
            ("update demo.users set user_status = 'DISABLED' where object_id = 'ID'", "account_disabled"),
            (
                """
                insert into demo.email_proofs (token_hash, object_id, purpose, email, expires)
                values (sha256('ID'), 'ID', 'reversal', 'former.canary@example.com', now() + interval '1 day')
                """,
                "conflict"
            ),
        ] {
            let email = address()
            let older = try await account(email)
            let visitor = try await visitor(email)
            let pending = try await pending(visitor)
            #expect(try await start(pending).status == 200)
            let code = try await code(to: email)
            try await deployment.database.psql(change.replacing("ID", with: older))
            try expectProblem(try await finish(pending, #""code": "\#(code)""#), reason)
            #expect(
                try await deployment.value("select count(*) from demo.identities where object_id = '\(older)'") == "0",
                "\(change)"
            )
        }
        for text in ["", "AAAA", String(repeating: "A", count: 300)] {
            try expectProblem(try await finish(text, #""separate": true"#), "pending_login_invalid")
            try expectProblem(try await start(text), "pending_login_invalid")
        }
    }

    @Test("an ID token is used up by the question, and a pending login of another kind finishes nothing here")
    func singleUse() async throws {
        let email = address()
        let older = try await account(email)
        let visitor = try await visitor(email)
        let token = try await deployment.idToken(of: visitor)
        let data = try asked(try await deployment.login(idToken: token))
        try expectProblem(try await deployment.login(idToken: token), "credential_replayed")
        let pending = try #require(data["pending"]?.string)
        let body = #"{"pending": "\#(pending)", "factorId": "\#(older)", "code": "123456"}"#
        try expectProblem(try await deployment.send("POST", "users/secondFactor/finish", body), "pending_login_invalid")
        try expectProblem(try await deployment.send("POST", "users/secondFactor/start", body), "pending_login_invalid")
        let session = try await deployment.logIn(email)
        #expect(try deployment.signedIn(try await finish(pending, token: session.token)).objectID == older)
        _ = try await deployment.enrolApp(of: session)
        let login = #"{"login": "\#(email)", "password": "\#(Deployment.password)"}"#
        let waiting = try deployment.putOff(try await deployment.send("POST", "users/login", login))
        try expectProblem(try await finish(waiting.pending, #""separate": true"#), "pending_login_invalid")
    }

    @Test("two logins with the same address at once: the account gets one, and of two codes one finishes a login")
    func races() async throws {
        let email = address()
        let older = try await account(email)
        let (first, second) = (try await visitor(email), try await visitor(email))
        var codes: [(pending: String, code: String)] = []
        for visitor in [first, second] {
            let pending = try await pending(visitor)
            #expect(try await start(pending).status == 200)
            codes.append((pending, try await code(to: email)))
        }
        let statuses = try await atOnce(2) { [codes] in
            try await finish(codes[$0].pending, #""code": "\#(codes[$0].code)""#).status
        }
        #expect(statuses.sorted() == [200, 409], "one identity of an app for each user")
        #expect(
            try await deployment.value("select count(*) from demo.identities where object_id = '\(older)'") == "1"
        )
        let third = try await pending(try await visitor(email))
        async let left = finish(third, #""separate": true"#)
        async let right = finish(third, #""separate": true"#)
        #expect(try await [left.status, right.status].sorted() == [200, 401])
    }

    @Test("login methods are told where the operator allows it, and a closed application still connects accounts")
    func settings() async throws {
        let (telling, closed) = (try document("telling"), try document("closed"))
        let email = address()
        _ = try await account(email, in: telling)
        let data = try asked(try await deployment.login(try await visitor(email), to: telling))
        #expect(data["loginMethods"]?.array?.compactMap(\.string) == ["password"])
        let other = address()
        let id = UUID().uuidString
        try await deployment.database.psql(
            """
            insert into closed.users (object_id, email, email_verified, user_status)
            values ('\(id)', '\(other)', true, 'ENABLED')
            """
        )
        let visitor = try await visitor(other)
        let refused = try await finish(try await pending(visitor, to: closed), #""separate": true"#, to: closed)
        try expectProblem(refused, "new_users_closed")
        let pending = try await pending(visitor, to: closed)
        #expect(try await start(pending, to: closed).status == 200)
        let finished = try await finish(pending, #""code": "\#(try await code(to: other))""#, to: closed)
        #expect(try deployment.signedIn(finished).objectID.lowercased() == id.lowercased())
        let stranger = try await deployment.login(try await self.visitor(address()), to: closed)
        try expectProblem(stranger, "new_users_closed")
    }
}
