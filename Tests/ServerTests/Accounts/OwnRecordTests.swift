import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The own record",
    .serialized,
    .deployed(
        Document(
            properties: """
                {"nick": {"type": "STRING", "clientMappable": true}, "born": {"type": "DATE", "clientMappable": true},
                 "seen": {"type": "DATETIME", "clientMappable": true}, "age": {"type": "INT", "clientMappable": true},
                 "extra": {"type": "JSON", "clientMappable": true}, "credits": {"type": "INT"}}
                """,
            mapping: #"[{"from": "name", "to": "name", "sync": "untilEdited"}]"#
        )
    )
)
struct OwnRecordTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func put(_ session: LoginResult, _ json: String, id: String? = nil) async throws -> HTTPReply {
        try await deployment.send("PUT", "users/\(id ?? session.objectID)", json, token: session.token)
    }

    private func stale(_ session: LoginResult) async throws {
        try await deployment.database.psql(
            "update demo.sessions set proved = now() - interval '6 minutes' where object_id = '\(session.objectID)'"
        )
    }

    private func account(_ name: String) async throws -> LoginResult {
        _ = try await deployment.register("\(name).canary@example.com")
        return try await deployment.logIn("\(name).canary@example.com")
    }

    @Test("T-37, T-50: the whole object goes back, and of it only what is open to clients is written")
    func systemProperties() async throws {
        let ann = try await account("whole")
        let before = try #require(try await deployment.row(of: ann.objectID))
        let reply = try await put(
            ann,
            """
            {"objectId": "00000000-0000-0000-0000-000000000000", "ownerId": "x", "created": 1, "updated": 1, "lastLogin": 1,
             "userStatus": "DISABLED", "socialAccount": "FACEBOOK", "accountType": "x", "oAuthIdentities": 1, "roles": ["Admin"],
             "emailVerified": true, "email_verified": true, "___class": "Users", "user-token": "x", "credits": 7,
             "blUserLocale": "fr-CA"}
            """
        )
        #expect(reply.status == 200, "\(reply.text)")
        #expect(reply.header("Federation-Ignored-Properties") == "credits")
        let after = try #require(try await deployment.row(of: ann.objectID))
        let changed = before.members.filter { after[$0.key] != $0.value }.map(\.key)
        #expect(Set(changed) == ["locale", "updated"])
        #expect(after["locale"]?.string == "fr")
        let again = try await put(ann, #"{"blUserLocale": "fr", "nick": null}"#)
        #expect(
            JSON.object(again.text)?["updated"] == JSON.object(reply.text)?["updated"],
            "nothing has become another"
        )
    }

    @Test("values are converted by the types of their properties, or refused with the name and without the value")
    func types() async throws {
        let ann = try await account("types")
        let reply = try await put(
            ann,
            #"{"nick": 7, "born": "1990-05-06", "seen": 1700000123456, "age": "41", "extra": {"a": [1, null]}}"#
        )
        let user = try #require(JSON.object(reply.text))
        #expect(user["nick"]?.string == "7" && user["born"]?.string == "1990-05-06" && user["age"]?.integer == 41)
        #expect(user["seen"]?.integer == 1_700_000_123_456, "milliseconds, as replies say them")
        #expect(user["extra"] == .object(["a": .array([.integer(1), .null])]))
        for (property, value) in [("age", #""canary""#), ("born", #""05/06""#), ("nick", "{}"), ("seen", #""canary""#)]
        {
            let refused = try await put(ann, #"{"name": "lost", "\#(property)": \#(value)}"#)
            try expectProblem(refused, "value_not_convertible")
            #expect(JSON.object(refused.text)?["errorData"]?.object?["property"]?.string == property)
        }
        let cleared = try await put(ann, #"{"nick": null, "born": null, "seen": null, "age": null, "extra": null}"#)
        let empty = try #require(JSON.object(cleared.text))
        for name in ["nick", "born", "seen", "age", "extra"] { #expect(empty[name] == .null) }
    }

    @Test("a DATE takes what JavaScript sends for one, and a time without offset counts where the application says so")
    func dates() async throws {
        let ann = try await account("dates")
        let owner = try await deployment.admin()
        let local = #"{"seen": "2020-01-02T03:04:05.678901", "born": "2020-01-02T03:04:05.678Z"}"#
        let data = try expectProblem(try await put(ann, local), "value_not_convertible")
        #expect(data["property"]?.string == "seen")
        for (times, seen) in [(#""utc""#, Int64(1_577_934_245_678)), ("null", nil)] {
            try await owner.ask("PATCH", "applications/demo", #"{"settings": {"offsetlessTimes": \#(times)}}"#)
            let reply = try await put(ann, local)
            #expect(reply.status == (seen == nil ? 422 : 200), "\(reply.text)")
            guard seen != nil else { continue }
            let user = JSON.object(reply.text)
            #expect(user?["seen"]?.integer == seen && user?["born"]?.string == "2020-01-02", "\(reply.text)")
        }
        let day = try await put(ann, #"{"born": 1577923200000}"#)
        #expect(JSON.object(day.text)?["born"]?.string == "2020-01-02", "\(day.text)")
        #expect(JSON.object(day.text)?["seen"]?.integer == 1_577_934_245_678)
    }

    @Test("T-117: every other id is refused alike, whether there is such a user or not, and on both paths")
    func otherRecords() async throws {
        let ann = try await account("mine")
        let other = try await account("other")
        var texts: Set<String> = []
        for id in [other.objectID, "00000000-0000-0000-0000-000000000000", "x", "%27%20or%201=1", ann.objectID + "0"] {
            for path in ["users/\(id)", "data/Users/\(id)"] {
                let reply = try await deployment.send("PUT", path, #"{"nick": "x"}"#, token: ann.token)
                try expectProblem(reply, "not_own_record", "\(path)")
                texts.insert(JSON.object(reply.text)?["message"]?.string ?? "")
            }
        }
        #expect(texts.count == 1)
        #expect(try await deployment.row(of: other.objectID)?["nick"] == .null)
        try expectProblem(try await deployment.send("PUT", "users/\(ann.objectID)", "{}"), "session_invalid")
        let own = try await deployment.send("PUT", "data/Users/\(ann.objectID)", #"{"nick": "y"}"#, token: ann.token)
        #expect(JSON.object(own.text)?["nick"]?.string == "y")
    }

    @Test("the object goes back to the table itself, which tells by its objectId whose it is and makes no users")
    func savedByBody() async throws {
        let ann = try await account("saved")
        let other = try await account("beside")
        func save(_ json: String, token: String?) async throws -> HTTPReply {
            try await deployment.send("PUT", "data/Users", json, token: token)
        }
        // `Backendless.Data.of(Backendless.User).save(user)` sends all properties of the login's response, and new
        // ones.
        let whole = JSONObject(ann.user.members.filter { $0.key != "nick" } + [.init("nick", .string("s"))])
        let reply = try await save(JSONValue.object(whole).text, token: ann.token)
        let user = try #require(JSON.object(reply.text), "\(reply.text)")
        #expect(reply.status == 200 && user["nick"]?.string == "s" && user["objectId"]?.string == ann.objectID)
        #expect(user["user-token"] == nil)
        #expect(try await deployment.row(of: ann.objectID)?["nick"]?.string == "s")

        for id in [#""\#(other.objectID)""#, #""00000000-0000-0000-0000-000000000000""#, #""x""#, "\"\"", "1", "{}"] {
            try expectProblem(
                try await save(#"{"objectId": \#(id), "nick": "x"}"#, token: ann.token),
                "not_own_record",
                "\(id)"
            )
        }
        #expect(try await deployment.row(of: other.objectID)?["nick"] == .null)
        try expectProblem(try await save(#"{"objectId": "\#(ann.objectID)"}"#, token: nil), "session_invalid")
        let before = try await deployment.value("select count(*) from demo.users")
        for body in ["{}", #"{"objectId": null, "email": "made.canary@example.com", "password": "x"}"#] {
            let refused = try await save(body, token: ann.token)
            try expectProblem(refused, "creation_forbidden")
            #expect(JSON.object(refused.text)?["message"]?.string?.contains("users/register") == true)
        }
        #expect(try await deployment.value("select count(*) from demo.users") == before)
    }

    @Test("T-112: no table but Users is reached by the generic paths")
    func otherTables() async throws {
        let ann = try await account("tables")
        for table in [
            "sessions", "Sessions", "identities", "passwords", "user_roles", "users", "federation.applications",
            "email_proofs",
        ] {
            for method in ["GET", "PUT"] {
                let reply = try await deployment.send(method, "data/\(table)/\(ann.objectID)", "{}", token: ann.token)
                try expectProblem(reply, "table_unknown", "\(method) \(table)")
            }
            let body = #"{"objectId": "\#(ann.objectID)"}"#
            let reply = try await deployment.send("PUT", "data/\(table)", body, token: ann.token)
            try expectProblem(reply, "table_unknown", "\(table)")
        }
    }

    @Test(
        "T-33d: an address changes after a recent authentication only, is unverified then, and links to the old one count no more"
    )
    func email() async throws {
        let ann = try await account("mail")
        try await deployment.database.psql(
            """
            update demo.users set email_verified = true where object_id = '\(ann.objectID)';
            insert into demo.email_proofs (token_hash, object_id, purpose, email, expires)
            values (sha256('x'), '\(ann.objectID)', 'passwordReset', 'mail.canary@example.com', now() + interval '1 hour')
            """
        )
        try await stale(ann)
        try expectProblem(try await put(ann, #"{"email": "new.canary@example.com"}"#), "reauthentication_required")
        try expectProblem(
            try await put(ann, #"{"email": "new.canary@example.com", "currentPassword": "wrong canary words"}"#),
            "login_invalid"
        )
        // The unchanged address needs no authentication, and stays verified.
        #expect(try await put(ann, #"{"email": "mail.canary@example.com", "nick": "n"}"#).status == 200)
        #expect(try await deployment.row(of: ann.objectID)?["email_verified"]?.bool == true)
        #expect(
            try await deployment.value("select count(*) from demo.email_proofs where object_id = '\(ann.objectID)'")
                == "1"
        )

        let changed = try await put(
            ann,
            #"{"email": "New.canary@example.com", "currentPassword": "\#(Deployment.password)"}"#
        )
        #expect(JSON.object(changed.text)?["email"]?.string == "New.canary@example.com", "\(changed.text)")
        #expect(try await deployment.row(of: ann.objectID)?["email_verified"]?.bool == false)
        #expect(
            try await deployment.value("select count(*) from demo.email_proofs where object_id = '\(ann.objectID)'")
                == "0"
        )
        #expect(try await deployment.logIn("new.canary@example.com").objectID == ann.objectID)
        let former = #"{"login": "mail.canary@example.com", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", former), "login_invalid")
        try expectProblem(
            try await put(ann, #"{"email": null, "currentPassword": "\#(Deployment.password)"}"#),
            "login_missing"
        )
        try expectProblem(try await put(ann, #"{"email": "no address"}"#), "email_invalid")
    }

    @Test("an address that another account logs in by is refused, and nothing else of the update is written")
    func takenEmail() async throws {
        _ = try await account("owner")
        let ann = try await account("wisher")
        let reply = try await put(ann, #"{"email": "OWNER.canary@example.com", "nick": "lost"}"#)
        try expectProblem(reply, "login_taken_by_other")
        let row = try #require(try await deployment.row(of: ann.objectID))
        #expect(row["nick"] == .null && row["email"]?.string == "wisher.canary@example.com")
    }

    @Test("T-33d: an old session brings in no address, by which the account would be logged in to and restored later")
    func plantedAddress() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let session = try await deployment.loggedIn(ann)
        try await stale(session)
        let email = #""email": "thief.canary@example.com""#
        try expectProblem(try await put(session, "{\(email)}"), "reauthentication_required")
        try expectProblem(try await put(session, #"{\#(email), "nick": "x"}"#), "reauthentication_required")
        #expect(
            try await put(session, #"{"nick": "x", "email": null}"#).status == 200,
            "what changes nothing needs none"
        )
        #expect(try await put(try await deployment.loggedIn(ann), "{\(email)}").status == 200)
    }

    @Test("T-43: a password changes after a recent authentication only, and ends the other sessions")
    func password() async throws {
        let ann = try await account("word")
        let other = try await deployment.logIn("word.canary@example.com")
        try await stale(ann)
        try expectProblem(try await put(ann, #"{"password": "another canary sentence"}"#), "reauthentication_required")
        let body = #"{"password": "another canary sentence", "currentPassword": "\#(Deployment.password)"}"#
        #expect(try await put(ann, body).status == 200)
        #expect(try await deployment.isValid(ann.token))
        #expect(try await !deployment.isValid(other.token))
        _ = try await deployment.logIn("word.canary@example.com", password: "another canary sentence")
        try expectProblem(
            try await put(ann, #"{"password": "short", "currentPassword": "another canary sentence"}"#),
            "password_not_allowed"
        )
    }

    @Test("T-85: guesses at the password by updates are counted as those of logins are")
    func guesses() async throws {
        let ann = try await account("guessed")
        try await stale(ann)
        let guess = #"{"email": "thief.canary@example.com", "currentPassword": "wrong canary words"}"#
        for _ in 0..<5 { try expectProblem(try await put(ann, guess), "login_invalid") }
        // The fifth failure starts a delay; extend it so that a slow machine still meets it.
        let delayed = try await deployment.value(
            """
            with delayed as (update demo.attempts set blocked_until = now() + interval '20 s'
                where failures >= 5 and blocked_until > last returning 1)
            select count(*) from delayed
            """
        )
        #expect(delayed == "1")
        try expectProblem(try await put(ann, guess), "too_many_attempts")
        let login = #"{"login": "guessed.canary@example.com", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", login), "too_many_attempts")
    }

    @Test("a person who came by Facebook gets a password after a fresh login, and then has two login methods")
    func facebookPerson() async throws {
        let visitor = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let ann = try await deployment.loggedIn(visitor)
        try expectProblem(try await put(ann, #"{"password": "\#(Deployment.password)"}"#), "login_missing")
        #expect(try await put(ann, #"{"email": "fb.canary@example.com", "name": "Edited"}"#).status == 200)
        let login = #"{"login": "fb.canary@example.com", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", login), "login_invalid")
        try await stale(ann)
        try expectProblem(try await put(ann, #"{"password": "\#(Deployment.password)"}"#), "reauthentication_required")
        let fresh = try await deployment.loggedIn(visitor)
        #expect(fresh.user["name"]?.string == "Edited", "untilEdited sees the edit")
        #expect(try await put(fresh, #"{"password": "\#(Deployment.password)"}"#).status == 200)
        #expect(try await deployment.logIn("fb.canary@example.com").objectID == ann.objectID)
        #expect(try await deployment.loggedIn(visitor).objectID == ann.objectID)
    }
}
