import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Second factors of operators",
    .serialized,
    .deployed(
        Document(mapping: #"{"name": "name"}"#),
        environment: ["FEDERATION_OPERATOR_ORIGIN": "https://admin.example.com"]
    )
)
struct OperatorFactorTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Creates an owner over REST.
    private func make(_ name: String, _ rest: String = "") async throws -> AdminClient {
        let json = #"{"name": "\#(name)", "role": "owner"\#(rest)}"#
        let made = try await deployment.admin().ask("POST", "operators", json)
        return deployment.admin(token: try #require(made["token"]?.string))
    }

    /// Enrols an authenticator app with the code of the previous time step, which leaves the current code unused.
    private func enrol(_ admin: AdminClient) async throws -> (app: AuthenticatorApp, factor: String, codes: [String]) {
        let begun = try await admin.ask("POST", "operator/factors", #"{"kind": "totp", "label": "telephone"}"#)
        let app = try AuthenticatorApp(begun)
        let added = try await admin.ask("POST", "operator/factors/\(app.id)/confirm", #"{"code": "\#(app.code(-1))"}"#)
        let codes = (added["recoveryCodes"]?.array ?? []).compactMap(\.string)
        return (app, try #require(added["id"]?.string), codes)
    }

    private func show(_ code: String, of factor: String, _ admin: AdminClient, pending: String? = nil) async throws
        -> HTTPReply
    {
        var pending = pending
        if pending == nil { pending = try await admin.ask("POST", "operator/secondFactor/start")["pending"]?.string }
        return try await admin.send(
            "POST",
            "operator/secondFactor/finish",
            #"{"pending": "\#(try #require(pending))", "factorId": "\#(factor)", "code": "\#(code)"}"#
        )
    }

    /// Makes the second factors shown by an operator's tokens older.
    private func age(_ name: String, by interval: String) async throws {
        try await deployment.database.psql(
            "update federation.operator_tokens set factor_proved = factor_proved - interval '\(interval)' where operator = '\(name)'"
        )
    }

    /// Counts the operators with wrong guesses.
    private func guessed() async throws -> Int {
        try #require(Int(try await deployment.value("select count(*) from federation.attempts") ?? ""))
    }

    private static let required = "second_factor_reauthentication_required"

    @Test("who has enrolled one is asked with each token, once per 12 hours, and for what cannot be undone anew")
    func asked() async throws {
        let ann = try await make("ann")
        let (app, factor, codes) = try await enrol(ann)
        #expect(codes.count == 10)
        #expect(try await ann.send("GET", "applications").status == 200, "the enrolment has shown it")
        let other = try await deployment.command("set", "operators/ann/tokens")
        let second = deployment.admin(token: other.filter { !$0.isWhitespace })
        try expectProblem(try await second.send("GET", "applications"), Self.required)
        #expect(try await second.get("operator")["name"]?.string == "ann", "who one is, is never asked for")

        let entries = try await deployment.audited {
            let shown = try await show(app.code(), of: factor, second)
            #expect(shown.status == 204)
        }
        #expect(entries.map { $0["action"]?.string } == ["operator.factor.show"])
        #expect(try await second.send("GET", "applications").status == 200)
        #expect(try await second.send("POST", "operators/ann/tokens", "{}").status == 201)
        try await age("ann", by: "6 minutes")
        #expect(try await second.send("GET", "applications").status == 200)
        let refused = try await second.send("POST", "operators/ann/tokens", "{}")
        #expect(try expectProblem(refused, Self.required)["seconds"]?.integer == 300)
        try await age("ann", by: "12 hours")
        try expectProblem(try await second.send("GET", "applications"), Self.required)
        #expect(try await show(codes[0], of: try await recovery(of: "ann"), second).status == 204)
        #expect(try await second.send("DELETE", "operators/nobody").status == 404)
    }

    private func recovery(of name: String) async throws -> String {
        let listed = try await deployment.command("list", "operators/\(name)/factors", "--json")
        let items = JSON.object(listed)?["items"]?.array?.compactMap(\.object) ?? []
        return try #require(items.first { $0["kind"]?.string == "recoveryCode" }?["id"]?.string, "\(listed)")
    }

    @Test("a program's token counts alone, shows no factor and enrols none; tokens of before are programs'")
    func machines() async throws {
        let bob = try await make("bob")
        _ = try await enrol(bob)
        let made = try await bob.ask("POST", "operators/bob/tokens", #"{"machine": true}"#)
        #expect(made["machine"]?.bool == true)
        let machine = deployment.admin(token: try #require(made["token"]?.string))
        #expect(try await machine.send("GET", "applications").status == 200)
        #expect(try await machine.send("DELETE", "operators/nobody").status == 404)
        let factor = try #require(try await bob.get("operator/factors")["factors"]?.array?.first?.object?["id"]?.string)
        for (method, path, json) in [
            ("POST", "operator/sessions", nil), ("GET", "operator/sessions", nil),
            ("POST", "operator/secondFactor/start", nil), ("POST", "operator/factors", #"{"kind": "totp"}"#),
            ("DELETE", "operator/factors/\(factor)", nil), ("DELETE", "operators/bob/factors", nil),
            ("POST", "operators/bob/tokens", "{}"), ("POST", "operators", #"{"name": "mallory", "role": "owner"}"#),
        ] as [(String, String, String?)] {
            try expectProblem(try await machine.send(method, path, json), "operator_forbidden", "\(method) \(path)")
        }
        let further = try await machine.ask("POST", "operators/bob/tokens", #"{"machine": true}"#)
        #expect(further["machine"]?.bool == true && further["token"] != nil, "of its own kind")
        let tokens = try await bob.get("operators/bob")["tokens"]?.array?.compactMap { $0.object?["machine"]?.bool }
        #expect(Set(tokens ?? []) == [true, false])
        let fallback = try await deployment.value(
            """
            select column_default from information_schema.columns
            where table_schema = 'federation' and table_name = 'operator_tokens' and column_name = 'machine'
            """
        )
        #expect(fallback == "true")
    }

    @Test("a code counts once, a wrong one never, and what one token was asked for no other one shows")
    func once() async throws {
        let cyd = try await make("cyd")
        let (app, factor, codes) = try await enrol(cyd)
        let other = deployment.admin(
            token: try await cyd.ask("POST", "operators/cyd/tokens", "{}")["token"]?.string
        )
        let pending = try #require(try await cyd.ask("POST", "operator/secondFactor/start")["pending"]?.string)
        try expectProblem(try await show(app.code(), of: factor, other, pending: pending), "pending_login_invalid")
        try expectProblem(try await show("nonsense", of: factor, other), "second_factor_invalid")
        try expectProblem(try await show(app.code(-1), of: factor, other), "second_factor_invalid", "of the enrolment")
        let code = app.code()
        #expect(try await show(code, of: factor, other).status == 204)
        try expectProblem(try await show(code, of: factor, cyd), "second_factor_invalid")
        let recovery = try await recovery(of: "cyd")
        #expect(try await show(codes[3], of: recovery, cyd).status == 204)
        try expectProblem(try await show(codes[3], of: recovery, cyd), "second_factor_invalid")
    }

    /// Opens sessions of the console with a token and starts a second factor in each.
    private func sessions(_ count: Int, of admin: AdminClient) async throws -> [(token: String, pending: String)] {
        var sessions: [(token: String, pending: String)] = []
        for _ in 0..<count {
            let token = try #require(try await admin.ask("POST", "operator/sessions")["token"]?.string)
            let started = try await deployment.admin(token: token).ask("POST", "operator/secondFactor/start")
            sessions.append((token, try #require(started["pending"]?.string)))
        }
        return sessions
    }

    private func reason(_ reply: HTTPReply) -> String? {
        JSON.object(reply.text)?["errorData"]?.object?["reason"]?.string
    }

    @Test("codes are guessed twenty times a day, whichever tokens and instances guess at once; other ways stay open")
    func guesses() async throws {
        let dan = try await make("dan")
        let (app, factor, codes) = try await enrol(dan)
        try await deployment.withSecondInstance { second in
            let sessions = try await sessions(8, of: dan)
            var looked = 0
            for round in 0..<40 where looked <= 20 {
                let replies = try await atOnce(round == 0 ? 20 : 8) { [sessions] index in
                    let (token, pending) = sessions[index % sessions.count]
                    let http = index % 2 == 0 ? deployment.service.management : second.management
                    let code = #""factorId": "\#(factor)", "code": "\#(app.wrongCode)""#
                    return try await AdminClient(http: http, token: token).send(
                        "POST",
                        "operator/secondFactor/finish",
                        #"{"pending": "\#(pending)", \#(code)}"#
                    )
                }
                let wrong = replies.count { reason($0) == "second_factor_invalid" }
                #expect(replies.allSatisfy { ["second_factor_invalid", "too_many_attempts"].contains(reason($0)) })
                guard wrong > 0 else { break }
                looked += wrong
                // Simulate the end of the waits between guesses.
                try await deployment.database.psql("update federation.attempts set blocked_until = to_timestamp(0)")
            }
            #expect(looked == 20)
        }
        let fresh = try #require(try await sessions(1, of: dan).first?.token)
        let admin = deployment.admin(token: fresh)
        let late = try await show(app.code(), of: factor, admin)
        try expectProblem(late, "too_many_attempts", "the right one")
        #expect(Int(late.header("Retry-After") ?? "").map { $0 > 80_000 } == true, "until the day is over")
        #expect(try await show(codes[0], of: try await recovery(of: "dan"), admin).status == 204)
        #expect(try await admin.send("GET", "applications").status == 200)

        // Another owner removes the factor, and the count of guesses with it.
        let counted = try await guessed()
        let eli = try await make("eli")
        let listed = try await eli.all("operators/dan/factors").compactMap { $0["kind"]?.string }
        #expect(listed == ["totp", "recoveryCode"])
        let entries = try await deployment.audited {
            let removed = try await eli.send("DELETE", "operators/dan/factors")
            #expect(removed.status == 204)
        }
        #expect(entries.map { $0["action"]?.string } == ["operator.factor.remove"])
        #expect(try await guessed() < counted)
        #expect(try await eli.all("operators/dan/factors").isEmpty)
        try expectProblem(try await eli.send("DELETE", "operators/dan/factors/\(factor)"), "not_found")
        let again = try await enrol(dan)
        #expect(try await show(again.app.code(), of: again.factor, dan).status == 204)
        try await deployment.command("delete", "operators/dan/factors", "--confirm", "dan")
        let none = try await deployment.federation("delete", "operators/dan/factors/\(again.factor)")
        #expect(none.exitStatus == .exited(66), "\(none.standardError)")
    }

    @Test("recovery codes are tried a hundred times an hour, counted by themselves")
    func recoveryGuesses() async throws {
        let gus = try await make("gus")
        let (app, factor, codes) = try await enrol(gus)
        let recovery = try await recovery(of: "gus")
        let asked = try #require(try await sessions(1, of: gus).first)
        let session = deployment.admin(token: asked.token)
        for _ in 0..<10 {
            let replies = try await atOnce(10) { _ in
                try await show("AAAA-AAAA-AAAA-AAAA", of: recovery, session, pending: asked.pending)
            }
            for reply in replies { try expectProblem(reply, "second_factor_invalid") }
        }
        try expectProblem(try await show(codes[0], of: recovery, session), "too_many_attempts")
        #expect(try await show(app.code(), of: factor, session).status == 204)
    }

    // MARK: - Limits of tokens

    @Test("an operator has twenty sessions of the console and a hundred tokens at most, however many are made at once")
    func bounded() async throws {
        let hal = try await make("hal")
        var opened: [String?] = []
        // More at once would wait for connections to the database.
        for count in [8, 8, 8, 6] {
            opened += try await atOnce(count) { _ in try await hal.ask("POST", "operator/sessions")["token"]?.string }
        }
        #expect(Set(opened).count == 30 && !opened.contains(nil))
        let last = try await hal.ask("POST", "operator/sessions")
        let listed = try #require(JSON.value(try await hal.send("GET", "operator/sessions").text)?.array)
        #expect(listed.count == 20 && listed.contains { $0.object?["id"] == last["id"] }, "the newest is there")
        let session = deployment.admin(token: last["token"]?.string)
        #expect(try await session.send("GET", "operator").status == 200)
        let ended = try await deployment.value(
            "select count(*) from federation.audit_log where action = 'operator.session.end' and target = 'hal'"
        )
        #expect(ended == "11", "each that made room has its entry")

        try await deployment.database.psql(
            """
            insert into federation.operator_tokens (token_hash, id, operator, machine)
            select sha256(('hal' || n)::bytea), lpad(to_hex(n), 16, 'a'), 'hal', true from generate_series(1, 98) n
            """
        )
        #expect(try await hal.send("POST", "operators/hal/tokens", "{}").status == 201)
        try expectProblem(try await hal.send("POST", "operators/hal/tokens", "{}"), "conflict")
        #expect(try await hal.send("DELETE", "operators/hal/tokens/aaaaaaaaaaaaaaa1").status == 204)
        #expect(try await hal.send("POST", "operators/hal/tokens", "{}").status == 201)
        let page = try await hal.get("operators/hal")["tokens"]?.array?.count
        #expect(page == 120)
    }

    @Test("a session whose second factor was shown stays, however many others a stolen token opens")
    func shownStays() async throws {
        let ivy = try await make("ivy")
        let shown = try await ivy.ask("POST", "operator/sessions")
        try await deployment.database.psql(
            "update federation.operator_tokens set factor_proved = now() where id = '\(shown["id"]?.string ?? "")'"
        )
        for _ in 0..<21 { _ = try await ivy.ask("POST", "operator/sessions") }
        let listed = try #require(JSON.value(try await ivy.send("GET", "operator/sessions").text)?.array)
        #expect(listed.count == 20 && listed.contains { $0.object?["id"] == shown["id"] })
    }

    @Test("nothing of a factor is in a reply, the log, the audit log or unencrypted in the database")
    func encrypted() async throws {
        let eve = try await make("eve")
        let begun = try await eve.ask("POST", "operator/factors", #"{"kind": "totp"}"#)
        let address = try #require(begun["otpauth"]?.string)
        let seed = try #require(address.firstRange(of: "secret=").map { address[$0.upperBound...].prefix(32) })
        let app = try AuthenticatorApp(begun)
        let elsewhere = try await make("fay")
        try expectProblem(
            try await elsewhere.send("POST", "operator/factors/\(app.id)/confirm", #"{"code": "\#(app.code(-1))"}"#),
            "not_found",
            "another operator's"
        )
        try await eve.ask("POST", "operator/factors/\(app.id)/confirm", #"{"code": "\#(app.code(-1))"}"#)
        #expect(try await deployment.database.psql("select * from canaries('\(seed)')") == [])
        #expect(!deployment.service.process.standardOutput.contains(seed))
        #expect(!(try await eve.send("GET", "operator/factors")).text.contains(seed))
        let offered = try await eve.get("operator/factors")["kinds"]?.array?.compactMap(\.string)
        #expect(offered == ["totp", "recoveryCode", "passkey"])
        let options = try await eve.ask("POST", "operator/factors", #"{"kind": "passkey"}"#)["publicKey"]?.object
        #expect(options?["rp"]?.object?["id"]?.string == "admin.example.com")
        try expectProblem(
            try await eve.send("POST", "operator/factors", #"{"kind": "sms"}"#),
            "factor_not_offered"
        )
    }
}
