import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Attacks on second factors",
    .serialized,
    .deployed(
        Document(
            settings: #"""
                {"secondFactor": {"policy": "optional", "trustedDeviceDays": 30}, "registration": {"maxPerSourcePerHour": 1000},
                 "tokens": {"enabled": true}}
                """#,
            properties: #"{"nick": {"type": "STRING", "clientMappable": true}}"#,
            mapping: #"{"email": "email"}"#
        ),
        Document(
            application: "other",
            settings: #"{"secondFactor": {"policy": "optional"}, "registration": {"maxPerSourcePerHour": 1000}}"#,
            mapping: #"{"email": "email"}"#
        )
    )
)
struct FactorAttackTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private struct Holder {
        let email: String
        let session: LoginResult
        let app: AuthenticatorApp
        let factor: String
        let codes: [String]
    }

    /// Creates a user with factors, and resets the guesses counted for the tests' common source.
    private func holder() async throws -> Holder {
        try await deployment.database.psql("delete from demo.attempts")
        let email = "h\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        _ = try await deployment.register(email)
        let session = try await deployment.logIn(email)
        let (app, factor, codes) = try await deployment.enrolApp(of: session)
        return Holder(email: email, session: session, app: app, factor: factor, codes: codes)
    }

    private func logIn(_ holder: Holder, _ more: String = "") async throws -> HTTPReply {
        try await deployment.send(
            "POST",
            "users/login",
            #"{"login": "\#(holder.email)", "password": "\#(Deployment.password)"\#(more)}"#
        )
    }

    private func putOff(_ holder: Holder) async throws -> PutOff {
        try deployment.putOff(try await logIn(holder))
    }

    /// Makes the session's authentication that many seconds old.
    private func age(_ session: LoginResult, _ column: String = "factor_proved", _ seconds: Int = 360) async throws {
        try await deployment.database.psql(
            """
            update demo.sessions set \(column) = now() - interval '\(seconds) seconds'
            where object_id = '\(session.objectID)'
            """
        )
    }

    @Test("guesses are looked at five times a login, and twenty times a day at one factor, from wherever they come")
    func guesses() async throws {
        let holder = try await holder()
        let first = try await putOff(holder)
        var reasons: [String: Int] = [:]
        for _ in 0..<8 {
            let reply = try await deployment.finish(first, code: holder.app.wrongCode)
            let reason = JSON.object(reply.text)?["errorData"]?.object?["reason"]?.string ?? ""
            reasons[reason, default: 0] += 1
        }
        #expect(reasons["second_factor_invalid"] == 5 && reasons["pending_login_invalid"] == 3, "\(reasons)")
        // The right code comes too late.
        try expectProblem(try await deployment.finish(first, code: holder.app.code(1)), "pending_login_invalid")
        // The waits are ended by SQL; only the daily count remains.
        var looked = 5
        try await deployment.withSecondInstance { second in
            for round in 0..<40 {
                try await deployment.database.psql("update demo.attempts set blocked_until = now() - interval '1 s'")
                let waiting = try await putOff(holder)
                let reply = try await deployment.finish(
                    waiting,
                    code: holder.app.wrongCode,
                    headers: [("X-Forwarded-For", "203.0.113.\(round)")],
                    at: round.isMultiple(of: 2) ? second : nil
                )
                let reason = JSON.object(reply.text)?["errorData"]?.object?["reason"]?.string ?? ""
                if reason == "second_factor_invalid" { looked += 1 } else { #expect(reason == "too_many_attempts") }
            }
        }
        #expect(looked == 20)
        // Another factor is not locked out.
        let waiting = try await putOff(holder)
        try expectProblem(try await deployment.finish(waiting, code: holder.app.code(1)), "too_many_attempts")
        let rescued = try await deployment.finish(waiting, "recoveryCode", code: holder.codes[3])
        #expect(try deployment.signedIn(rescued).objectID == holder.session.objectID)
    }

    @Test("hundreds of guesses at once over two instances are looked at twenty times at most")
    func simultaneousGuesses() async throws {
        let holder = try await holder()
        try await deployment.withSecondInstance { second in
            let pendings = try await (0..<10).asyncMap { _ in try await putOff(holder) }
            let looked = try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<400 {
                    group.addTask {
                        let reply = try await deployment.finish(
                            pendings[index % pendings.count],
                            code: holder.app.wrongCode,
                            at: index.isMultiple(of: 2) ? second : nil
                        )
                        return reply.text.contains("\"second_factor_invalid\"")
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect((1...20).contains(looked))
        }
    }

    @Test("one code shown at once in two instances logs in once")
    func simultaneousUse() async throws {
        let holder = try await holder()
        try await deployment.withSecondInstance { second in
            for kind in ["totp", "recoveryCode"] {
                try await deployment.forgetSteps()
                let code = kind == "totp" ? holder.app.code(1) : holder.codes[0]
                let pendings = try await (0..<6).asyncMap { _ in try await putOff(holder) }
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for (index, pending) in pendings.enumerated() {
                        group.addTask {
                            try await deployment.finish(
                                pending,
                                kind,
                                code: code,
                                at: index.isMultiple(of: 2) ? second : nil
                            ).status
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.count { $0 == 200 } == 1, "\(kind): \(statuses)")
            }
        }
    }

    @Test("clocks may differ by one step")
    func skew() async throws {
        let holder = try await holder()
        for (offset, counts) in [(-3, false), (3, false), (-1, true), (0, true), (1, true)] {
            try await deployment.forgetSteps()
            let reply = try await deployment.finish(try await putOff(holder), code: holder.app.code(Int64(offset)))
            #expect((reply.status == 200) == counts, "\(offset): \(reply.text)")
        }
    }

    @Test("a pending login is worth nothing to another application, user, client or session, nor when it was changed")
    func elsewhere() async throws {
        let (holder, thief) = (try await holder(), try await holder())
        let waiting = try await putOff(holder)
        let other = deployment.documents[1]
        try expectProblem(
            try await deployment.finish(waiting, code: holder.app.code(1), to: other),
            "pending_login_invalid"
        )
        // The attacker's factor is no factor of this user.
        let own = try await putOff(thief)
        let mixed = PutOff(pending: waiting.pending, factors: own.factors)
        try expectProblem(try await deployment.finish(mixed, code: thief.app.code(1)), "second_factor_invalid")
        // Another API key is another client.
        try await deployment.database.psql(
            """
            insert into federation.api_keys (application_id, key_hash, label)
            values ('demo', sha256('another-canary-key-of-this-app'), 'another client') on conflict do nothing;
            update federation.configuration set revision = revision + 1;
            update federation.applications set revision = (select revision from federation.configuration) where id = 'demo'
            """
        )
        let byKey = try await eventually("the other key is known") {
            let reply = try await deployment.send(
                "POST",
                "users/secondFactor/finish",
                #"{"pending": "\#(waiting.pending)", "factorId": "\#(holder.factor)", "code": "\#(holder.app.code(1))"}"#,
                key: "another-canary-key-of-this-app"
            )
            return reply.text.contains("unknown_application") ? nil : reply
        }
        try expectProblem(byKey, "pending_login_invalid")
        for index in [0, 20, waiting.pending.utf8.count - 2] {
            var bytes = Array(waiting.pending.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let changed = PutOff(pending: String(decoding: bytes, as: UTF8.self), factors: waiting.factors)
            try expectProblem(
                try await deployment.finish(changed, code: holder.app.code(1)),
                "pending_login_invalid"
            )
        }
        for pending in ["", "x", String(repeating: "A", count: 100_000)] {
            let reply = try await deployment.finish(PutOff(pending: pending, factors: waiting.factors), code: "1")
            try expectProblem(reply, oneOf: ["pending_login_invalid", "malformed_request"])
        }
        #expect(try await deployment.finish(waiting, code: holder.app.code(1)).status == 200, "it is its owner's still")
    }

    @Test("what ends the sessions of a user, or the login method, ends what was put off")
    func races() async throws {
        let ends: [(String, (Holder) -> String)] = [
            (
                "disabled",
                { "update demo.users set user_status = 'DISABLED' where object_id = '\($0.session.objectID)'" }
            ),
            ("deleted", { "delete from demo.users where object_id = '\($0.session.objectID)'" }),
            ("another password", { "update demo.passwords set hash = 'x' where object_id = '\($0.session.objectID)'" }),
            (
                "factor removed",
                { "update demo.factors set removed = now() where object_id = '\($0.session.objectID)'" }
            ),
        ]
        for (what, sql) in ends {
            let holder = try await holder()
            let waiting = try await putOff(holder)
            try await deployment.database.psql(sql(holder))
            let reply = try await deployment.finish(waiting, code: holder.app.code(1))
            #expect([401, 403].contains(reply.status), "\(what): \(reply.text)")
            let sessions =
                "select count(*) from demo.sessions where object_id = '\(holder.session.objectID)' and factor_kind = 'totp' and created > (select min(created) from demo.sessions where object_id = '\(holder.session.objectID)')"
            #expect(try await deployment.database.psql(sessions) == [["0"]], "\(what)")
        }
        // Logins with a provider: unlinked, revoked, and after a password reset.
        for (what, sql) in [
            ("unlinked", "delete from demo.identities where object_id = '%'"),
            ("revoked", "update demo.identities set revoked = now() where object_id = '%'"),
            ("reset", "insert into demo.passwords (object_id, login, hash, hash_key_id) values ('%', '%', 'x', 'x')"),
        ] {
            let visitor = try await deployment.newcomer()
            let session = try await deployment.loggedIn(visitor)
            let (app, _, _) = try await deployment.enrolApp(of: session)
            let waiting = try deployment.putOff(try await deployment.login(visitor))
            try await deployment.database.psql(sql.replacing("%", with: session.objectID))
            try expectProblem(
                try await deployment.finish(waiting, code: app.code(1)),
                oneOf: ["pending_login_invalid"],
                "\(what)"
            )
        }
    }

    /// Sends the second factor of a pending login, with other members as written.
    private func send(
        _ endpoint: String,
        _ answer: String,
        of waiting: PutOff,
        headers: [(String, String)]
    ) async throws -> HTTPReply {
        let body = #"{"pending": "\#(waiting.pending)", \#(answer)}"#
        return try await deployment.send("POST", endpoint, body, headers: headers)
    }

    @Test("a repetition under one Idempotency-Key is answered with the same session; any other is refused")
    func idempotency() async throws {
        let holder = try await holder()
        let waiting = try await putOff(holder)
        let key = [("Idempotency-Key", "finish-1")]
        let code = holder.app.code(1)
        let first = try deployment.signedIn(try await deployment.finish(waiting, code: code, headers: key))
        let again = try deployment.signedIn(try await deployment.finish(waiting, code: code, headers: key))
        #expect(again.token == first.token && !first.token.isEmpty)
        // The same key with another body is another request, which does not get the first response.
        let recovery = try #require(waiting.id(of: "recoveryCode"))
        let others = [
            #""factorId": "\#(recovery)", "code": "\#(code)""#,
            #""factorId": "\#(holder.factor)", "code": "\#(code)", "trustDevice": true"#,
            #""factorId": "\#(holder.factor)", "code": "\#(holder.codes[0])""#,
        ]
        try await deployment.expectNothingWritten {
            for other in others {
                let reply = try await send("users/secondFactor/finish", other, of: waiting, headers: key)
                try expectProblem(reply, "idempotency_key_reused", "\(other)")
            }
            let same = #""factorId": "\#(holder.factor)", "code": "\#(code)""#
            let elsewhere = try await send("users/passkey/finish", same, of: waiting, headers: key)
            try expectProblem(elsewhere, "idempotency_key_reused", "another path")
        }
        let reordered = #""code": "\#(code)", "factorId": "\#(holder.factor)""#
        let written = try await send("users/secondFactor/finish", reordered, of: waiting, headers: key)
        #expect(try deployment.signedIn(written).token == first.token, "the order of members means nothing")
        for headers in [[], [("Idempotency-Key", "finish-2")]] {
            let other = try await deployment.finish(waiting, code: code, headers: headers)
            try expectProblem(other, oneOf: ["pending_login_invalid", "second_factor_invalid"])
        }
    }

    @Test("what changes login methods, address, factors or ends the account takes a factor shown of late")
    func stepUp() async throws {
        let holder = try await holder()
        let id = holder.session.objectID
        let requests: [(String, String, String?)] = [
            ("PUT", "users/\(id)", #"{"email": "new.canary@example.com"}"#),
            (
                "PUT", "users/\(id)",
                #"{"password": "other canary words here", "currentPassword": "\#(Deployment.password)"}"#
            ),
            ("POST", "users/factors", #"{"kind": "totp"}"#),
            ("POST", "users/factors", #"{"kind": "recoveryCode"}"#),
            ("DELETE", "users/factors/\(holder.factor)", nil),
            ("DELETE", "data/Users/\(id)", nil),
        ]
        let visitor = try await deployment.newcomer()
        try await deployment.forgetSteps()
        try await age(holder.session)
        try await deployment.expectNothingWritten(except: ["demo.attempts", "demo.single_use"]) {
            for (method, endpoint, body) in requests {
                let reply = try await deployment.send(method, endpoint, body, token: holder.session.token)
                try expectProblem(reply, "second_factor_reauthentication_required", "\(method) \(endpoint)")
            }
            let link = try await deployment.send(
                "POST",
                "users/identities/facebook",
                #"{"accessToken": "\#(visitor.token)"}"#,
                token: holder.session.token
            )
            try expectProblem(link, "second_factor_reauthentication_required")
        }
        // All other changes are still possible.
        let nick = try await deployment.send("PUT", "users/\(id)", #"{"nick": "n"}"#, token: holder.session.token)
        #expect(nick.status == 200, "\(nick.text)")
        let begun = try await deployment.send("POST", "users/secondFactor/start", token: holder.session.token)
        let data = try #require(JSON.object(begun.text), "\(begun.text)")
        let waiting = PutOff(
            pending: data["pending"]?.string ?? "",
            factors: data["factors"]?.array?.compactMap(\.object) ?? []
        )
        // The step-up cannot be finished without its session or with another one, and opens no session.
        for token in [nil, try await self.holder().session.token] {
            let reply = try await deployment.finish(waiting, code: holder.app.code(1), token: token)
            try expectProblem(reply, "pending_login_invalid")
        }
        let done = try await deployment.finish(waiting, code: holder.app.code(1), token: holder.session.token)
        #expect(done.status == 200 && done.text.isEmpty, "\(done.text)")
        let changed = try await deployment.send(
            requests[0].0,
            requests[0].1,
            requests[0].2,
            token: holder.session.token
        )
        #expect(changed.status == 200, "\(changed.text)")
        // The second factor alone does not authenticate the user.
        try await age(holder.session, "proved")
        for (method, endpoint, body) in requests.dropFirst(2) {
            let reply = try await deployment.send(method, endpoint, body, token: holder.session.token)
            try expectProblem(reply, "reauthentication_required", "\(method) \(endpoint)")
        }
    }

    @Test("a trusted device is not asked, until what ends sessions has ended its trust; of another user it is asked")
    func devices() async throws {
        let (holder, other) = (try await holder(), try await holder())
        let reply = try await deployment.finish(
            try await putOff(holder),
            code: holder.app.code(1),
            more: #", "trustDevice": true"#
        )
        let session = try deployment.signedIn(reply)
        let device = try #require(session.user["trusted-device"]?.string)
        #expect(device.utf8.count == 43)
        let more = #", "trustedDevice": "\#(device)""#
        #expect(try await logIn(holder, more).status == 200)
        _ = try deployment.putOff(try await logIn(other, more))
        _ = try deployment.putOff(try await logIn(holder, #", "trustedDevice": "x""#))
        _ = try deployment.putOff(try await logIn(holder))
        let stored = "select count(*) from demo.trusted_devices where token_hash = sha256('\(device)')"
        #expect(try await deployment.database.psql(stored) == [["1"]])
        let ended = try await deployment.send("DELETE", "users/sessions", token: session.token)
        #expect([200, 204].contains(ended.status), "\(ended.text)")
        _ = try deployment.putOff(try await logIn(holder, more))
        #expect(try await deployment.database.psql(stored) == [["0"]])
    }

    @Test("signed tokens say what was shown")
    func tokens() async throws {
        let holder = try await holder()
        func claims(_ session: LoginResult) async throws -> JSONObject {
            let reply = try await deployment.get("users/token", token: session.token)
            let token = try #require(JSON.object(reply.text)?["token"]?.string, "\(reply.text)")
            let part = token.split(separator: ".")[1]
            let bytes = try #require(Base64URL.decode(part.utf8))
            return try #require(JSON.object(String(decoding: bytes, as: UTF8.self)))
        }
        let plain = try await deployment.loggedIn(try await deployment.newcomer())
        let first = try await claims(plain)
        #expect(first["amr"]?.text == #"["fed"]"# && first["acr"]?.string == "aal1")
        let second = try await claims(
            try deployment.signedIn(try await deployment.finish(try await putOff(holder), code: holder.app.code(1)))
        )
        #expect(second["amr"]?.text == #"["pwd","otp","mfa"]"# && second["acr"]?.string == "aal2")
        let time = try #require(second["auth_time"]?.integer)
        #expect(abs(time - Int64(Date().timeIntervalSince1970)) < 60)
    }

    @Test("rubbish is refused with what is wrong")
    func rubbish() async throws {
        let holder = try await holder()
        let waiting = try await putOff(holder)
        let bodies = [
            #"{}"#, #"{"pending": 1}"#, #"{"pending": "\#(waiting.pending)"}"#,
            #"{"pending": "\#(waiting.pending)", "code": {}, "factorId": "x"}"#,
            #"{"pending": "\#(waiting.pending)", "code": "1", "credential": {}}"#, "[]", "null", "",
        ]
        for body in bodies {
            for endpoint in ["users/secondFactor/finish", "users/passkey/finish", "users/factors/x/confirm"] {
                let reply = try await deployment.send("POST", endpoint, body, token: holder.session.token)
                #expect((400..<500).contains(reply.status), "\(endpoint) \(body): \(reply.text)")
            }
        }
        for credential in [#"{}"#, #"{"id": "x", "rawId": "x", "type": "public-key", "response": {}}"#] {
            let body = #"{"pending": "\#(waiting.pending)", "credential": \#(credential)}"#
            let reply = try await deployment.send("POST", "users/secondFactor/finish", body)
            try expectProblem(reply, "second_factor_invalid")
        }
        for kind in ["", "sms", "email", "passkey", "x"] {
            let reply = try await deployment.send(
                "POST",
                "users/factors",
                #"{"kind": "\#(kind)"}"#,
                token: holder.session.token
            )
            try expectProblem(reply, oneOf: ["malformed_request", "factor_not_offered"])
        }
        #expect(try await deployment.finish(waiting, code: holder.app.code(1)).status == 200)
    }
}
