import FoundationEssentials
import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

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

    /// Makes an owner over REST.
    private func make(_ name: String, _ rest: String = "") async throws -> AdminClient {
        let json = #"{"name": "\#(name)", "role": "owner"\#(rest)}"#
        let made = try await deployment.admin().ask("POST", "operators", json)
        return deployment.admin(token: try #require(made["token"]?.string))
    }

    /// Enrols an authenticator app, with the code of the step before, so that the one of now is left.
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

    /// Makes all that was shown by tokens of an operator so much older.
    private func age(_ name: String, by interval: String) async throws {
        try await deployment.database.psql(
            "update federation.operator_tokens set factor_proved = factor_proved - interval '\(interval)' where operator = '\(name)'"
        )
    }

    /// How many operators have guessed wrongly.
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
        let other = try await deployment.command("operator", "token", "ann")
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
        let listed = try await deployment.command("operator", "factor", "list", name, "--json")
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
        try expectProblem(try await machine.send("POST", "operator/secondFactor/start"), "factor_not_offered")
        try expectProblem(
            try await machine.send("POST", "operator/factors", #"{"kind": "totp"}"#),
            "factor_not_offered"
        )
        let factor = try #require(try await bob.get("operator/factors")["factors"]?.array?.first?.object?["id"]?.string)
        try expectProblem(try await machine.send("DELETE", "operator/factors/\(factor)"), "factor_not_offered")
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
        try expectProblem(try await show(app.code(), of: factor, other, pending: pending), "pending_sign_in_invalid")
        try expectProblem(try await show("nonsense", of: factor, other), "second_factor_invalid")
        try expectProblem(try await show(app.code(-1), of: factor, other), "second_factor_invalid", "of the enrolment")
        let code = app.code()
        #expect(try await show(code, of: factor, other).status == 204)
        try expectProblem(try await show(code, of: factor, cyd), "second_factor_invalid")
        let recovery = try await recovery(of: "cyd")
        #expect(try await show(codes[3], of: recovery, cyd).status == 204)
        try expectProblem(try await show(codes[3], of: recovery, cyd), "second_factor_invalid")
    }

    @Test("guesses by one token are few and shut no other one out; the machine's command line is the way back")
    func guesses() async throws {
        let dan = try await make("dan")
        let (app, factor, _) = try await enrol(dan)
        let owner = deployment.admin(
            token: try await dan.ask("POST", "operators/dan/tokens", "{}")["token"]?.string
        )
        var reasons: [String] = []
        for _ in 0..<12 {
            let reply = try await show("000000", of: factor, dan)
            reasons.append(reply.status == 429 ? "wait" : "wrong")
        }
        #expect(reasons.prefix(5).allSatisfy { $0 == "wrong" }, "\(reasons)")
        #expect(reasons.suffix(4).contains("wait"), "\(reasons)")
        #expect(try await show(app.code(), of: factor, owner).status == 204, "the first token may be a thief's")

        try await age("dan", by: "13 hours")
        try expectProblem(try await dan.send("GET", "applications"), Self.required)
        try expectProblem(try await dan.send("DELETE", "operator/factors/\(factor)"), Self.required)
        let counted = try await guessed()
        let entries = try await deployment.audited {
            try await deployment.command("operator", "factor", "remove", "dan", "--all")
        }
        #expect(entries.map { $0["action"]?.string } == ["operator.factor.remove"])
        #expect(try await dan.send("GET", "applications").status == 200)
        #expect(try await guessed() == counted - 2, "and the guesses by both tokens are forgotten")
        _ = try await enrol(dan)
        let again = try await deployment.federation("operator", "factor", "remove", "dan", factor)
        #expect(again.exitStatus == .exited(66), "\(again.standardError)")
    }

    @Test("nothing of a factor is in a reply, the log, the audit log or unsealed in the database")
    func sealed() async throws {
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
