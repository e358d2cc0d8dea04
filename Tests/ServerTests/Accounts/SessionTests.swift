import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Sessions",
    .serialized,
    .deployed(
        Document(
            settings: #"{"sessionIdleSeconds": 3600, "sessionAbsoluteSeconds": 7200}"#,
            properties: #"{"nick": {"type": "STRING"}}"#,
            mapping: #"{"name": "name", "first_name": "nick"}"#
        ),
        Document(application: "other", keyVariable: "OTHER_API_KEY")
    )
)
struct SessionTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func isValid(_ token: String, in document: Document? = nil) async throws -> String {
        let reply = try await deployment.get("users/isvalidusertoken/\(token)", of: document)
        #expect(reply.status == 200)
        #expect(reply.header("Content-Type") == "application/json")
        #expect(reply.header("Cache-Control") == "no-store")
        return reply.text
    }

    @Test("the token check answers the literals true and false")
    func tokenCheck() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        #expect(try await isValid(session.token) == "true")
        let wrong = [
            String(session.token.dropLast()), session.token + "A", session.token.uppercased(), "null", "undefined", "x",
            String(repeating: "A", count: 43), "%27", String(repeating: "a", count: 4000),
        ]
        for token in wrong { #expect(try await isValid(token) == "false", "\(token)") }
        #expect(try await isValid(session.token, in: deployment.documents[1]) == "false", "another application's")
    }

    @Test("T-66: the database has a digest of the token and not the token")
    func digest() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        let found = try await deployment.value(
            "select count(*) from demo.sessions where token_hash = sha256('\(session.token)')"
        )
        #expect(found == "1")
    }

    @Test("logout ends the session with an empty body, and so is answered who has none; a dead token is told as one")
    func logout() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        // Some SDKs log out before every login, and so without a session.
        for token in [session.token, nil] {
            let reply = try await deployment.get("users/logout", token: token)
            #expect(reply.status == 200, "\(reply.text)")
            #expect(reply.body.isEmpty)
            #expect(reply.header("Content-Type") == nil, "any text is a fault to an SDK")
            try SwiftClient.nothing(reply)
            #expect(try await isValid(session.token) == "false")
        }
        for token in [session.token, "", "x", String(repeating: "A", count: 43)] {
            try expectProblem(try await deployment.get("users/logout", token: token), "session_invalid", "\(token)")
        }
    }

    @Test("a session reads its own user by both paths, with all properties or those that are asked for")
    func ownUser() async throws {
        let session = try await deployment.loggedIn(
            try await deployment.newcomer(#"{"name": "Ann", "first_name": "A"}"#)
        )
        for endpoint in [
            "data/Users/\(session.objectID)", "users/\(session.objectID)", "users/\(session.objectID.lowercased())",
        ] {
            let reply = try await deployment.get(endpoint, token: session.token)
            let user = try #require(JSON.object(reply.text), "\(reply.text)")
            #expect(user.keys == session.user.keys.filter { $0 != "user-token" }, "\(endpoint)")
            #expect(user["objectId"]?.string == session.objectID)
            #expect(user["name"]?.string == "Ann")
            #expect(reply.header("Cache-Control") == "no-store")
        }
        let some = try await deployment.get(
            "users/\(session.objectID)?props=name,objectId",
            token: session.token
        )
        #expect(JSON.object(some.text) == ["objectId": .string(session.objectID), "name": .string("Ann")])
        for name in ["none", "user-token", "password"] {
            let reply = try await deployment.get("users/\(session.objectID)?props=\(name)", token: session.token)
            try expectProblem(reply, "query_invalid")
        }
        try expectProblem(
            try await deployment.get("data/Sessions/\(session.objectID)", token: session.token),
            "table_unknown"
        )
    }

    @Test("every other user's id is not found, whether there is such a user or not")
    func otherUsers() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        let other = try await deployment.loggedIn(try await deployment.newcomer())
        var texts: Set<String> = []
        for id in [
            other.objectID, "00000000-0000-0000-0000-000000000000", "x", "%27%20or%201=1", session.objectID + "0",
        ] {
            for path in ["users/\(id)", "data/Users/\(id)"] {
                let reply = try await deployment.get(path, token: session.token)
                try expectProblem(reply, "not_found", "\(path)")
                texts.insert(JSON.object(reply.text)?["message"]?.string ?? "")
            }
        }
        #expect(texts.count == 1)
    }

    @Test("a dead token is refused with code 3064 wherever a session is needed")
    func deadToken() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        _ = try await deployment.get("users/logout", token: session.token)
        for token in [session.token, "x", String(repeating: "A", count: 43), nil] {
            for endpoint in ["users/\(session.objectID)", "data/Users/\(session.objectID)", "users/sessions"] {
                try expectProblem(try await deployment.get(endpoint, token: token), "session_invalid", "\(endpoint)")
            }
        }
        try expectProblem(
            try await deployment.get("users/\(session.objectID)", token: session.token, of: deployment.documents[1]),
            "session_invalid"
        )
    }

    @Test("T-65: a login gives a new token, ends the session that the client had, and never takes over a chosen one")
    func fixation() async throws {
        let ann = try await deployment.newcomer()
        let first = try await deployment.loggedIn(ann)
        let second = try await deployment.loggedIn(ann, headers: [("user-token", first.token)])
        #expect(second.token != first.token)
        #expect(try await isValid(first.token) == "false")
        #expect(try await isValid(second.token) == "true")

        let chosen = String(repeating: "c", count: 43)
        for token in [chosen, first.token, "x", ""] {
            let reply = try await deployment.login(
                ann,
                headers: [("user-token", token), ("Cookie", "user-token=\(chosen)")]
            )
            let third = try deployment.signedIn(reply)
            #expect(![chosen, first.token, second.token].contains(third.token))
        }
        #expect(try await isValid(chosen) == "false")
        #expect(try await isValid(second.token) == "true", "another session of the same person lives on")
    }

    @Test("T-65: somebody else's session does not end by sending its token along")
    func foreignSession() async throws {
        let victim = try await deployment.loggedIn(try await deployment.newcomer())
        let attacker = try await deployment.newcomer()
        _ = try await deployment.loggedIn(attacker, headers: [("user-token", victim.token)])
        #expect(try await isValid(victim.token) == "true")
    }

    @Test("T-65: a login that fails ends nothing")
    func failedLogin() async throws {
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann)
        try await deployment.simulator.patch(token: ann.token, #"{"kind": "loggedOut"}"#)
        let reply = try await deployment.login(ann, headers: [("user-token", session.token)])
        try expectProblem(reply, "credential_revoked")
        #expect(try await isValid(session.token) == "true")
    }

    @Test("T-64: a login that is refused by the last check leaves no session, whichever way it came")
    func lateRefusal() async throws {
        let email = "late.canary@example.com"
        let user = try #require(try await deployment.register(email)["objectId"]?.string)
        let visitor = try await deployment.newcomer(#"{"first_name": "Late"}"#)
        let linked = try await deployment.send(
            "POST",
            "users/identities/facebook",
            #"{"accessToken": "\#(visitor.token)"}"#,
            token: try await deployment.logIn(email).token
        )
        try #require(linked.status == 200, "\(linked.text)")
        try await deployment.database.psql("delete from demo.sessions where object_id = '\(user)'")
        try await deployment.database.psql(
            "alter table demo.users add constraint late check (nick is null or nick <> 'Never')"
        )
        try await deployment.simulator.patch(person: visitor.key, #"{"first_name": "Never"}"#)
        try expectProblem(try await deployment.login(visitor), "constraint_violation")
        try await deployment.simulator.patch(person: visitor.key, #"{"first_name": "Late"}"#)
        try await deployment.database.psql("alter table demo.users drop constraint late")
        try await deployment.database.psql(
            "update demo.users set user_status = 'DISABLED' where object_id = '\(user)'"
        )
        try expectProblem(try await deployment.login(visitor), "account_disabled")
        let password = #"{"login": "\#(email)", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", password), "account_disabled")
        #expect(try await deployment.value("select count(*) from demo.sessions where object_id = '\(user)'") == "0")
    }

    @Test("a session ends when it has not been used for the idle time, and at the absolute limit in any case")
    func limits() async throws {
        let idle = try await deployment.loggedIn(try await deployment.newcomer())
        let life = try await deployment.value(
            "select extract(epoch from expires - created)::bigint from demo.sessions where object_id = '\(idle.objectID)'"
        )
        #expect(life == "7200")
        try await age(idle, by: "last_seen = now() - interval '59 minutes'")
        #expect(try await isValid(idle.token) == "true")
        let seen = try await deployment.value(
            "select now() - last_seen < interval '1 minute' from demo.sessions where object_id = '\(idle.objectID)'"
        )
        #expect(seen == "t", "use renews it")
        try await age(idle, by: "last_seen = now() - interval '61 minutes'")
        #expect(try await isValid(idle.token) == "false")

        let old = try await deployment.loggedIn(try await deployment.newcomer())
        try await age(old, by: "expires = now() - interval '1 second'")
        #expect(try await isValid(old.token) == "false")
        try expectProblem(try await deployment.get("users/\(old.objectID)", token: old.token), "session_invalid")
    }

    private func age(_ session: LoginResult, by change: String) async throws {
        try await deployment.database.psql("update demo.sessions set \(change) where object_id = '\(session.objectID)'")
    }
}
