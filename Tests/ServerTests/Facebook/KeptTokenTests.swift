import Domain
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Kept tokens",
    .serialized,
    .deployed(
        Document(
            options: #""keepTokens": true, "returnTokens": true, "longLivedTokens": true, "refreshHours": 24"#,
            properties: #"{"nick": {"type": "STRING"}, "edited": {"type": "STRING"}}"#,
            mapping: """
                [{"from": "email", "to": "email"}, {"from": "name", "to": "nick"},
                 {"from": "first_name", "to": "edited", "sync": "untilEdited"}]
                """
        ),
        Document(
            application: "strict",
            options: #""keepTokens": true, "endSessionsWhenRevoked": true"#,
            keyVariable: "OTHER_API_KEY"
        ),
        Document(
            application: "twoapps",
            apps: ["2345678901", "3456789012"],
            options: #""keepTokens": true"#,
            keyVariable: "OTHER_API_KEY"
        ),
        environment: [
            "FEDERATION_MAINTENANCE_INTERVAL_MILLISECONDS": "100", "FEDERATION_MAINTENANCE_CHECKS_PER_SECOND": "100",
        ]
    )
)
struct KeptTokenTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private var strict: Document { deployment.documents[1] }
    private var twoApps: Document { deployment.documents[2] }

    private static let profile = #"{"email": "ann.canary@example.com", "name": "Ann", "first_name": "Ann"}"#

    private func token(of session: LoginResult, in document: Document? = nil) async throws -> HTTPReply {
        try await deployment.get("users/identities/facebook/token", token: session.token, of: document)
    }

    private func refresh(_ session: LoginResult, in document: Document? = nil) async throws -> HTTPReply {
        try await deployment.client.send(
            "POST",
            deployment.path("users/identities/facebook/refresh", of: document),
            headers: [("user-token", session.token)]
        )
    }

    /// Returns a column of a user's identity.
    private func identity(_ column: String, _ visitor: Visitor, in schema: String = "demo") async throws -> String? {
        try await deployment.value("select \(column) from \(schema).identities where subject = '\(visitor.id)'")
    }

    private func makeDue(_ visitor: Visitor, in schema: String = "demo") async throws {
        try await deployment.database.psql(
            """
            update \(schema).identities set check_due = now(), checked = now() - interval '1 day',
                refreshed = now() - interval '2 days' where subject = '\(visitor.id)'
            """
        )
    }

    /// Makes the token check due until a condition holds for the identity.
    ///
    /// A running round may have read the former configuration, and then its check does not count.
    private func checked(
        until what: String,
        _ condition: String,
        _ visitor: Visitor,
        in schema: String = "demo"
    ) async throws {
        try await eventually(what, within: .seconds(60), every: .seconds(1)) {
            if try await identity(condition, visitor, in: schema) == "t" { return true }
            try await makeDue(visitor, in: schema)
            return false
        }
    }

    @Test("T-117: the token comes back to the person's own session and to nobody else, and no cache keeps it")
    func givenBack() async throws {
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann)
        let reply = try await token(of: session)
        #expect(reply.status == 200)
        #expect(reply.header("Cache-Control") == "no-store")
        let body = try #require(JSON.object(reply.text))
        #expect(body["provider"]?.string == "facebook")
        #expect(body["appId"]?.string == "1234567890")
        #expect(body["token"]?.string == ann.token)
        #expect(body["kind"]?.string == "access")
        #expect((body["expires"]?.integer ?? 0) > 1_700_000_000_000)
        #expect(body.members.count == 5)

        let other = try await deployment.loggedIn(try await deployment.newcomer())
        #expect(JSON.object(try await token(of: other).text)?["token"]?.string != ann.token)
        try expectProblem(try await deployment.get("users/identities/facebook/token"), "session_invalid")
        try expectProblem(
            try await deployment.get("users/identities/facebook/token", token: String(session.token.dropLast())),
            "session_invalid"
        )
        try expectProblem(
            try await deployment.get("users/identities/twitter/token", token: session.token),
            "not_found"
        )
        _ = try await deployment.get("users/logout", token: session.token)
        try expectProblem(try await token(of: session), "session_invalid")
    }

    @Test("T-63: an application that gives no tokens back says so, and a disabled user gets none")
    func notGiven() async throws {
        let ann = try await deployment.newcomer()
        try expectProblem(try await token(of: try await deployment.loggedIn(ann, to: strict), in: strict), "not_found")
        let session = try await deployment.loggedIn(ann)
        try await deployment.database.psql(
            "update demo.users set user_status = 'DISABLED' where object_id = '\(session.objectID)'"
        )
        try expectProblem(try await token(of: session), "account_disabled")
        try expectProblem(try await refresh(session), "account_disabled")
    }

    @Test("T-110: the token in the database is encrypted, and opens in its own row only")
    func encrypted() async throws {
        let (ann, bob) = (try await deployment.newcomer(), try await deployment.newcomer())
        let (session, other) = (try await deployment.loggedIn(ann), try await deployment.loggedIn(bob))
        #expect(try await identity("position('canary'::bytea in token)", ann) == "0")
        try await deployment.database.psql(
            """
            update demo.identities set token = (select token from demo.identities where subject = '\(ann.id)')
            where subject = '\(bob.id)'
            """
        )
        try expectProblem(try await token(of: other), "provider_misconfigured")
        #expect(try await token(of: session).status == 200)
    }

    @Test("a short-lived token is exchanged soon after the login, which does not wait for it")
    func exchanged() async throws {
        let ann = try await deployment.newcomer(kind: "short")
        let session = try await deployment.withExchangeHanging {
            let session = try await deployment.loggedIn(ann)
            // The login succeeded although the exchange hung.
            #expect(JSON.object(try await token(of: session).text)?["token"]?.string == ann.token)
            return session
        }
        // The hanging exchange may end only now, and postpones the next one.
        try await checked(
            until: "the token is exchanged",
            "token_expires > now() + interval '50 days' and check_due > now() + interval '22 hours'",
            ann
        )
        let long = try #require(JSON.object(try await token(of: session).text)?["token"]?.string)
        #expect(long != ann.token)
        // The profile can be read with the long-lived token.
        #expect(try await refresh(session).status == 200)
    }

    @Test("a kept token is checked, and the profile is read by the stored mapping and its rules; that is no login")
    func refreshed() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let session = try await deployment.loggedIn(ann)
        let before = try await deployment.value(
            "select last_login from demo.users where object_id = '\(session.objectID)'"
        )
        try await deployment.database.psql(
            "update demo.users set edited = 'by hand' where object_id = '\(session.objectID)'"
        )
        try await deployment.simulator.patch(person: ann.key, #"{"name": "Anne", "first_name": "Anne"}"#)
        try await makeDue(ann)
        func nick() async throws -> String? {
            try await deployment.value(
                "select nick || ' ' || edited from demo.users where object_id = '\(session.objectID)'"
            )
        }
        try await eventually("the profile is read again") { try await nick() == "Anne by hand" }
        #expect(
            try await identity("checked > now() - interval '1 hour' and refreshed > now() - interval '1 hour'", ann)
                == "t"
        )

        try await deployment.simulator.patch(person: ann.key, #"{"name": "Annie"}"#)
        let reply = try await refresh(session)
        #expect(reply.status == 200, "\(reply.text)")
        #expect(reply.header("Federation-Missing-Permissions") == nil)
        #expect(reply.header("Federation-User-Created") == nil)
        let user = try #require(JSON.object(reply.text))
        #expect(user["nick"]?.string == "Annie")
        #expect(user["user-token"] == nil)
        #expect(user["objectId"]?.string == session.objectID)

        try await deployment.simulator.patch(person: ann.key, #"{"name": "Annette"}"#)
        let path = "applications/demo/users/\(session.objectID)"
        try expectProblem(try await deployment.admin(.viewer).send("POST", path + "/refresh"), "operator_forbidden")
        let person = try await deployment.admin(.editor).ask("POST", path + "/refresh")
        #expect(person["user"]?.object?["nick"]?.string == "Annette")
        let audit = try await deployment.value(
            "select string_agg(action, ' ') from federation.audit_log where target = '\(session.objectID)'"
        )
        #expect(audit == "user.refresh")

        try await deployment.simulator.patch(person: ann.key, #"{"name": "Anna"}"#)
        let command = try await deployment.federation("user", "refresh", "demo", session.objectID, "--json")
        #expect(command.exitStatus == .exited(0), "\(command.standardError)")
        #expect(try await nick() == "Anna by hand")
        #expect(
            try await deployment.value("select last_login from demo.users where object_id = '\(session.objectID)'")
                == before
        )
        #expect(
            try await deployment.value("select count(*) from demo.sessions where object_id = '\(session.objectID)'")
                == "1"
        )
    }

    @Test("of a disabled user the token is checked, and the profile is not asked for")
    func disabledUser() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let session = try await deployment.loggedIn(ann)
        try await deployment.database.psql(
            "update demo.users set user_status = 'DISABLED' where object_id = '\(session.objectID)'"
        )
        let asked = try await deployment.simulator.requests {
            try await makeDue(ann)
            try await eventually("the token is checked") {
                try await identity("checked > now() - interval '1 hour'", ann) == "t"
            }
        }
        #expect(asked.contains { $0.values(of: "input_token") == [ann.token] })
        #expect(!asked.contains { $0.path == "me" && $0.header("Authorization") == "Bearer \(ann.token)" })
    }

    @Test("a refresh tells which permissions the mapping missed, as a login does")
    func refreshMisses() async throws {
        let ann = try await deployment.newcomer(Self.profile, scopes: ["public_profile"])
        let session = try await deployment.loggedIn(ann)
        #expect(session.reply.header("Federation-Missing-Permissions") == "email")
        let reply = try await refresh(session)
        #expect(reply.status == 200, "\(reply.text)")
        #expect(reply.header("Federation-Missing-Permissions") == "email")
        #expect(reply.header("Access-Control-Expose-Headers") == nil)
    }

    @Test(
        "a revoked token marks the identity and goes; the sessions on it end where the application says so",
        arguments: ["appRemoved", "passwordChanged", "invalidated", "loggedOut"]
    )
    func revoked(kind: String) async throws {
        let ann = try await deployment.newcomer()
        let sessions = [
            "demo": try await deployment.loggedIn(ann), "strict": try await deployment.loggedIn(ann, to: strict),
        ]
        let earlier = try await deployment.idToken(of: ann, #""iatOffset": -100"#)
        try await deployment.simulator.patch(token: ann.token, #"{"kind": "\#(kind)"}"#)
        for (schema, session) in sessions {
            try await makeDue(ann, in: schema)
            try await eventually("the identity is marked") {
                try await identity("revoked is not null and token is null", ann, in: schema) == "t"
            }
            #expect(try await identity("revoked_by", ann, in: schema) == "check")
            let document = schema == "demo" ? nil : strict
            let valid = try await deployment.get("users/isvalidusertoken/\(session.token)", of: document)
            #expect(valid.text == (schema == "demo" ? "true" : "false"))
            try expectProblem(
                try await token(of: session, in: document),
                schema == "demo" ? "credential_revoked" : "session_invalid"
            )
            try expectProblem(
                try await refresh(session, in: document),
                schema == "demo" ? "credential_revoked" : "session_invalid"
            )
        }
        try expectProblem(try await deployment.login(idToken: earlier), "credential_revoked")
        #expect(try await identity("revoked_by", ann, in: "demo") == "check")
        // A user who logs in again is accepted.
        try await deployment.simulator.patch(token: ann.token, #"{"kind": "long"}"#)
        let again = try await deployment.loggedIn(ann)
        #expect(try await token(of: again).status == 200)
    }

    @Test("an expired token is forgotten, and that revokes nobody")
    func expired() async throws {
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann, to: strict)
        try await deployment.simulator.patch(token: ann.token, #"{"kind": "expired", "expiresAt": 1700000000}"#)
        try await checked(
            until: "the token is forgotten",
            "token is null and revoked is null and check_due is null",
            ann,
            in: "strict"
        )
        #expect(try await deployment.get("users/isvalidusertoken/\(session.token)", of: strict).text == "true")
    }

    @Test(
        "access tokens past their end are forgotten without a question; ID tokens, and their people, stay as they are"
    )
    func ended() async throws {
        let (ann, bob) = (try await deployment.newcomer(), try await deployment.newcomer())
        let sessions = [
            try deployment.signedIn(
                try await deployment.login(
                    idToken: try await deployment.idToken(of: ann, #""nonce": "n""#),
                    nonce: "n",
                    to: strict
                )
            ), try await deployment.loggedIn(bob, to: strict),
        ]
        #expect(try await identity("token_kind", ann, in: "strict") == "id")
        #expect(try await identity("token_kind", bob, in: "strict") == "access")
        let asked = try await deployment.simulator.requests {
            try await deployment.database.psql(
                """
                update strict.identities set token_expires = now() - interval '1 second'
                where subject in ('\(ann.id)', '\(bob.id)')
                """
            )
            try await eventually("the token is forgotten") {
                try await identity("token is null and token_kind is null", bob, in: "strict") == "t"
            }
            // The expired ID token is kept: it can still give up our permissions.
            #expect(try await identity("token is not null", ann, in: "strict") == "t")
        }
        #expect(asked.filter { $0.values(of: "input_token") == [bob.token] }.isEmpty)
        for (visitor, session) in zip([ann, bob], sessions) {
            #expect(try await identity("revoked is null", visitor, in: "strict") == "t")
            #expect(try await deployment.get("users/isvalidusertoken/\(session.token)", of: strict).text == "true")
            try expectProblem(try await refresh(session, in: strict), "not_found")
        }
    }

    @Test(
        "the token of an app that the application does not have any more is forgotten; the person stays and may come by another"
    )
    func formerApp() async throws {
        let (ann, bob) = (
            try await deployment.newcomer(app: "2345678901"), try await deployment.newcomer(app: "3456789012")
        )
        _ = try await deployment.loggedIn(ann, to: twoApps)
        let session = try await deployment.loggedIn(bob, to: twoApps)
        try await deployment.admin().ask(
            "PATCH",
            "applications/twoapps/providers/facebook",
            #"{"apps": [{"appId": "2345678901"}]}"#
        )
        // The round that runs now may have read the former configuration, and the second one has not.
        for _ in 1...2 {
            try await makeDue(ann, in: "twoapps")
            try await eventually("the token of the other app is checked", within: .seconds(60)) {
                try await identity("token is not null and checked > now() - interval '1 hour'", ann, in: "twoapps")
                    == "t"
            }
        }
        let asked = try await deployment.simulator.requests {
            try await checked(
                until: "the token is forgotten",
                "token is null and check_due is null and revoked is null",
                bob,
                in: "twoapps"
            )
        }
        #expect(asked.filter { $0.values(of: "input_token") == [bob.token] }.isEmpty)
        #expect(try await deployment.get("users/isvalidusertoken/\(session.token)", of: twoApps).text == "true")
        let log = deployment.service.process.standardOutput
        #expect(log.contains(#""message":"maintenance","forgotten":"#))
    }

    @Test("a guest who has logged out is removed, some time after; one who has not stays")
    func lostGuest() async throws {
        func guest() async throws -> LoginResult {
            try deployment.signedIn(try await deployment.send("POST", "users/register/guest"))
        }
        let (lost, here) = (try await guest(), try await guest())
        #expect(try await deployment.get("users/logout", token: lost.token).status == 200)
        try await deployment.database.psql(
            "update demo.users set last_login = now() - interval '61 minutes' where user_status = 'GUEST'"
        )
        try await eventually("the guest is removed") { try await deployment.row(of: lost.objectID) == nil }
        #expect(try await deployment.row(of: here.objectID) != nil)
        try await eventually("the log says so") {
            deployment.service.process.standardOutput.contains(#""guestsRemoved":"1""#)
        }
    }

    @Test("while Facebook is away nothing is lost, and the check is made up for")
    func outage() async throws {
        let ann = try await deployment.newcomer()
        _ = try await deployment.loggedIn(ann)
        try await deployment.simulator.withFault(#"{"effect": "error", "code": 2, "token": "\#(ann.token)"}"#) {
            try await makeDue(ann)
            try await eventually("it is put off") {
                try await identity("check_due > now() + interval '30 seconds' and token is not null", ann) == "t"
            }
            #expect(try await identity("revoked is null and checked < now() - interval '23 hours'", ann) == "t")
        }
        try await eventually("it is made up for", within: .seconds(60)) {
            try await deployment.database.psql(
                "update demo.identities set check_due = now() where subject = '\(ann.id)' and check_due < now() + interval '1 hour'"
            )
            return try await identity("checked > now() - interval '1 hour'", ann) == "t"
        }
    }

    @Test("where tokens are no longer to be kept, those that are kept are forgotten; expired rows go as well")
    func forgotten() async throws {
        let ann = try await deployment.newcomer()
        _ = try await deployment.loggedIn(ann, to: strict)
        try await deployment.database.psql(
            """
            insert into strict.sessions (token_hash, object_id, expires)
            select sha256('old'), object_id, now() - interval '1 second' from strict.identities where subject = '\(ann.id)';
            insert into strict.single_use (kind, hash, expires) values ('state', sha256('old'), now() - interval '1 second')
            """
        )
        let owner = try await deployment.admin()
        try await owner.ask("PATCH", "applications/strict/providers/facebook", #"{"keepTokens": false}"#)
        try await eventually("the tokens are forgotten") {
            try await deployment.value("select count(*) from strict.identities where token is not null") == "0"
        }
        #expect(
            try await identity("concat_ws(' ', 'x', token_key_id, token_kind, check_due)", ann, in: "strict") == "x"
        )
        try await eventually("expired rows are removed") {
            try await deployment.value(
                """
                select (select count(*) from strict.sessions where token_hash = sha256('old'))
                    + (select count(*) from strict.single_use where hash = sha256('old'))
                """
            ) == "0"
        }
        let session = try await deployment.loggedIn(ann, to: strict)
        try expectProblem(try await refresh(session, in: strict), "not_found")
        let refused = try await owner.send("POST", "applications/strict/users/\(session.objectID)/refresh")
        try expectProblem(refused, "conflict")
        try await owner.ask("PATCH", "applications/strict/providers/facebook", #"{"keepTokens": true}"#)
    }

    @Test("nothing is asked of Facebook in the background while much of the app's allowance is used")
    func allowance() async throws {
        let (ann, bob) = (try await deployment.newcomer(), try await deployment.newcomer())
        let other = try await deployment.newcomer(app: "2345678901")
        _ = try await deployment.loggedIn(ann)
        _ = try await deployment.loggedIn(other, to: twoApps)
        try await deployment.simulator.patch(app: "1234567890", #"{"usage": {"call_count": 90}}"#)
        // A login reports the usage, and is not prevented.
        #expect(try await deployment.login(bob).status == 200)
        let asked = try await deployment.simulator.requests {
            try await makeDue(ann)
            // A round visits each application once, in any order: a whole round lies between the first and the third
            // check of another app's user.
            for _ in 0..<3 {
                try await makeDue(other, in: "twoapps")
                try await eventually("another app's person is checked") {
                    try await identity("checked > now() - interval '1 hour'", other, in: "twoapps") == "t"
                }
            }
        }
        #expect(asked.count { $0.values(of: "input_token") == [other.token] } == 3)
        #expect(asked.filter { $0.values(of: "input_token") == [ann.token] }.isEmpty)
        try await deployment.simulator.patch(app: "1234567890", #"{"usage": {"call_count": 10}}"#)
        #expect(try await deployment.login(bob).status == 200)
        try await eventually("the check is made") {
            try await identity("checked > now() - interval '1 hour'", ann) == "t"
        }
    }
}

extension Deployment {
    /// Runs a closure while exchanges of tokens hang.
    fileprivate func withExchangeHanging<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await simulator.withFault(#"{"effect": "hang", "path": "oauth/access_token"}"#, body)
    }
}

extension SimulatorProcess {
    /// Changes members of an app.
    fileprivate func patch(app: String, _ json: String) async throws {
        let reply = try await control.send("PATCH", "/apps/\(app)", body: Array(json.utf8))
        try #require(reply.status == 200, "\(reply.text)")
    }
}
