import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

private func document(_ application: String, _ secondFactor: String) -> Document {
    Document(
        application: application,
        settings: #"""
            {"secondFactor": {\#(secondFactor)}, "dynamicProperties": true,
             "registration": {"confirmEmail": false, "maxPerSourcePerHour": 1000}}
            """#,
        mapping: #"{"email": "email"}"#
    )
}

@Suite(
    "Ways around second factors",
    .serialized,
    .deployed(
        document("demo", #""policy": "optional", "factors": ["totp", "recoveryCode", "email"]"#),
        document(
            "strict",
            #"""
            "policy": "required", "factors": ["totp", "recoveryCode"],
            "passkeys": {"rpId": "example.com", "origins": ["https://app.example.com"], "login": true}
            """#
        ),
        document(
            "keys",
            #"""
            "policy": "required", "factors": ["passkey"],
            "passkeys": {"rpId": "keys.example", "origins": ["https://keys.example"], "login": true}
            """#
        ),
        environment: mails.environment
    )
)
struct WayAroundTests {
    private static let words = "another canary sentence of mine"

    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private var strict: Document { deployment.documents[1] }
    private var keys: Document { deployment.documents[2] }

    private struct Holder {
        let email: String
        let session: LoginResult
        let app: AuthenticatorApp
        let factor: String
        let codes: [String]
    }

    private func person(in document: Document? = nil) async throws -> String {
        let schema = (document ?? deployment.documents[0]).application
        try await deployment.database.psql("delete from \(schema).attempts")
        let email = "w\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        _ = try await deployment.register(email, to: document)
        try await deployment.database.psql("update \(schema).users set email_verified = true where email = '\(email)'")
        return email
    }

    private func holder() async throws -> Holder {
        let email = try await person()
        let session = try await deployment.logIn(email)
        let (app, factor, codes) = try await deployment.enrolApp(of: session)
        try await deployment.forgetSteps()
        return Holder(email: email, session: session, app: app, factor: factor, codes: codes)
    }

    private func putOff(
        _ email: String,
        _ reason: String = "second_factor_required",
        to document: Document? = nil
    ) async throws -> PutOff {
        let body = #"{"login": "\#(email)", "password": "\#(Deployment.password)"}"#
        return try deployment.putOff(try await deployment.send("POST", "users/login", body, to: document), reason)
    }

    private func reason(_ reply: HTTPReply) -> String {
        JSON.object(reply.text)?["errorData"]?.object?["reason"]?.string ?? "\(reply.status)"
    }

    private func key(_ text: String) -> [(String, String)] { [("Idempotency-Key", text)] }

    // MARK: - Repetitions

    @Test("a used code under an Idempotency-Key leaves the login waiting")
    func usedCodes() async throws {
        let holder = try await holder()
        let code = holder.app.code()
        let first = try await putOff(holder.email)
        #expect(try await deployment.finish(first, code: code).status == 200)
        let waiting = try await putOff(holder.email)
        try expectProblem(
            try await deployment.finish(waiting, code: code, headers: key("used-1")),
            "second_factor_invalid"
        )
        try expectProblem(
            try await deployment.finish(
                waiting,
                "recoveryCode",
                code: "AAAA-AAAA-AAAA-AAAA",
                headers: key("used-2")
            ),
            "second_factor_invalid"
        )
        let right = try await deployment.finish(waiting, "recoveryCode", code: holder.codes[0], headers: key("used-3"))
        #expect(try deployment.signedIn(right).objectID == holder.session.objectID)
    }

    @Test("a repetition brings back no session that has ended")
    func endedSession() async throws {
        let holder = try await holder()
        let begun = try await deployment.beginFactor("email", of: holder.session)
        let draft = try #require(JSON.object(begun.text)?["id"]?.string, "\(begun.text)")
        let code = try await mailedCode(to: holder.email)
        let confirmed = try await deployment.confirmFactor(draft, #""code": "\#(code)""#, of: holder.session)
        let factor = try #require(JSON.object(confirmed.text)?["id"]?.string, "\(confirmed.text)")
        let waiting = try await putOff(holder.email)
        #expect(try await deployment.startFactor(waiting, factor).status == 200)
        let sent = try await mailedCode(to: holder.email)
        func finish() async throws -> HTTPReply {
            try await deployment.finish(waiting, "email", code: sent, headers: key("ended-1"))
        }
        let session = try deployment.signedIn(try await finish())
        #expect(try deployment.signedIn(try await finish()).token == session.token)
        #expect(try await deployment.send("GET", "users/logout", token: session.token).status == 200)
        try expectProblem(try await finish(), "pending_login_invalid")
        #expect(try await !deployment.isValid(session.token))
    }

    private func mailedCode(to address: String) async throws -> String {
        try await eventually("a code by mail") {
            try mails.take(to: address).compactMap { mail in
                mail.split(whereSeparator: \.isNewline).first { $0.count == 6 && $0.allSatisfy(\.isNumber) }
            }.first.map(String.init)
        }
    }

    // MARK: - Guesses

    @Test("twenty guesses a day stay twenty when the owner logs in between them, and shut out nothing else")
    func forgiven() async throws {
        let holder = try await holder()
        func guess(_ max: Int, at kind: String = "totp") async throws -> Int {
            var looked = 0
            var waiting = try await putOff(holder.email)
            for index in 0..<max {
                if index.isMultiple(of: 4) { waiting = try await putOff(holder.email) }
                try await deployment.database.psql("update demo.attempts set blocked_until = now() - interval '1 s'")
                let reply = try await deployment.finish(waiting, kind, code: holder.app.wrongCode)
                if reason(reply) == "second_factor_invalid" { looked += 1 }
            }
            return looked
        }
        #expect(try await guess(15) == 15)
        try await deployment.database.psql("update demo.attempts set blocked_until = now() - interval '1 s'")
        let login = try await deployment.finish(try await putOff(holder.email), code: holder.app.code())
        #expect(login.status == 200, "\(login.text)")
        #expect(try await guess(12) == 5, "what the owner has shown takes back nothing but itself")
        // Wrong attempts do not lock out recovery codes, which nobody can guess.
        #expect(try await guess(24, at: "recoveryCode") == 20)
        try await deployment.forgetSteps()
        let rescued = try await deployment.finish(
            try await putOff(holder.email),
            "recoveryCode",
            code: holder.codes[2]
        )
        #expect(try deployment.signedIn(rescued).objectID == holder.session.objectID)
        // Sessions are not locked out either: their guesses are counted separately.
        let stepUp = try await deployment.stepUp(holder.session)
        let answer = #""factorId": "\#(holder.factor)", "code": "\#(holder.app.code())""#
        #expect(try await deployment.finishFactor(stepUp, answer, session: holder.session).status == 200)
    }

    // MARK: - Enrolments

    @Test("a login that waits for an enrolment takes the kinds of the policy, and no passkey that is somebody's")
    func kinds() async throws {
        let waiting = try await putOff(
            try await person(in: strict),
            "second_factor_enrolment_required",
            to: strict
        )
        let passkey = #"{"kind": "passkey", "pending": "\#(waiting.pending)"}"#
        try expectProblem(
            try await deployment.send("POST", "users/factors", passkey, to: strict),
            "factor_not_offered"
        )
        // The same authenticator, for two users.
        var owner: String?
        let authenticator = try SoftAuthenticator.Key(.es256)
        var credentialID: [UInt8]?
        for isFirst in [true, false] {
            let email = try await person(in: keys)
            let waiting = try await putOff(email, "second_factor_enrolment_required", to: keys)
            let body = #"{"kind": "passkey", "pending": "\#(waiting.pending)"}"#
            let begun = try await deployment.send("POST", "users/factors", body, to: keys)
            let reply = try #require(JSON.object(begun.text), "\(begun.text)")
            let options = try #require(reply["publicKey"]?.object)
            var key = SoftAuthenticator(
                key: authenticator,
                relyingPartyID: "keys.example",
                origin: "https://keys.example",
                userHandle: options["user"]?.object?["id"]?.string.flatMap { Base64URL.decode($0.utf8) }
            )
            if let credentialID { key.credentialID = credentialID }
            let challenge = try #require(options["challenge"]?.string.flatMap { Base64URL.decode($0.utf8) })
            let credential = key.register(challenge: challenge)
            credentialID = key.credentialID
            let confirmed = try await deployment.send(
                "POST",
                "users/factors/\(try #require(reply["id"]?.string))/confirm",
                #"{"pending": "\#(waiting.pending)", "credential": \#(credential)}"#,
                to: keys
            )
            if isFirst {
                owner = try deployment.signedIn(confirmed).objectID
            } else {
                try expectProblem(confirmed, "passkey_invalid")
                let sessions =
                    "select count(*) from keys.sessions s join keys.users u using (object_id) where email = '\(email)'"
                #expect(try await deployment.value(sessions) == "0")
            }
        }
        let factors =
            "select count(*) from keys.factors where object_id = '\(try #require(owner))' and kind = 'passkey'"
        #expect(try await deployment.value(factors) == "1")
    }

    @Test("of two enrolments that wait for one account, one finishes a login, also when both come at once")
    func simultaneousEnrolments() async throws {
        let email = try await person(in: strict)
        let id = try #require(
            try await deployment.value("select object_id from strict.users where email = '\(email)'")
        )
        try await deployment.withSecondInstance { second in
            var confirmations: [(HTTPClient, String, String)] = []
            for client in [deployment.client, second.client] {
                let waiting = try await putOff(email, "second_factor_enrolment_required", to: strict)
                let body = #"{"kind": "totp", "pending": "\#(waiting.pending)"}"#
                let begun = try await deployment.send("POST", "users/factors", body, to: strict)
                let app = try AuthenticatorApp(try #require(JSON.object(begun.text), "\(begun.text)"))
                let answer = #"{"code": "\#(app.code())", "pending": "\#(waiting.pending)"}"#
                confirmations.append((client, "users/factors/\(app.id)/confirm", answer))
            }
            let replies = try await deployment.database.whileLocked(
                "select from strict.users where object_id = '\(id)' for update"
            ) { unlock in
                try await withThrowingTaskGroup(of: HTTPReply.self) { group in
                    for (client, endpoint, answer) in confirmations {
                        group.addTask {
                            try await client.post(deployment.path(endpoint, of: strict), json: answer)
                        }
                    }
                    try await eventually("both wait for the user") {
                        try await deployment.database.psql(
                            "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
                        ).count == 2
                    }
                    try await unlock()
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            #expect(replies.map(\.status).sorted() == [200, 401], "\(replies.map(\.text))")
        }
        let factors = "select count(*) from strict.factors where object_id = '\(id)' and kind = 'totp'"
        #expect(try await deployment.value(factors) == "1")
    }

    @Test("a login that is put off registers no name that its mapping makes up")
    func names() async throws {
        let visitor = try await deployment.newcomer(#"{"email": "n@example.com", "first_name": "Name Canary"}"#)
        let name = "made\(UInt32.random(in: 0...UInt32.max))"
        let body = #"{"accessToken": "\#(visitor.token)", "fieldsMapping": {"first_name": "\#(name)"}}"#
        let reply = try await deployment.send("POST", "users/loginWithFacebook", body, to: strict)
        let waiting = try deployment.putOff(reply, "second_factor_enrolment_required")
        let names = "select count(*) from federation.dynamic_properties where name = '\(name)'"
        #expect(try await deployment.value(names) == "0")
        let guest = try #require(
            JSON.object(try await deployment.send("POST", "users/register/guest", "{}", to: strict).text)
        )
        let (id, token) = (guest["objectId"]?.string ?? "", guest["user-token"]?.string ?? "")
        let claim = #""guestUser": {"objectId": "\#(id)", "user-token": "\#(token)"}"#
        let joining = try await deployment.send(
            "POST",
            "users/loginWithFacebook",
            #"{\#(claim), \#(body.dropFirst())"#,
            to: strict
        )
        _ = try deployment.putOff(joining, "second_factor_enrolment_required")
        #expect(try await deployment.value(names) == "0")
        let begun = try await deployment.send(
            "POST",
            "users/factors",
            #"{"kind": "totp", "pending": "\#(waiting.pending)"}"#,
            to: strict
        )
        let app = try AuthenticatorApp(try #require(JSON.object(begun.text), "\(begun.text)"))
        let finished = try await deployment.send(
            "POST",
            "users/factors/\(app.id)/confirm",
            #"{"code": "\#(app.code())", "pending": "\#(waiting.pending)"}"#,
            to: strict
        )
        #expect(try deployment.signedIn(finished).user[name]?.string == "Name Canary", "\(finished.text)")
        #expect(try await deployment.value(names) == "1")
    }

    // MARK: - Reversal of changes

    @Test("a reversal asks for factors that were taken away since; an operator who takes them ends the link")
    func reversal() async throws {
        for byOperator in [false, true] {
            let holder = try await holder()
            _ = try await mails.token(to: holder.email, page: "undo-change")
            let renewed = try await deployment.beginFactor("recoveryCode", of: holder.session)
            #expect(renewed.status == 200, "\(renewed.text)")
            let link = try await mails.token(to: holder.email, page: "undo-change")
            func undo(_ more: String = "") async throws -> HTTPReply {
                let body = #"{"token": "\#(link)", "password": "\#(Self.words)"\#(more)}"#
                return try await deployment.send("POST", "users/undochange", body)
            }
            if byOperator {
                let user = holder.session.objectID
                try await deployment.command("delete", "applications/demo/users/\(user)/factors", "--confirm", user)
                try expectProblem(try await undo(), "link_invalid")
                continue
            }
            let removed = try await deployment.send(
                "DELETE",
                "users/factors/\(holder.factor)",
                token: holder.session.token
            )
            #expect(removed.status == 204, "\(removed.text)")
            let asked = try deployment.putOff(try await undo())
            #expect(asked.id(of: "totp") == holder.factor)
            let answer = #", "pending": "\#(asked.pending)", "factorId": "\#(holder.factor)""#
            try expectProblem(
                try await undo(answer + #", "code": "\#(holder.app.wrongCode)""#),
                "second_factor_invalid"
            )
            let undone = try await undo(answer + #", "code": "\#(holder.app.code())""#)
            #expect(undone.status == 200, "\(undone.text)")
            try await deployment.forgetSteps()
            let body = #"{"login": "\#(holder.email)", "password": "\#(Self.words)"}"#
            let next = try deployment.putOff(try await deployment.send("POST", "users/login", body))
            #expect(next.id(of: "totp") == holder.factor, "it is there again")
        }
    }
}
