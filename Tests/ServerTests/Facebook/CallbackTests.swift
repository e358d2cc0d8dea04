import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// An application with two apps that keeps tokens.
private let document = Document(
    apps: ["1234567890", "2345678901"],
    options: """
        "keepTokens": true, "endSessionsWhenRevoked": true, "webhookVerifyToken": "a-token-of-our-own"
        """,
    mapping: #"{"email": "email", "name": "name"}"#
)

@Suite("T-118: what only Facebook may say", .serialized, .deployed(document))
struct CallbackTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let profile = #"{"email": "ann.canary@example.com", "name": "Ann Canary"}"#

    @Test(
        "T-118: a forged, old or incomplete signed_request is refused, and nothing is written",
        arguments: ["deauthorize", "deletion"]
    )
    func forged(kind: String) async throws {
        let ann = try await deployment.newcomer(Self.profile)
        _ = try await deployment.loggedIn(ann)
        let now = Int64(Date().timeIntervalSince1970)
        try await deployment.simulator.put(app: "3456789012", #"{"secret": "of another app"}"#)
        try await deployment.simulator.patch(
            person: ann.key,
            #"{"ids": {"1234567890": "\#(ann.id)", "3456789012": "\#(ann.id)"}}"#
        )
        try await deployment.expectNothingWritten {
            func refused(_ members: String, app: String = "1234567890", _ comment: Comment) async throws {
                let reply = try await deployment.deliver(kind, ann, members, app: app)
                #expect(reply.status == 400, comment)
                #expect(reply.reason == "malformed_request", comment)
                #expect(!reply.body.lowercased().contains(Canary.mark) && !reply.body.contains(ann.id), comment)
            }
            try await refused(#""signWith": "none""#, "unsigned")
            try await refused(#""signWith": "a guess""#, "another secret")
            try await refused("", app: "3456789012", "another app's secret")
            try await refused(#""algorithm": "none""#, "no algorithm")
            try await refused(#""algorithm": "HMAC-SHA1""#, "another algorithm")
            try await refused(#""issuedAt": \#(now - 2 * 86_400)"#, "two days old")
            try await refused(#""issuedAt": \#(now + 3600)"#, "of the future")
            try await refused(#""payload": "{}""#, "empty")
            try await refused(#""payload": "no json""#, "no JSON")
            try await refused(
                #""payload": {"algorithm": "HMAC-SHA256", "issued_at": \#(now)}"#,
                "nobody"
            )
            try await refused(
                #""payload": {"algorithm": "HMAC-SHA256", "user_id": "\#(ann.id)"}"#,
                "no time"
            )
        }
    }

    @Test("fields beside signed_request lose no call")
    func furtherFields() async throws {
        let ann = try await deployment.newcomer()
        _ = try await deployment.loggedIn(ann)
        let call = try await deployment.signedRequest("deauthorize", ann)
        let form = "state=1&signed_request=\(call)&signed_request_version=2"
        let reply = try await deployment.post(form: form, to: "users/oauth/facebook/deauthorize")
        #expect(reply.status == 200 && reply.text == "{}")
        #expect(try await deployment.identity(of: ann)?["revoked"]?.isNull == false)
    }

    @Test("T-118: a form that is not one signed_request is refused", arguments: ["deauthorize", "deletion"])
    func forms(kind: String) async throws {
        let endpoint = "users/oauth/facebook/\(kind)"
        try await deployment.expectNothingWritten {
            for form in [
                "", "signed_request", "signed_request=", "signed_request=a.b&signed_request=a.b", "signed_request=%",
                "signed_request=%00.x", "signed_request=" + String(repeating: "A", count: 20_000) + ".x",
                String(repeating: "&", count: 1000), "Signed_request=a.b", "signed_request=a.b\u{E9}",
            ] {
                try expectProblem(try await deployment.post(form: form, to: endpoint), "malformed_request")
            }
            let huge = "signed_request=" + String(repeating: "A", count: 70_000)
            try expectProblem(try await deployment.post(form: huge, to: endpoint), "payload_too_large")
            let json = try await deployment.client.post(deployment.path(endpoint), json: #"{"signed_request": "a.b"}"#)
            try expectProblem(json, "unsupported_media_type")
            let other = try await deployment.post(form: "signed_request=a.b", to: "users/oauth/twitter/\(kind)")
            try expectProblem(other, "provider_not_configured")
            let unknown = try await deployment.post(form: "signed_request=a.b", to: "users/oauth/nobody/\(kind)")
            try expectProblem(unknown, "not_found")
        }
    }

    @Test("a person who removed the app at Facebook has a marked identity, no kept token and no session, once")
    func deauthorize() async throws {
        let (ann, ben) = (try await deployment.newcomer(Self.profile), try await deployment.newcomer())
        let (session, others) = (try await deployment.loggedIn(ann), try await deployment.loggedIn(ben))
        #expect(try await deployment.identity(of: ann)?["token"]?.isNull == false)
        let entries = try await deployment.audited {
            let reply = try await deployment.deliver("deauthorize", ann)
            #expect(reply.status == 200 && reply.body == "{}")
        }
        #expect(entries.map { $0["action"]?.string } == ["user.revoke"])
        #expect(entries.first?["actor"]?.string == "provider:facebook")
        #expect(entries.first?["target"]?.string == session.objectID)
        let identity = try #require(try await deployment.identity(of: ann))
        #expect(identity["revoked"]?.isNull == false && identity["revoked_by"]?.string == "deauthorize")
        #expect(identity["token"]?.isNull == true && identity["check_due"]?.isNull == true)
        #expect(try await deployment.get("users/isvalidusertoken/\(session.token)").text == "false")
        #expect(try await deployment.get("users/isvalidusertoken/\(others.token)").text == "true")

        let shown = try await deployment.admin(.viewer).get("applications/demo/users/\(session.objectID)")
        let seen = try #require(shown["identities"]?.array?.first?.object)
        #expect(seen["revokedBy"]?.string == "deauthorize" && seen["revoked"]?.integer != nil)
        #expect(seen["tokenKept"]?.bool == false)

        try await deployment.expectNothingWritten(except: ["demo.single_use"]) {
            let replay = try await deployment.deliver("deauthorize", ann)
            #expect(replay.status == 200)
            // The response does not reveal which users are known.
            let stranger = try await deployment.newcomer()
            let reply = try await deployment.deliver("deauthorize", stranger)
            #expect(reply.status == 200 && reply.body == "{}")
        }
        _ = try await deployment.loggedIn(ann)
        #expect(try await deployment.identity(of: ann)?["revoked"]?.isNull == true)
        let before = Int64(Date().timeIntervalSince1970) - 60
        try await deployment.expectNothingWritten {
            let reply = try await deployment.deliver("deauthorize", ann, #""issuedAt": \#(before)"#)
            #expect(reply.status == 200, "it was overtaken by the login")
        }
    }

    @Test("an ID token from before the end of our access is refused and brings nobody back, a new one does")
    func earlierIDToken() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let session = try await deployment.loggedIn(ann)
        let earlier = try await deployment.idToken(of: ann, #""iatOffset": -100"#)
        let other = try await deployment.idToken(of: ann, #""iatOffset": -99"#)
        let reply = try await deployment.deliver("deauthorize", ann)
        #expect(reply.status == 200)
        try await deployment.expectNothingWritten(except: ["demo.single_use"]) {
            try expectProblem(try await deployment.login(idToken: earlier), "credential_revoked")
        }
        #expect(try await deployment.identity(of: ann)?["revoked_by"]?.string == "deauthorize")
        try expectProblem(try await deployment.login(idToken: earlier), "credential_replayed")

        let back = try await deployment.login(idToken: try await deployment.idToken(of: ann))
        #expect(back.status == 200 && back.text.contains(session.objectID), "\(back.text)")
        #expect(try await deployment.identity(of: ann)?["revoked"]?.isNull == true)
        try expectProblem(try await deployment.login(idToken: other), "credential_revoked")
    }

    @Test("each of several Facebook apps speaks of its own people only")
    func apps() async throws {
        let ann = try await deployment.newcomer(app: "2345678901")
        let ben = try await deployment.newcomer()
        // The same number for the other app is another user.
        try await deployment.simulator.patch(person: ben.key, #"{"ids": {"1234567890": "\#(ann.id)"}}"#)
        _ = try await deployment.loggedIn(ann)
        _ = try await deployment.loggedIn(ben)
        #expect(try await deployment.deliver("deauthorize", ben).status == 200)
        #expect(try await deployment.identity(of: ann, app: "2345678901")?["revoked"]?.isNull == true)
        #expect(try await deployment.identity(of: ann, app: "1234567890")?["revoked"]?.isNull == false)
        #expect(try await deployment.deliver("deauthorize", ann, app: "2345678901").status == 200)
        #expect(try await deployment.identity(of: ann, app: "2345678901")?["revoked"]?.isNull == false)
    }

    @Test("the webhook's handshake answers whoever knows the token, with digits and nothing else")
    func handshake() async throws {
        let path = deployment.path("users/oauth/facebook/webhook")
        func ask(_ query: String) async throws -> HTTPReply { try await deployment.client.get(path + "?" + query) }
        let right = try await ask("hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=a-token-of-our-own")
        #expect(right.status == 200 && right.text == "1158201444")
        #expect(right.header("Content-Type") == "text/plain; charset=utf-8")
        for query in [
            "", "hub.mode=subscribe&hub.challenge=1&hub.verify_token=another", "hub.mode=subscribe&hub.challenge=1",
        ] {
            try expectProblem(try await ask(query), "callback_refused")
        }
        for query in [
            "hub.mode=subscribe&hub.challenge=%3Cscript%3E&hub.verify_token=a-token-of-our-own",
            "hub.mode=x&hub.challenge=1&hub.verify_token=a-token-of-our-own",
            "hub.mode=subscribe&hub.challenge=1&hub.challenge=2&hub.verify_token=a-token-of-our-own",
        ] {
            try expectProblem(try await ask(query), "malformed_request")
        }
        // An application without a verify token confirms nothing.
        let witness = deployment.path("users/oauth/facebook/webhook", of: .witness)
        try expectProblem(
            try await deployment.client.get(witness + "?hub.mode=subscribe&hub.challenge=1&hub.verify_token="),
            "callback_refused"
        )
    }

    @Test("T-111: the verify token of the webhook is written and never read: left out it stays, null removes it")
    func verifyToken() async throws {
        let owner = try await deployment.admin()
        let path = "applications/demo/providers/facebook"
        let handshake = deployment.path("users/oauth/facebook/webhook") + "?hub.mode=subscribe&hub.challenge=7"
        func knows(_ token: String) async throws -> Bool {
            let reply = try await deployment.client.get(handshake + "&hub.verify_token=" + token)
            if reply.status != 200 { try expectProblem(reply, "callback_refused") }
            return reply.status == 200
        }
        func expectNobodyKnows(_ tokens: String...) async throws {
            for token in tokens {
                let isKnown = try await knows(token)
                #expect(!isKnown, "\(token)")
            }
        }
        func stored() async throws -> String {
            let options = "select options from federation.provider_settings where application_id = 'demo'"
            return try await deployment.value(options) ?? ""
        }
        try await owner.ask("PATCH", path, #"{"webhookVerifyToken": "canary-of-the-webhook"}"#)
        #expect(try await knows("canary-of-the-webhook"))
        try await expectNobodyKnows("canary-of-the-webhook.", "a-token-of-our-own")
        let row = try await stored()
        #expect(row.contains(#""sealed""#) && !row.contains(Canary.mark), "\(row)")

        let read = try await owner.get(path)
        let token = try #require(read["webhookVerifyToken"]?.object)
        #expect(token.members.map(\.key) == ["set", "changed", "keyId"] && token["set"]?.bool == true)
        let app = read["apps"]?.array?.first?.object?["appSecret"]?.object
        #expect(token["keyId"]?.string == app?["keyId"]?.string && token["changed"]?.integer != nil)
        let document = try await owner.get("applications/demo/document")
        #expect(!(read.text + document.text).contains(Canary.mark))

        // The value as read, left out, or as in the document keeps the token.
        try await owner.ask("PUT", path, read.text)
        let leftOut = read.members.filter { $0.key != "webhookVerifyToken" }
        try await owner.ask("PUT", path, JSONObject(leftOut).text)
        try await owner.ask("PATCH", path, #"{"proof": "classic"}"#)
        try await owner.ask("PATCH", path, #"{"proof": "timed"}"#)
        try await owner.ask("PUT", "applications/demo/document", document.text)
        #expect(try await stored() == row)

        for removal in [#"{"webhookVerifyToken": null}"#, "PUT"] {
            if removal == "PUT" {
                try await owner.ask("PATCH", path, #"{"webhookVerifyToken": {"value": "canary-of-the-webhook"}}"#)
                #expect(try await knows("canary-of-the-webhook"))
                try await owner.ask(
                    "PUT",
                    path,
                    JSONObject(leftOut + [JSONObject.Member("webhookVerifyToken", .null)]).text
                )
            } else {
                try await owner.ask("PATCH", path, removal)
            }
            #expect(try await owner.get(path)["webhookVerifyToken"]?.isNull == true)
            try await expectNobodyKnows("canary-of-the-webhook", "")
        }
        for wrong in [#"{"set": true}"#, #"{"env": "X"}"#, #""canary-short""#, #""canary with a space""#, "7"] {
            let reply = try await owner.send("PATCH", path, #"{"webhookVerifyToken": \#(wrong)}"#)
            try expectProblem(reply, "document_invalid", "\(wrong)")
            #expect(!reply.text.contains(Canary.mark), "\(reply.text)")
        }
        try await owner.ask("PATCH", path, #"{"webhookVerifyToken": "a-token-of-our-own"}"#)
        #expect(try await knows("a-token-of-our-own"))
        let log = try await deployment.value("select string_agg(a::text, ' ') from federation.audit_log a") ?? ""
        #expect(log.contains("webhookVerifyToken") && log.contains("•••") && !log.contains("canary-of-the-webhook"))
    }

    @Test("a webhook without our signature is refused, and nothing is written")
    func forgedWebhook() async throws {
        let ann = try await deployment.newcomer()
        _ = try await deployment.loggedIn(ann)
        try await deployment.expectNothingWritten {
            for members in [#""signWith": "none""#, #""signWith": "a guess""#, #""payload": "no json""#] {
                let reply = try await deployment.deliver("webhook", ann, members)
                #expect(reply.status == 400 && reply.reason == "malformed_request", "\(members): \(reply.body)")
            }
            for payload in [#"{"object": "page", "entry": []}"#, #"{"object": "permissions"}"#, "{}"] {
                let reply = try await deployment.deliver("webhook", ann, #""payload": \#(payload)"#)
                #expect(reply.status == 200, "what is not understood is taken: \(payload)")
            }
            let long = try await deployment.client.post(
                deployment.path("users/oauth/facebook/webhook"),
                json: String(repeating: " ", count: 300_000)
            )
            try expectProblem(long, "payload_too_large")
        }
    }

    @Test("permissions come and go by webhook, the newest event counts, and a disconnected app is a revoked identity")
    func webhook() async throws {
        let ann = try await deployment.newcomer(
            #"{"permissions": {"public_profile": "granted", "email": "granted", "user_link": "granted"}}"#
        )
        let session = try await deployment.loggedIn(ann)
        let now = Int64(Date().timeIntervalSince1970)
        func tell(_ field: String, _ verb: String, at moment: Int64) async throws {
            let reply = try await deployment.deliver(
                "webhook",
                ann,
                #""field": "\#(field)", "verb": "\#(verb)", "issuedAt": \#(moment)"#
            )
            #expect(reply.status == 200, "\(reply.body)")
        }
        func scopes() async throws -> (granted: Set<String>, declined: Set<String>) {
            let identity = try #require(try await deployment.identity(of: ann))
            func texts(_ key: String) -> Set<String> { Set((identity[key]?.array ?? []).compactMap(\.string)) }
            return (texts("granted_scopes"), texts("declined_scopes"))
        }
        try await tell("email", "revoked", at: now + 20)
        try await tell("email", "granted", at: now + 10)
        try await tell("user_birthday", "granted", at: now + 10)
        #expect(try await scopes() == (["public_profile", "user_link", "user_birthday"], ["email"]))
        try await tell("user_link", "revoked", at: now - 60)
        #expect(try await scopes().granted.contains("user_link"), "the login is newer")
        try await tell("connected", "granted", at: now + 10)
        try await tell("connected", "revoked", at: now - 60)
        #expect(try await deployment.identity(of: ann)?["revoked"]?.isNull == true)
        try await tell("connected", "revoked", at: now + 30)
        let identity = try #require(try await deployment.identity(of: ann))
        #expect(identity["revoked_by"]?.string == "webhook" && identity["token"]?.isNull == true)
        #expect(try await deployment.get("users/isvalidusertoken/\(session.token)").text == "false")
        // Repeated events change nothing, except that the revocation of a permission may be written again.
        try await deployment.expectNothingWritten(except: ["demo.single_use"]) {
            try await tell("connected", "revoked", at: now + 30)
            try await tell("user_birthday", "granted", at: now + 10)
            try await tell("email", "revoked", at: now + 20)
        }
    }

    @Test("a refused call is one line of the log, with the reason and nothing of the call")
    func log() async throws {
        let ann = try await deployment.newcomer()
        let before = deployment.service.process.standardOutput.utf8.count
        _ = try await deployment.deliver("deauthorize", ann, #""signWith": "a guess""#)
        let lines = try await eventually("a line about the refused call") { () -> [Substring]? in
            let new = String(
                decoding: deployment.service.process.standardOutput.utf8.dropFirst(before),
                as: UTF8.self
            )
            .split(separator: "\n").filter { $0.contains("signed_request") }
            return new.isEmpty ? nil : new
        }
        #expect(lines.count == 1)
        #expect(lines.first?.contains("malformed_request") == true)
        #expect(lines.first?.contains(ann.id) == false)
    }
}

@Suite(
    "Whoever removes the app at Facebook stays logged in where the application does not end sessions",
    .serialized,
    .deployed(Document(apps: ["1234567890"]))
)
struct LastingSessionTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test(
        "T-118: the identity is revoked, and the session goes on",
        arguments: [("deauthorize", ""), ("webhook", #""field": "connected", "verb": "revoked""#)]
    )
    func sessions(call: String, members: String) async throws {
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann)
        #expect(try await deployment.deliver(call, ann, members).status == 200)
        #expect(try await deployment.identity(of: ann)?["revoked_by"]?.string == call)
        #expect(try await deployment.get("users/isvalidusertoken/\(session.token)").text == "true")
    }
}
