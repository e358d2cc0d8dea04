import Domain
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "A user's own sessions",
    .serialized,
    .deployed(Document(), Document(application: "other", keyVariable: "OTHER_API_KEY"))
)
struct OwnSessionTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func sessions(_ token: String) async throws -> [JSONObject] {
        let reply = try await deployment.get("users/sessions", token: token)
        #expect(reply.status == 200)
        #expect(reply.header("Cache-Control") == "no-store")
        return try #require(JSON.value(reply.text)?.array, "\(reply.text)").compactMap(\.object)
    }

    private func end(_ path: String, _ token: String?, of document: Document? = nil) async throws -> HTTPReply {
        try await deployment.send("DELETE", path, token: token, to: document)
    }

    private func isLive(_ token: String) async throws -> Bool {
        try await deployment.get("users/isvalidusertoken/\(token)").text == "true"
    }

    @Test("the list has every live session, the one that asks in front, and nothing that opens one")
    func list() async throws {
        let ann = try await deployment.newcomer()
        let first = try await deployment.loggedIn(ann)
        let second = try await deployment.loggedIn(ann)
        _ = try await deployment.loggedIn(try await deployment.newcomer())
        let listed = try await sessions(first.token)
        #expect(listed.map { $0["current"]?.bool } == [true, false])
        for session in listed {
            #expect(
                session.keys == ["id", "created", "lastSeen", "expires", "provider", "source", "userAgent", "current"]
            )
            #expect(session["provider"]?.string == "facebook")
            let (created, expires) = (session["created"]?.integer ?? 0, session["expires"]?.integer ?? 0)
            #expect(expires - created == 30 * 86_400_000)
            let id = try #require(session["id"]?.string)
            #expect(try await !isLive(id))
        }
        let known = try await deployment.value(
            "select encode(substring(sha256(sha256('\(second.token)')) for 16), 'hex')"
        )
        #expect(listed.last?["id"]?.string == known, "the name by which operators know it")
    }

    @Test("a session says from where and with what it was opened, to its user and to operators, as the log has it")
    func origin() async throws {
        let ann = try await deployment.newcomer()
        // The two hundredth byte is the first of a two-byte letter.
        let agent = "Shop/4.20 <b> (" + String(repeating: "é", count: 120) + ")"
        let reply = try await deployment.login(ann, headers: [("User-Agent", agent)])
        let token = try #require(JSON.object(reply.text)?["user-token"]?.string)
        let id = try #require(JSON.object(reply.text)?["objectId"]?.string)
        _ = try await deployment.login(ann, headers: [("User-Agent", "Tablet/1")])
        let listed = try await eventually("the log has both") {
            let listed = try await sessions(token)
            return listed.allSatisfy { $0["userAgent"]?.string != nil } ? listed : nil
        }
        #expect(listed.count == 2 && listed.allSatisfy { $0["source"]?.string == "127.0.0.1" }, "\(listed)")
        let kept = try #require(listed.first?["userAgent"]?.string)
        #expect(kept == "Shop/4.20 <b> (" + String(repeating: "é", count: 92), "cut, and whole letters")
        #expect(listed.last?["userAgent"]?.string == "Tablet/1")
        let person = try await deployment.admin(.viewer).get("applications/demo/users/\(id)")
        let seen = person["sessions"]?.array?.compactMap(\.object) ?? []
        #expect(Set(seen.compactMap { $0["userAgent"]?.string }) == [kept, "Tablet/1"], "\(seen)")
        let logins = try await deployment.admin(.viewer).get("logins?application=demo&user=\(id)")
        let rows = logins["items"]?.array?.compactMap(\.object) ?? []
        #expect(Set(rows.compactMap { $0["session"]?.string }) == Set(listed.compactMap { $0["id"]?.string }))
        // A repeated login opened no session, so its log entry does not change the session's origin.
        try await deployment.database.psql(
            """
            insert into federation.login_log (id, happened, application_id, method, credential, outcome, object_id, source,
                milliseconds, user_agent, session)
            select id + 1, happened, application_id, method, credential, outcome, object_id, '192.0.2.1', 1, 'Again/1', session
            from federation.login_log where object_id = '\(id)' and user_agent = 'Tablet/1'
            """
        )
        #expect(try await sessions(token).last?["userAgent"]?.string == "Tablet/1")
        // Without a log entry the origin is unknown.
        try await deployment.database.psql("delete from federation.login_log where object_id = '\(id)'")
        let unknown = try await sessions(token)
        #expect(unknown.allSatisfy { $0["userAgent"]?.isNull == true && $0["source"]?.isNull == true }, "\(unknown)")
    }

    @Test("sessions are seen and ended where the log cannot be read")
    func withoutLog() async throws {
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann)
        try await deployment.database.psql("alter table federation.login_log rename to login_log_away")
        let listed = try? await sessions(session.token)
        let person = try? await deployment.admin(.viewer).get("applications/demo/users/\(session.objectID)")
        try await deployment.database.psql("alter table federation.login_log_away rename to login_log")
        let own = try #require(listed)
        #expect(own.count == 1 && own.first?["source"]?.isNull == true, "\(own)")
        #expect(person?["sessions"]?.array?.count == 1)
    }

    @Test("a session that nobody used for too long, or whose time is over, is none")
    func over() async throws {
        let ann = try await deployment.newcomer()
        let idle = try await deployment.loggedIn(ann)
        let expired = try await deployment.loggedIn(ann)
        let asking = try await deployment.loggedIn(ann)
        _ = try await deployment.database.psql(
            """
            update demo.sessions set last_seen = now() - interval '15 days' where token_hash = sha256('\(idle.token)');
            update demo.sessions set expires = now() where token_hash = sha256('\(expired.token)')
            """
        )
        #expect(try await sessions(asking.token).count == 1)
    }

    @Test("all others end; the one that asks and those of other people live on")
    func endOthers() async throws {
        let ann = try await deployment.newcomer()
        let (first, second) = (try await deployment.loggedIn(ann), try await deployment.loggedIn(ann))
        let third = try await deployment.loggedIn(ann)
        let bob = try await deployment.loggedIn(try await deployment.newcomer())
        #expect(try await end("users/sessions", second.token).text == #"{"ended":2}"#)
        var live: [Bool] = []
        for session in [first, second, third, bob] { live.append(try await isLive(session.token)) }
        #expect(live == [false, true, false, true])
        #expect(try await end("users/sessions", second.token).text == #"{"ended":0}"#)
    }

    @Test("one session ends by its id, the one that asks included")
    func endOne() async throws {
        let ann = try await deployment.newcomer()
        let (first, second) = (try await deployment.loggedIn(ann), try await deployment.loggedIn(ann))
        let listed = try await sessions(first.token)
        let other = try #require(listed.last?["id"]?.string)
        #expect(try await end("users/sessions/\(other)", first.token).text == #"{"ended":1}"#)
        #expect(try await !isLive(second.token))
        try expectProblem(try await end("users/sessions/\(other)", first.token), "not_found")
        let own = try #require(listed.first?["id"]?.string)
        #expect(try await end("users/sessions/\(own)", first.token).status == 200)
        try expectProblem(try await end("users/sessions/\(own)", first.token), "session_invalid")
    }

    @Test("T-117: somebody else's session, one that does not exist, and what is no id get one and the same answer")
    func otherPeoples() async throws {
        let ann = try await deployment.loggedIn(try await deployment.newcomer())
        let bob = try await deployment.loggedIn(try await deployment.newcomer())
        let bobs = try #require(try await sessions(bob.token).first?["id"]?.string)
        var messages: Set<String> = []
        let ids = [bobs, String(repeating: "0", count: 32), "x", "%27%20or%20true--", bobs + "0", bob.token]
        for id in ids {
            let reply = try await end("users/sessions/\(id)", ann.token)
            try expectProblem(reply, "not_found", "\(id)")
            messages.insert(JSON.object(reply.text)?["message"]?.string ?? "")
        }
        #expect(messages.count == 1)
        #expect(try await isLive(bob.token))
    }

    @Test("without a live session of this application nothing is listed and nothing ends")
    func unauthorized() async throws {
        let ann = try await deployment.loggedIn(try await deployment.newcomer())
        let id = try #require(try await sessions(ann.token).first?["id"]?.string)
        let cases: [(String?, Document?)] = [(nil, nil), ("x", nil), (ann.token, deployment.documents[1])]
        for (token, document) in cases {
            try expectProblem(
                try await deployment.get("users/sessions", token: token, of: document),
                "session_invalid"
            )
            try expectProblem(try await end("users/sessions", token, of: document), "session_invalid")
            try expectProblem(try await end("users/sessions/\(id)", token, of: document), "session_invalid")
        }
        #expect(try await isLive(ann.token))
    }

    @Test("a disabled user sees no sessions and ends none")
    func disabled() async throws {
        let ann = try await deployment.loggedIn(try await deployment.newcomer())
        _ = try await deployment.database.psql(
            "update demo.users set user_status = 'DISABLED' where object_id = '\(ann.objectID)'"
        )
        try expectProblem(try await deployment.get("users/sessions", token: ann.token), "account_disabled")
        try expectProblem(try await end("users/sessions", ann.token), "account_disabled")
    }
}
