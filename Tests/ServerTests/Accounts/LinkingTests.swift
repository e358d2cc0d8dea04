import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Linking",
    .serialized,
    .deployed(
        Document(
            consumers: ["consumerOne"],
            options: #""keepTokens": true"#,
            settings: #"{"registration": {"maxPerSourcePerHour": 1000}}"#,
            properties: #"{"nick": {"type": "STRING", "clientMappable": true}, "joined": {"type": "STRING"}}"#,
            mapping: #"[{"from": "first_name", "to": "nick"}, {"from": "name", "to": "joined", "sync": "firstLogin"}]"#,
            twitterMapping: #"{"screen_name": "nick"}"#
        )
    )
)
struct LinkingTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func link(_ provider: String, _ credential: String, _ token: String?) async throws -> HTTPReply {
        try await deployment.send("POST", "users/identities/\(provider)", "{\(credential)}", token: token)
    }

    private func link(_ visitor: Visitor, _ token: String?) async throws -> HTTPReply {
        try await link("facebook", #""accessToken": "\#(visitor.token)""#, token)
    }

    private func unlink(_ provider: String, _ token: String?) async throws -> HTTPReply {
        try await deployment.send("DELETE", "users/identities/\(provider)", token: token)
    }

    private func loginMethods(_ token: String) async throws -> [String] {
        let reply = try await deployment.get("users/identities", token: token)
        let names = (JSON.value(reply.text)?.array ?? []).compactMap { $0.object?["provider"]?.string }
        return names.sorted()
    }

    private func age(_ token: String) async throws {
        try await deployment.database.psql(
            "update demo.sessions set proved = now() - interval '301 s' where token_hash = sha256('\(token)')"
        )
    }

    private func count(_ sql: String) async throws -> String? {
        try await deployment.value("select count(*) from \(sql)")
    }

    @Test("one person by password, Facebook and Twitter: each logs in, each can go, and the last login method stays")
    func story() async throws {
        let user = try await deployment.register("story.canary@example.com")
        let session = try await deployment.logIn("story.canary@example.com")
        let (ann, bird) = (try await deployment.newcomer(#"{"first_name": "Ann"}"#), try await deployment.tweeter())
        let linked = try await link(ann, session.token)
        #expect(linked.status == 200, "\(linked.text)")
        #expect(JSON.object(linked.text)?["objectId"] == user["objectId"])
        #expect(JSON.object(linked.text)?["nick"]?.string == "Ann", "the mapping writes as at a login")
        #expect(JSON.object(linked.text)?["user-token"] == nil, "the session stays the one that it was")
        #expect(try await link("Twitter", bird.credential, session.token).status == 200)
        #expect(try await loginMethods(session.token) == ["facebook", "password", "twitter"])

        #expect(try await deployment.loggedIn(ann).objectID == session.objectID)
        #expect(try deployment.signedIn(try await deployment.login(bird)).objectID == session.objectID)
        #expect(try await deployment.logIn("story.canary@example.com").objectID == session.objectID)

        #expect(try await unlink("password", session.token).status == 204)
        try expectProblem(
            try await deployment.send(
                "POST",
                "users/login",
                #"{"login": "story.canary@example.com", "password": "\#(Deployment.password)"}"#
            ),
            "login_invalid"
        )
        #expect(try await unlink("FACEBOOK", session.token).status == 204)
        try expectProblem(try await unlink("twitter", session.token), "last_login_method")
        #expect(try await loginMethods(session.token) == ["twitter"])
        try expectProblem(try await deployment.login(ann), "credential_revoked")
        let token = try await deployment.simulator.mint("long", person: ann.key, app: "1234567890")
        let anew = try await deployment.loggedIn(Visitor(key: ann.key, id: ann.id, token: token))
        #expect(anew.created && anew.objectID != session.objectID, "Facebook's Ann is somebody new")
    }

    @Test(
        "T-43: what is added or taken away needs a recent authentication; a credential of an own identity is one"
    )
    func stepUp() async throws {
        let (ann, bird) = (try await deployment.newcomer(), try await deployment.tweeter())
        let session = try await deployment.loggedIn(ann)
        try await age(session.token)
        try expectProblem(try await link("twitter", bird.credential, session.token), "reauthentication_required")
        #expect(try deployment.signedIn(try await deployment.login(bird)).created, "nothing is linked")
        let other = try await deployment.tweeter()
        #expect(try await link(ann, session.token).status == 200, "what is linked already, verified once more")
        #expect(try await link("twitter", other.credential, session.token).status == 200)
        try await age(session.token)
        try expectProblem(try await unlink("facebook", session.token), "reauthentication_required")
        #expect(try await link(ann, session.token).status == 200, "what is linked already, verified once more")
        #expect(try await unlink("facebook", session.token).status == 204)
    }

    @Test("T-31: an authentication counts for the session that it came by, and for the identity that was verified")
    func boundAuthentication() async throws {
        let (ann, bird) = (try await deployment.newcomer(), try await deployment.tweeter())
        let (recent, old) = (try await deployment.loggedIn(ann), try await deployment.loggedIn(ann))
        try await age(old.token)
        #expect(try await link(ann, recent.token).status == 200, "this session authenticates once more")
        try expectProblem(try await link("twitter", bird.credential, old.token), "reauthentication_required")
        try expectProblem(try await unlink("facebook", old.token), "reauthentication_required")

        // The credential of another user is no authentication for this session.
        let other = try await deployment.newcomer()
        _ = try await deployment.loggedIn(other)
        try expectProblem(try await link(other, old.token), "identity_taken")
        try expectProblem(try await link("twitter", bird.credential, old.token), "reauthentication_required")
        #expect(try await loginMethods(old.token) == ["facebook"])
    }

    @Test("an operator takes an identity of Twitter away, and with it the sessions that it opened")
    func byOperator() async throws {
        let bird = try await deployment.tweeter()
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        #expect(try await link("twitter", bird.credential, session.token).status == 200)
        let byBird = try deployment.signedIn(try await deployment.login(bird))
        #expect(byBird.objectID == session.objectID)
        let subject = try await deployment.value(
            "select subject from demo.identities where object_id = '\(session.objectID)' and provider = 'twitter'"
        )
        let identities = "applications/demo/users/\(session.objectID)/identities"
        let owner = try await deployment.admin()
        try expectProblem(try await owner.send("DELETE", "\(identities)/myspace/global/1"), "not_found")
        try await owner.ask("DELETE", "\(identities)/twitter/global/\(subject ?? "")")
        #expect(try await loginMethods(session.token) == ["facebook"])
        #expect(try await !deployment.isValid(byBird.token))
        #expect(try await deployment.isValid(session.token))
    }

    @Test("an identity that is somebody else's stays theirs, and the client learns why")
    func taken() async throws {
        let (ann, bob) = (try await deployment.newcomer(), try await deployment.newcomer())
        let (first, second) = (try await deployment.loggedIn(ann), try await deployment.loggedIn(bob))
        let other = try await link(bob, first.token)
        try expectProblem(other, "identity_taken")
        #expect(other.text.contains(#""owner":"other""#))
        let more = try await link(try await deployment.newcomer(), first.token)
        try expectProblem(more, "identity_taken")
        #expect(more.text.contains(#""owner":"self""#), "\(more.text)")
        #expect(try await deployment.loggedIn(bob).objectID == second.objectID)
    }

    @Test("T-41: linking needs the session's header, JSON, a POST, and a recent authentication; nothing else links")
    func forgery() async throws {
        let (ann, bob) = (try await deployment.newcomer(), try await deployment.newcomer())
        let session = try await deployment.loggedIn(ann)
        try expectProblem(try await link(bob, nil), "session_invalid")
        let similar = (session.token.hasPrefix("A") ? "B" : "A") + session.token.dropFirst()
        try expectProblem(try await link(bob, similar), "session_invalid")
        let path = deployment.path("users/identities/facebook")
        let cookie = [("Cookie", "user-token=\(session.token)"), ("Content-Type", "application/json")]
        let body = Array(#"{"accessToken": "\#(bob.token)"}"#.utf8)
        try expectProblem(
            try await deployment.client.send("POST", path, headers: cookie, body: body),
            "session_invalid"
        )
        for type in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"] {
            let headers = [("user-token", session.token), ("Content-Type", type)]
            let reply = try await deployment.client.send("POST", path, headers: headers, body: body)
            try expectProblem(reply, "unsupported_media_type")
        }
        let get = try await deployment.get("users/identities/facebook?accessToken=\(bob.token)", token: session.token)
        #expect(get.status == 405)
        try expectProblem(
            try await link("facebook", #""accessToken": "wrong""#, session.token),
            "credential_wrong_kind"
        )
        #expect(try await count("demo.identities where object_id = '\(session.objectID)'") == "1")
    }

    @Test("T-60: fifty people who link one identity at once: one has it")
    func race() async throws {
        let ann = try await deployment.newcomer()
        var sessions: [LoginResult] = []
        for _ in 0..<20 { sessions.append(try deployment.signedIn(try await deployment.login(deployment.tweeter()))) }
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for session in sessions { group.addTask { try await link(ann, session.token).status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.count { $0 == 200 } == 1 && statuses.count { $0 == 409 } == 19, "\(statuses)")
        #expect(try await count("demo.identities where subject = '\(ann.id)'") == "1")
    }

    @Test("two unlinkings at once leave one login method")
    func unlinkRace() async throws {
        for _ in 0..<5 {
            let session = try await deployment.loggedIn(try await deployment.newcomer())
            #expect(try await link("twitter", try await deployment.tweeter().credential, session.token).status == 200)
            async let first = unlink("facebook", session.token)
            async let second = unlink("twitter", session.token)
            let statuses = [try await first.status, try await second.status]
            #expect(statuses.sorted() == [204, 409], "\(statuses)")
        }
    }

    @Test("an ID token links once; firstLogin fills only what is empty")
    func once() async throws {
        let session = try deployment.signedIn(try await deployment.login(deployment.tweeter()))
        let ann = try await deployment.newcomer(#"{"name": "Ann First"}"#)
        let token = try await deployment.idToken(of: ann)
        let linked = try await link("facebook", #""idToken": "\#(token)""#, session.token)
        #expect(JSON.object(linked.text)?["joined"]?.string == "Ann First", "\(linked.text)")
        try expectProblem(try await link("facebook", #""idToken": "\#(token)""#, session.token), "credential_replayed")
        try expectProblem(try await deployment.login(body: #"{"idToken": "\#(token)"}"#), "credential_replayed")
        _ = try await deployment.database.psql(
            "update demo.users set joined = 'kept' where object_id = '\(session.objectID)'"
        )
        let again = try await link(ann, session.token)
        #expect(JSON.object(again.text)?["joined"]?.string == "kept", "\(again.text)")
    }

    @Test("a guest becomes Facebook's person and keeps id and properties; a stranger's guest does not")
    func guests() async throws {
        func guest() async throws -> (id: String, token: String) {
            let reply = try await deployment.send("POST", "users/register/guest")
            let object = try #require(JSON.object(reply.text))
            return (object["objectId"]?.string ?? "", object["user-token"]?.string ?? "")
        }
        let own = try await guest()
        _ = try await deployment.send("PUT", "users/\(own.id)", #"{"nick": "visitor"}"#, token: own.token)
        let bird = try await deployment.tweeter(#"{"screen_name": ""}"#)
        let members = #""guestUser": {"objectId": "\#(own.id)", "userStatus": "GUEST", "user-token": "\#(own.token)"}"#
        let signedIn = try deployment.signedIn(try await deployment.login(bird, members))
        #expect(signedIn.objectID == own.id && !signedIn.created)
        #expect(signedIn.user["userStatus"]?.string == "ENABLED" && signedIn.user["socialAccount"]?.string == "TWITTER")
        #expect(try await !deployment.isValid(own.token), "the guest's session has become the user's")
        #expect(try deployment.signedIn(try await deployment.login(bird)).objectID == own.id)

        let other = try await guest()
        let ann = try await deployment.newcomer(#"{"name": "Ann Able"}"#)
        let stolen =
            #"{"accessToken": "\#(ann.token)", "guestUser": {"objectId": "\#(other.id)", "user-token": "\#(signedIn.token)"}}"#
        try expectProblem(try await deployment.login(body: stolen), "guest_invalid")
        let nobody = #"{"accessToken": "\#(ann.token)", "guestUser": {"objectId": "\#(other.id)"}}"#
        try expectProblem(try await deployment.login(body: nobody), "guest_invalid")
        #expect(try await count("demo.identities where subject = '\(ann.id)'") == "0", "nothing is written")

        // Flutter's SDK sends the guest as a JSON text within a string.
        let written = JSONValue.object(["objectId": .string(other.id), "user-token": .string(other.token)]).text
        let carl = try await deployment.newcomer()
        for wrong in [
            #"{"objectId": ""#, "[]", "1", #"{"user-token": "\#(other.token)"}"#, #"\#(written)x"#,
            String(repeating: "[", count: 200) + String(repeating: "]", count: 200),
        ] {
            let body = #"{"accessToken": "\#(carl.token)", "guestUser": \#(JSONValue.string(wrong).text)}"#
            let reply = try await deployment.login(body: body)
            try expectProblem(reply, "malformed_request", "\(wrong)")
            #expect(!reply.text.contains(other.token))
        }
        #expect(try await count("demo.identities where subject = '\(carl.id)'") == "0", "nothing is written")
        let absent = try deployment.signedIn(
            try await deployment.login(body: #"{"accessToken": "\#(ann.token)", "guestUser": "null"}"#)
        )
        #expect(absent.created)

        let known = try await deployment.loggedIn(ann)
        try await deployment.database.psql(
            "update demo.users set joined = 'Corrected' where object_id = '\(known.objectID)'"
        )
        let right =
            #"{"accessToken": "\#(ann.token)", "guestUser": {"objectId": "\#(other.id)", "user-token": "\#(other.token)"}}"#
        let again = try deployment.signedIn(try await deployment.login(body: right))
        #expect(again.objectID == known.objectID, "who is known stays who they are")
        #expect(try await deployment.isValid(other.token), "and so does the guest")
        let itself =
            #"{"accessToken": "\#(ann.token)", "guestUser": {"objectId": "\#(known.objectID)", "user-token": "\#(other.token)"}}"#
        _ = try deployment.signedIn(try await deployment.login(body: itself))
        let row = try await deployment.row(of: known.objectID)
        #expect(row?["joined"]?.string == "Corrected", "whoever is named as the guest, this was no first login")

        let text = #"{"accessToken": "\#(carl.token)", "guestUser": \#(JSONValue.string(written).text)}"#
        let converted = try deployment.signedIn(try await deployment.login(body: text))
        #expect(converted.objectID == other.id && !converted.created)
        #expect(converted.user["userStatus"]?.string == "ENABLED")
    }
}
