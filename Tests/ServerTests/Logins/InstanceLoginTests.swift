import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Logins at two instances of Facebook, with one app between them",
    .serialized,
    .deployed(Document(options: #""returnUrls": ["https://app.example.com/done"]"#))
)
struct InstanceLoginTests {
    private static let instances = ["facebook", "staff"]

    let deployment: Deployment

    init() async throws {
        deployment = try Deployment.current
        let app = #"{"appId": "1234567890", "appSecret": "\#(Canary.appSecret(of: "1234567890"))"}"#
        try await deployment.admin().ask(
            "PUT",
            "applications/demo/providers/staff",
            #"{"kind": "facebook", "apps": [\#(app)], "returnUrls": ["https://app.example.com/done"]}"#
        )
    }

    private func login(_ body: String, at instance: String) async throws -> HTTPReply {
        try await deployment.send("POST", "users/social/\(instance)/login", body)
    }

    /// Starts a dialog of a provider in the usual browser.
    private func start(at instance: String) async throws -> Address {
        let reply = try await deployment.requestURL(path: "users/oauth/\(instance)/request_url")
        try #require(reply.status == 200, "\(reply.text)")
        return try Address(reply.text)
    }

    /// Returns the same address at another provider.
    private func elsewhere(_ address: Address, from instance: String, to other: String) throws -> Address {
        let path = address.path.replacing("/\(instance)/", with: "/\(other)/")
        try #require(path != address.path)
        return try Address("\(address.origin)\(path)?\(Address.encode(address.query))")
    }

    private func loginCode(_ reply: HTTPReply) throws -> String {
        let location = try #require(reply.header("Location"), "\(reply.status) \(reply.text)")
        return try #require(try Address(location)["loginCode"], "\(location)")
    }

    @Test("a person is somebody else at each instance, whose name stands in the identity")
    func people() async throws {
        let ann = try await deployment.newcomer()
        let facebook = try await deployment.loggedIn(ann)
        let credential = #"{"accessToken": "\#(ann.token)"}"#
        let staff = try deployment.signedIn(try await login(credential, at: "staff"))
        #expect(staff.created && staff.objectID != facebook.objectID)
        #expect(staff.user["socialAccount"]?.string == "STAFF")
        for (path, user) in [("staff", staff), ("STAFF", staff), ("facebook", facebook)] {
            let again = try deployment.signedIn(try await login(credential, at: path))
            #expect(!again.created && again.objectID == user.objectID)
        }
        let identities = try await deployment.rows(
            "select to_jsonb(i) from demo.identities i where subject = '\(ann.id)' order by provider"
        )
        #expect(identities.map { $0["provider"]?.string } == Self.instances)
        #expect(identities.map { $0["provider_app"]?.string } == ["1234567890", "1234567890"])
        #expect(
            identities.map { $0["object_id"]?.string?.uppercased() } == [facebook.objectID, staff.objectID],
            "of one app, and yet two people"
        )
        let unknown = try await login(credential, at: "nobody")
        try expectProblem(unknown, "not_found")
        #expect(!unknown.text.contains("staff"), "clients are not told what else there is: \(unknown.text)")
        let shown = try await deployment.admin().send("GET", "applications/demo/providers/nobody")
        #expect(shown.status == 404, "\(shown.text)")
        #expect(shown.text.contains("Known providers: facebook, oauth2, oidc, staff, twitter"), "\(shown.text)")
    }

    @Test("the program makes an instance, which people log in at, and shows, checks and removes it")
    func commandLine() async throws {
        try await Document.withFile(Canary.appSecret(of: "1234567890")) { file in
            let set = ["set", "applications/demo/providers/desk", "apps.1234567890.appSecret=@\(file)"]
            let nothing = try await deployment.federation(set)
            #expect(nothing.exitStatus == .exited(65) && nothing.standardError.contains("facebook, twitter"))
            let unknown = try await deployment.federation(set + ["kind=openid"])
            #expect(unknown.exitStatus == .exited(65) && unknown.standardError.contains("facebook, twitter"))
            let made = try await deployment.federation(set + ["kind=facebook", "proof=classic"])
            #expect(made.exitStatus == .exited(0), "\(made.standardError)")
            let reserved = try await deployment.federation(
                ["set", "applications/demo/providers/oauth", "kind=facebook", "enabled=false"]
            )
            #expect(reserved.exitStatus == .exited(65), "\(reserved.standardError)")
            #expect(reserved.standardError.contains("is reserved"), "\(reserved.standardError)")
        }
        let ann = try await deployment.newcomer()
        let reply = try await eventually("the service knows the instance") { () -> HTTPReply? in
            let reply = try await login(#"{"accessToken": "\#(ann.token)"}"#, at: "desk")
            return reply.status == 200 ? reply : nil
        }
        let user = try deployment.signedIn(reply)
        #expect(
            try await deployment.value("select provider from demo.identities where object_id = '\(user.objectID)'")
                == "desk"
        )
        let shown = JSON.object(
            try await deployment.command("get", "applications/demo/providers/desk", "--json")
        )
        #expect(shown?["kind"]?.string == "facebook" && shown?["proof"]?.string == "classic")
        let checked = try await deployment.command("provider", "check", "demo", "--provider", "desk", "--json")
        #expect(JSON.object(checked)?["apps"]?.array?.first?.object?["ok"]?.bool == true)
        let removed = try await deployment.command(
            "delete",
            "applications/demo/providers/desk",
            "--confirm",
            "desk"
        )
        #expect(removed.contains("desk is removed"), "\(removed)")
        let left = try await deployment.federation("get", "applications/demo/providers/facebook")
        #expect(left.exitStatus == .exited(0), "the one that is called facebook stays")
    }

    @Test("what a dialog of one instance gives is refused at the other and is good where it belongs")
    func mixUp() async throws {
        for (instance, other) in [("facebook", "staff"), ("staff", "facebook")] {
            let ann = try await deployment.newcomer()
            let ticket = try await start(at: instance)
            let misled = try await deployment.browser.get(
                try elsewhere(ticket, from: instance, to: other),
                at: deployment.client
            )
            expectPage(misled, status: 400)
            let dialog = try await deployment.open(ticket)
            #expect(dialog["redirect_uri"]?.contains("/users/oauth/\(instance)/authorize") == true)
            let callback = try await deployment.answer(dialog, as: ann)
            try await deployment.expectNothingWritten {
                let reply = try await deployment.comeBack(to: try elsewhere(callback, from: instance, to: other))
                expectPage(reply, status: 400)
            }
            let code = try loginCode(try await deployment.comeBack(to: callback))
            let end = try deployment.signedIn(try await login(#"{"loginCode": "\#(code)"}"#, at: instance))
            #expect(
                try await deployment.value(
                    "select provider from demo.identities where object_id = '\(end.objectID)'"
                ) == instance
            )

            let second = try await deployment.answer(try await deployment.open(try await start(at: instance)), as: ann)
            let stolen = try loginCode(try await deployment.comeBack(to: second))
            try expectProblem(try await login(#"{"loginCode": "\#(stolen)"}"#, at: other), "credential_invalid")
            try expectProblem(
                try await login(#"{"loginCode": "\#(stolen)"}"#, at: instance),
                "credential_invalid",
                "it counts once, wherever it is tried"
            )
        }
    }

    @Test("T-25: an ID token counts at one instance, also with an Idempotency-Key, which is of that login alone")
    func idToken() async throws {
        let ann = try await deployment.newcomer()
        let body = #"{"idToken": "\#(try await deployment.idToken(of: ann))"}"#
        let headers = [("Idempotency-Key", "5d1f7e0a-0009")]
        func login(at instance: String) async throws -> HTTPReply {
            try await deployment.send("POST", "users/social/\(instance)/login", body, headers: headers)
        }
        let first = try deployment.signedIn(try await login(at: "facebook"))
        try await deployment.expectNothingWritten {
            try expectProblem(try await login(at: "staff"), "idempotency_key_reused")
        }
        let again = try deployment.signedIn(try await login(at: "facebook"))
        #expect(again.token == first.token)
    }

    /// Logs a user in at both providers.
    private func signInEverywhere(_ visitor: Visitor) async throws -> [LoginResult] {
        let credential = #"{"accessToken": "\#(visitor.token)"}"#
        var users: [LoginResult] = []
        for instance in Self.instances {
            users.append(try deployment.signedIn(try await login(credential, at: instance)))
        }
        return users
    }

    @Test("T-118: Facebook calls one address for an app, and what it says holds at each instance that has the app")
    func callbacks() async throws {
        let ann = try await deployment.newcomer()
        _ = try await signInEverywhere(ann)
        let earlier = [
            try await deployment.idToken(of: ann, #""iatOffset": -100"#),
            try await deployment.idToken(of: ann, #""iatOffset": -99"#),
        ]
        #expect(try await deployment.deliver("deauthorize", ann).status == 200)
        let ended = "select count(*) from demo.identities where subject = '\(ann.id)' and revoked is not null"
        #expect(try await deployment.value(ended) == "2")
        for (instance, token) in zip(Self.instances, earlier) {
            try expectProblem(try await login(#"{"idToken": "\#(token)"}"#, at: instance), "credential_revoked")
        }

        let bob = try await deployment.newcomer()
        let users = try await signInEverywhere(bob)
        let reply = try await deployment.deliver("deletion", bob)
        #expect(reply.status == 200)
        // On a busy machine, the background work ends what the call could not end in time.
        try await eventually("both users are erased", within: .seconds(120)) {
            try await deployment.value("select bool_and(done is not null) from federation.deletion_requests") == "t"
        }
        for user in users { #expect(try await deployment.rowCount(of: user.objectID) == "0") }
        let code = "select provider from federation.deletion_requests where code = '\(reply.code)'"
        #expect(try await deployment.value(code) == "facebook", "the receipt is of the instance that was called")
    }

    @Test("T-118: a deletion is done when it is done at each instance, also at one that was removed")
    func lastDeletion() async throws {
        let staff = "applications/demo/providers/staff"
        try await deployment.admin().ask("PATCH", staff, #"{"eraseAfterDays": 30}"#)
        let ann = try await deployment.newcomer()
        let users = try await signInEverywhere(ann)
        let code = try await deployment.deliver("deletion", ann).code
        #expect(try await deployment.rowCount(of: users[0].objectID) == "0")
        #expect(try await deployment.rowCount(of: users[1].objectID) == "3", "user, identity and session")
        func page() async throws -> String {
            try await deployment.get("users/oauth/facebook/deletion/\(code)").text
        }
        #expect(try await page().contains("Your data will be deleted by <time datetime="))
        try await deployment.database.psql("update federation.deletion_requests set due = now()")
        try await eventually("the erasure") { try await deployment.rowCount(of: users[1].objectID) == "0" }
        #expect(try await page().contains("Your data was deleted on"))

        let bob = try await deployment.newcomer()
        let others = try await signInEverywhere(bob)
        try await deployment.admin().ask("DELETE", staff)
        #expect(try await deployment.deliver("deletion", bob).status == 200)
        for user in others { #expect(try await deployment.rowCount(of: user.objectID) == "0") }
    }

    @Test("a nonce that was given out for one instance is refused at the other and is good where it belongs")
    func nonces() async throws {
        for instance in Self.instances {
            try await deployment.admin().ask(
                "PATCH",
                "applications/demo/providers/\(instance)",
                #"{"nonce": "serverIssued"}"#
            )
        }
        func nonce(_ path: String) async throws -> String {
            let reply = try await deployment.send("POST", path)
            return try #require(JSON.object(reply.text)?["nonce"]?.string, "\(reply.text)")
        }
        for (path, instance, other) in [
            ("users/nonce", "facebook", "staff"), ("users/oauth/facebook/nonce", "facebook", "staff"),
            ("users/oauth/Staff/nonce", "staff", "facebook"),
        ] {
            let ann = try await deployment.newcomer()
            let nonce = try await nonce(path)
            let token = try await deployment.idToken(of: ann, #""nonce": "\#(nonce)""#)
            let body = #"{"idToken": "\#(token)"}"#
            try await deployment.expectNothingWritten {
                try expectProblem(try await login(body, at: other), "credential_invalid")
            }
            #expect(try await login(body, at: instance).status == 200, "\(path)")
        }
        try expectProblem(try await deployment.send("POST", "users/oauth/nobody/nonce"), "not_found")
        for instance in Self.instances {
            try await deployment.admin().ask("PATCH", "applications/demo/providers/\(instance)", #"{"nonce": null}"#)
        }
    }

    @Test("what is known of an app counts at each instance that has it, and not at another kind's of the same app id")
    func lostChallenge() async throws {
        let ann = try await deployment.newcomer()
        func challenges() async throws -> [Bool] {
            var found: [Bool] = []
            for instance in Self.instances {
                found.append(try await deployment.open(try await start(at: instance))["code_challenge"] != nil)
            }
            return found
        }
        try await deployment.database.psql(
            """
            insert into demo.single_use (kind, hash, expires)
            select 'noChallenge', sha256(app), now() + interval '1 hour'
            from unnest(array['1234567890', 'twitter/1234567890']::bytea[]) app
            """
        )
        #expect(try await challenges() == [true, true])
        try await deployment.simulator.ask("PATCH", "apps/1234567890", #"{"dropChallenge": true}"#)
        let callback = try await deployment.answer(try await deployment.open(try await start(at: "staff")), as: ann)
        _ = try await deployment.comeBack(to: callback)
        try await deployment.simulator.ask("PATCH", "apps/1234567890", #"{"dropChallenge": false}"#)
        #expect(try await challenges() == [false, false])
        try await deployment.database.psql("delete from demo.single_use where kind = 'noChallenge'")
    }
}
