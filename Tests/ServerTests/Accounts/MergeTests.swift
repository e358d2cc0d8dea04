import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Two accounts become one, and two again",
    .serialized,
    .deployed(
        Document(
            settings: #"""
                {"secondFactor": {"policy": "optional"}, "roles": ["Editor", "Author"], "dynamicProperties": true,
                 "registration": {"confirmEmail": false, "maxPerSourcePerHour": 1000}}
                """#,
            properties: #"""
                {"phone": {"type": "STRING", "clientMappable": true}, "points": {"type": "INT"},
                "rank": {"type": "INT", "visibleTo": "server"}}
                """#,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        environment: mails.environment
    )
)
struct MergeTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let users = "applications/demo/users"
    private static let reason = #""reason": "ticket 4711""#

    /// An account with a password, a confirmed address and a telephone number.
    private func registered(_ name: String, phone: String? = nil) async throws -> LoginResult {
        let email = "\(name)\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        try await deployment.database.psql("delete from demo.attempts")
        let id = try await deployment.register(email)["objectId"]?.string ?? ""
        try await deployment.database.psql(
            """
            update demo.users set email_verified = true, phone = \(phone.map { "'\($0)'" } ?? "null"), name = '\(name)',
                created = now() - interval '1 year'
            where object_id = '\(id)'
            """
        )
        return try await deployment.logIn(email)
    }

    /// An account that a login by Facebook made.
    private func federated(_ email: String) async throws -> (visitor: Visitor, login: LoginResult) {
        let visitor = try await deployment.newcomer(#"{"email": "\#(email)", "name": "Ann Federated"}"#)
        return (visitor, try await deployment.loggedIn(visitor))
    }

    private func merge(_ session: LoginResult, and other: LoginResult, _ more: String = "") async throws -> HTTPReply {
        try await deployment.send(
            "POST",
            "users/merge",
            #"{"userToken": "\#(other.token)"\#(more)}"#,
            token: session.token
        )
    }

    private func merge(_ survivor: String, _ merged: String, _ more: String = "", dryRun: Bool = false) async throws
        -> HTTPReply
    {
        try await deployment.admin(.owner).send(
            "POST",
            "\(Self.users)/\(survivor)/merge\(dryRun ? "?dryRun=true" : "")",
            #"{"merged": "\#(merged)", \#(Self.reason)\#(more)}"#
        )
    }

    private func count(_ table: String, of id: String) async throws -> String? {
        try await deployment.value("select count(*) from demo.\(table) where object_id = '\(id)'")
    }

    private func email(of id: String) async throws -> String {
        try #require(try await deployment.row(of: id)?["email"]?.string)
    }

    @Test("the older account gets the login methods of both, and the session of the request stays")
    func bySessions() async throws {
        let old = try await registered("old", phone: "1")
        let (visitor, young) = try await federated("young.canary@example.com")
        let preview = try await merge(young, and: old, #", "preview": true"#)
        #expect(preview.status == 200, "\(preview.text)")
        let told = JSON.object(preview.text)
        #expect(told?["survivor"]?.string == old.objectID && told?["merged"]?.string == young.objectID)
        #expect(told?["password"]?.string == "kept")
        #expect(told?["properties"]?.object?["phone"]?.object?["result"]?.string == "survivor")
        #expect(try await deployment.isValid(young.token), "a preview changes nothing")

        // A user does not choose between values that only servers see.
        try await deployment.database.psql(
            """
            update demo.users set rank = case object_id when '\(old.objectID)' then 1 else 9 end
            where object_id in ('\(old.objectID)', '\(young.objectID)')
            """
        )
        let choice = #", "rule": "keep", "properties": {"rank": "take"}"#
        let hidden = try await merge(young, and: old, choice + #", "preview": true"#)
        #expect(hidden.status == 200 && !hidden.text.contains("rank"), "\(hidden.text)")
        let merged = try await merge(young, and: old, choice)
        #expect(merged.status == 200, "\(merged.text)")
        #expect(try await deployment.row(of: old.objectID)?["rank"]?.integer == 1)
        let user = JSON.object(merged.text)
        #expect(user?["objectId"]?.string == old.objectID && user?["merged-user"]?.string == young.objectID)
        #expect(user?["name"]?.string == "old" && user?["phone"]?.string == "1")
        #expect(try await deployment.isValid(young.token))
        #expect(try await !deployment.isValid(old.token))
        #expect(try await deployment.loggedIn(visitor).objectID == old.objectID)
        #expect(try await deployment.logIn(try await email(of: old.objectID)).objectID == old.objectID)
        #expect(try await deployment.row(of: young.objectID) == nil)
        #expect(try await count("identities", of: old.objectID) == "1")
        _ = try await mails.token(to: try await email(of: old.objectID), page: "undo-merge")
        #expect(try mails.take(to: "young.canary@example.com").isEmpty, "nobody has confirmed this address")
    }

    @Test(
        "keep names the survivor, and what a request must not say is refused",
        arguments: [(#", "keep": "this""#, true), (#", "keep": "other""#, false), ("", false)]
    )
    func survivor(_ keep: String, _ isAsking: Bool) async throws {
        let old = try await registered("kept")
        let (_, young) = try await federated("k\(UInt32.random(in: 0...UInt32.max)).canary@example.com")
        for bad in [
            #", "keep": "me""#, #", "rule": "best""#, #", "rule": 1"#, #", "properties": []"#,
            #", "properties": {"phone": "best"}"#, #", "properties": {"né": "take"}"#, #", "preview": 1"#,
            #", "properties": {"email": "take"}"#,
        ] {
            try expectProblem(try await merge(young, and: old, bad), "malformed_request")
        }
        try expectProblem(try await merge(young, and: young), "malformed_request")
        let nobody = try await deployment.send("POST", "users/merge", #"{"userToken": "x"}"#, token: young.token)
        try expectProblem(nobody, "session_invalid")
        let reply = try await merge(young, and: old, keep)
        #expect(reply.status == 200, "\(reply.text)")
        #expect(JSON.object(reply.text)?["objectId"]?.string == (isAsking ? young : old).objectID)
        try expectProblem(try await merge(young, and: old, keep), "session_invalid")
    }

    @Test("T-42: a session alone merges nothing: both must be fresh, and show the second factors of both accounts")
    func freshness() async throws {
        let (first, second) = (try await registered("fresh"), try await registered("stale"))
        for stale in [first, second] {
            try await deployment.database.psql(
                "update demo.sessions set proved = now() - interval '1 hour' where object_id = '\(stale.objectID)'"
            )
            try expectProblem(try await merge(first, and: second), "reauthentication_required")
            try await deployment.database.psql(
                "update demo.sessions set proved = now() where object_id = '\(stale.objectID)'"
            )
        }
        _ = try await deployment.enrolApp(of: second)
        try await deployment.database.psql(
            "update demo.sessions set factor_proved = now() - interval '1 hour' where object_id = '\(second.objectID)'"
        )
        try expectProblem(try await merge(first, and: second), "second_factor_reauthentication_required")
        try await deployment.database.psql(
            "update demo.sessions set factor_proved = now() where object_id = '\(second.objectID)'"
        )
        #expect(try await merge(first, and: second).status == 200)
    }

    @Test("a merge takes no ban, role or second factor away")
    func restrictions() async throws {
        let (first, second) = (try await registered("first"), try await registered("second"))
        _ = try await deployment.enrolApp(of: second)
        try await deployment.database.psql(
            """
            insert into demo.user_roles (object_id, role) values
                ('\(first.objectID)', 'Editor'), ('\(second.objectID)', 'Author'), ('\(second.objectID)', 'Editor')
            """
        )
        try await deployment.database.psql(
            "update demo.users set user_status = 'DISABLED' where object_id = '\(second.objectID)'"
        )
        try expectProblem(try await merge(first, and: second), "account_disabled")
        let merged = try await merge(first.objectID, second.objectID)
        #expect(merged.status == 200, "\(merged.text)")
        #expect(JSON.object(merged.text)?["userStatus"]?.string == "DISABLED")
        #expect(
            try await deployment.database.psql(
                "select role from demo.user_roles where object_id = '\(first.objectID)' order by 1"
            ) == [["Author"], ["Editor"]]
        )
        #expect(try await deployment.row(of: first.objectID)?["user_status"]?.string == "DISABLED")
        #expect(try await count("sessions", of: first.objectID) == "0")
        try await deployment.database.psql(
            "update demo.users set user_status = 'ENABLED' where object_id = '\(first.objectID)'"
        )
        let login = #"{"login": "\#(try await email(of: first.objectID))", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", login), "second_factor_required")
    }

    @Test("the link in the mail shows a page that changes nothing, and separates the accounts once")
    func undoing() async throws {
        let old = try await registered("undone", phone: "1")
        let young = try await registered("youngster")
        let (oldEmail, youngEmail) = (try await email(of: old.objectID), try await email(of: young.objectID))
        let app = try await deployment.enrolApp(of: young)
        try await deployment.database.psql(
            """
            update demo.users set dynamic = '{"a": 1.50, "b": [1]}', points = 9007199254740993,
                created = now() + interval '1 day'
            where object_id = '\(young.objectID)'
            """
        )
        let before = try await deployment.row(of: young.objectID)
        let oldBefore = try await deployment.row(of: old.objectID)
        let reply = try await merge(old, and: young, #", "properties": {"name": "take"}"#)
        #expect(reply.status == 200, "\(reply.text)")
        let merged = try await deployment.row(of: old.objectID)
        #expect(merged?["name"]?.string == "youngster" && merged?["points"] == before?["points"])
        try await deployment.database.psql(
            "update demo.users set points = 7 where object_id = '\(old.objectID)'"
        )
        // The reader of either address undoes it.
        _ = try await mails.token(to: oldEmail, page: "undo-merge")
        let token = try await mails.token(to: youngEmail, page: "undo-merge")
        for _ in 1...2 {
            let page = try await deployment.client.get("/demo/undo-merge?token=\(token)")
            #expect(page.status == 200 && page.text.contains("<form method=\"post\">"), "\(page.text)")
        }
        #expect(try await deployment.row(of: young.objectID) == nil, "looking changes nothing")
        let undone = try await submit(token)
        #expect(undone.status == 200 && undone.text.contains("Accounts separated"), "\(undone.text)")
        #expect(try await submit(token).status == 400)
        #expect(try await deployment.row(of: young.objectID) == before)
        let after = try await deployment.row(of: old.objectID)
        #expect(after?["name"] == oldBefore?["name"] && after?["dynamic"] == oldBefore?["dynamic"])
        #expect(after?["points"]?.integer == 7, "what was changed since stays")
        #expect(try await deployment.logIn(oldEmail).objectID == old.objectID)
        let login = #"{"login": "\#(youngEmail)", "password": "\#(Deployment.password)"}"#
        let waiting = try deployment.putOff(try await deployment.send("POST", "users/login", login))
        try await deployment.forgetSteps()
        let answer = #""factorId": "\#(app.id)", "code": "\#(app.app.code())""#
        let shown = try await deployment.finishFactor(waiting, answer)
        #expect(shown.status == 200 && JSON.object(shown.text)?["objectId"]?.string == young.objectID, "\(shown.text)")
        #expect(try await count("merged_users", of: young.objectID) == "0")
        for address in [oldEmail, youngEmail] {
            #expect(try await mails.next(to: address).contains("was just undone"))
        }
    }

    private func submit(_ token: String) async throws -> HTTPReply {
        try await deployment.client.send(
            "POST",
            "/demo/undo-merge",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("token=\(token)".utf8)
        )
    }

    @Test("an account without a password takes the other's with its login name, and gives it back")
    func password() async throws {
        let (visitor, young) = try await federated("p\(UInt32.random(in: 0...UInt32.max)).canary@example.com")
        let old = try await registered("password")
        let address = try await email(of: old.objectID)
        let rows = try await deployment.row(of: young.objectID)
        try expectProblem(
            try await merge(young, and: old, #", "keep": "this", "properties": {"email": "keep"}"#),
            "malformed_request"
        )
        #expect(try await merge(young, and: old, #", "keep": "this""#).status == 200)
        #expect(try await deployment.logIn(address).objectID == young.objectID)
        let row = try await deployment.row(of: young.objectID)
        #expect(row?["email"]?.string == address && row?["email_verified"]?.bool == true)
        let undo = try await undo(old.objectID)
        #expect(undo.status == 200 && JSON.object(undo.text)?["password"]?.bool == true, "\(undo.text)")
        #expect(try await deployment.logIn(address).objectID == old.objectID)
        #expect(try await deployment.loggedIn(visitor).objectID == young.objectID)
        #expect(try await deployment.row(of: young.objectID)?["email"] == rows?["email"])
    }

    /// The users of a merge by their rows in `firebase_users`, and the survivor's row after it.
    struct UIDs: CustomTestStringConvertible {
        let kept: String?
        let other: String?
        let uid: String
        let claims: String?

        var testDescription: String { "\(kept ?? "-") and \(other ?? "-")" }
    }

    private static let uidCases = [
        UIDs(kept: nil, other: "'u1', null", uid: "u1", claims: nil),
        UIDs(kept: "null, null", other: "'u1', 'c1'", uid: "u1", claims: "c1"),
        UIDs(kept: "'u2', null", other: "'u1', 'c1'", uid: "u2", claims: "c1"),
        UIDs(kept: "'u2', 'c2'", other: "'u1', 'c1'", uid: "u2", claims: "c2"),
        UIDs(kept: "'u2', 'c2'", other: nil, uid: "u2", claims: "c2"),
    ]

    private func uid(of user: LoginResult) async throws -> [String?] {
        let rows = try await deployment.database.psql(
            "select uid, claims from demo.firebase_users where object_id = '\(user.objectID)'"
        )
        return rows.first ?? [nil, nil]
    }

    @Test(
        "the survivor keeps its uid and claims for Firebase's clients, or gets the others, until the merge is undone",
        arguments: uidCases
    )
    func uids(expected: UIDs) async throws {
        let (first, second) = (try await registered("uid"), try await registered("uid"))
        for (user, values) in [(first, expected.kept), (second, expected.other)] {
            guard let values else { continue }
            try await deployment.database.psql(
                "insert into demo.firebase_users (object_id, uid, claims) values ('\(user.objectID)', \(values))"
            )
        }
        let (before, other) = (try await uid(of: first), try await uid(of: second))
        let entries = try await deployment.audited {
            let reply = try await merge(first.objectID, second.objectID)
            #expect(reply.status == 200, "\(reply.text)")
        }
        #expect(try await uid(of: first) == [expected.uid, expected.claims])
        let record = entries.compactMap { $0["details"]?.object?["to"]?.object }.first { $0["merged"] != nil }
        #expect(record?["uid"]?.string == other[0], "the audit log keeps the uid that is gone: \(entries)")
        #expect(try await undo(second.objectID).status == 200)
        #expect(try await uid(of: first) == before)
        #expect(try await uid(of: second) == other)
        try await deployment.database.psql("delete from demo.firebase_users")
    }

    private func undo(_ merged: String, _ body: String = "{\(reason)}") async throws -> HTTPReply {
        try await deployment.admin(.owner).send("POST", "applications/demo/merged/\(merged)/undo", body)
    }

    @Test("operators see what a merge would do, merge with a reason, find both in the audit log, and undo")
    func byOperator() async throws {
        let (first, second) = (try await registered("one", phone: "1"), try await registered("two", phone: "2"))
        let dry = try await merge(first.objectID, second.objectID, #", "rule": "take""#, dryRun: true)
        #expect(dry.status == 200, "\(dry.text)")
        let phone = JSON.object(dry.text)?["properties"]?.object?["phone"]?.object
        #expect(phone?["survivor"]?.string == "1" && phone?["merged"]?.string == "2")
        #expect(phone?["result"]?.string == "merged")
        #expect(try await deployment.row(of: second.objectID) != nil)
        let owner = try await deployment.admin(.owner)
        let path = "\(Self.users)/\(first.objectID)/merge"
        for (body, status) in [
            ("{}", 400), (#"{"merged": "x", "reason": "y"}"#, 400),
            (#"{"merged": "\#(second.objectID)"}"#, 400), (#"{"merged": "\#(second.objectID)", "reason": ""}"#, 400),
            (#"{"merged": "\#(first.objectID)", "reason": "y"}"#, 400),
            (#"{"merged": "\#(UUID().uuidString)", "reason": "y"}"#, 404), ("[]", 400),
        ] {
            #expect(try await owner.send("POST", path, body).status == status, "\(body)")
        }
        let stale = try await owner.send(
            "POST",
            path,
            #"{"merged": "\#(second.objectID)", \#(Self.reason)}"#,
            ifMatch: "\"stale\""
        )
        #expect(stale.status == 412, "\(stale.text)")
        let merged = try await merge(first.objectID, second.objectID, #", "rule": "take""#)
        #expect(merged.status == 200, "\(merged.text)")
        #expect(try await deployment.row(of: first.objectID)?["phone"]?.string == "2")
        for id in [first.objectID, second.objectID] {
            let all = try await owner.all("audit?application=demo&action=user.merge")
            let entries = all.filter { $0["target"]?.string == id }
            #expect(entries.count == 1 && "\(entries)".contains("ticket 4711"), "\(entries)")
        }
        // Servers and operators who ask for the former id learn the new one; clients do not.
        let lost = try await owner.send("GET", "\(Self.users)/\(second.objectID)")
        #expect(lost.status == 404 && lost.text.contains(first.objectID), "\(lost.text)")
        let list = try await owner.all("\(Self.users)/\(first.objectID)/merged")
        #expect(list.first?["objectId"]?.string == second.objectID && list.first?["undoUntil"]?.integer != nil)
        let client = try await deployment.logIn(try await email(of: first.objectID))
        let asked = try await deployment.get("data/Users/\(second.objectID)", token: client.token)
        #expect(asked.status == 404 && !asked.text.contains("mergedInto"))
        #expect(try await undo(second.objectID, "{}").status == 400)
        #expect(try await undo(UUID().uuidString).status == 404)
        #expect(try await undo(second.objectID).status == 200)
        #expect(try await undo(second.objectID).status == 404)
        #expect(try await deployment.row(of: first.objectID)?["phone"]?.string == "1")
        #expect(try await deployment.row(of: second.objectID)?["phone"]?.string == "2")
        for role in [Role.viewer, .editor] {
            let refused = try await deployment.admin(role).send("POST", path, "{}")
            #expect(refused.status == 403)
        }
    }

    @Test("an account that is being deleted, or may be restored to another address, is not merged")
    func obstacles() async throws {
        let (first, second) = (try await registered("stays"), try await registered("leaves"))
        try await deployment.database.psql(
            """
            insert into demo.email_proofs (token_hash, object_id, purpose, email, expires)
            values (sha256('obstacle'), '\(second.objectID)', 'reversal', 'former@example.com',
                now() + interval '1 day')
            """
        )
        try expectProblem(try await merge(first, and: second), "conflict")
        try await deployment.database.psql("delete from demo.email_proofs")
        try await deployment.database.psql(
            """
            insert into federation.deletion_requests
                (code, application_id, request_hash, call_hash, provider, object_id, issued, due)
            values ('MERGEOBSTACLEABCDEFGHIJKLM', 'demo', sha256('a'), sha256('b'), 'password',
                '\(second.objectID)', now(), now() + interval '1 day')
            """
        )
        try expectProblem(try await merge(first, and: second), "conflict")
        try await deployment.database.psql("delete from federation.deletion_requests")
        try await deployment.database.psql(
            """
            create table public.orders (id int primary key, buyer uuid references demo.users on delete cascade);
            insert into public.orders values (1, '\(second.objectID)');
            grant select on public.orders to public
            """
        )
        let refused = try await merge(first, and: second)
        try expectProblem(refused, "conflict")
        #expect(refused.text.contains("orders"))
        #expect(try await deployment.value("select count(*) from public.orders") == "1")
        try await deployment.database.psql("update public.orders set buyer = '\(first.objectID)'")
        #expect(try await merge(first, and: second).status == 200)
        try await deployment.database.psql("drop table public.orders")
    }

    @Test("T-33: the other account's link survives a reset, a second merge and an unlinking, and a ban ends it")
    func thief() async throws {
        let (victim, thief) = (try await registered("victim"), try await registered("thief"))
        let third = try await registered("third")
        let (victimEmail, thiefEmail) = (try await email(of: victim.objectID), try await email(of: thief.objectID))
        let person = try await deployment.newcomer()
        let body = #"{"accessToken": "\#(person.token)"}"#
        let linked = try await deployment.send("POST", "users/identities/facebook", body, token: victim.token)
        #expect(linked.status == 200)
        #expect(try await merge(thief, and: victim, #", "keep": "this""#).status == 200)
        #expect(try await deployment.send("GET", "users/restorepassword/\(thiefEmail)").status == 200)
        let reset = try await mails.token(to: thiefEmail, page: "reset-password")
        let password = #"{"token": "\#(reset)", "password": "another canary sentence"}"#
        try expectProblem(try await deployment.send("POST", "users/resetpassword", password), "conflict")
        let unlinked = try await deployment.send("DELETE", "users/identities/facebook", token: thief.token)
        #expect(unlinked.status == 204, "\(unlinked.text)")
        let again = try await merge(third, and: thief, #", "keep": "this""#)
        #expect(again.status == 200, "\(again.text)")
        let token = try await mails.token(to: victimEmail, page: "undo-merge")
        try await deployment.database.psql(
            "update demo.users set user_status = 'DISABLED' where object_id = '\(third.objectID)'"
        )
        #expect(try await submit(token).status == 400, "a ban is not undone")
        try await deployment.database.psql(
            "update demo.users set user_status = 'ENABLED' where object_id = '\(third.objectID)'"
        )
        let undone = try await submit(token)
        #expect(undone.status == 200, "\(undone.text)")
        #expect(try await deployment.logIn(victimEmail).objectID == victim.objectID)
        #expect(try await deployment.loggedIn(person).objectID == victim.objectID)
    }

    @Test("a confirmed address is replaced by an operator's merge only, and rows that refer by any column are kept")
    func keptRows() async throws {
        let (visitor, old) = try await federated("conf\(UInt32.random(in: 0...UInt32.max)).canary@example.com")
        _ = visitor
        try await deployment.database.psql(
            "update demo.users set email_verified = true where object_id = '\(old.objectID)'"
        )
        let other = try await registered("other", phone: "4711")
        try expectProblem(try await merge(old, and: other, #", "keep": "this""#), "conflict")
        for step in [
            "alter table demo.users add constraint one_phone unique (object_id, phone)",
            """
            create table public.calls (
                person uuid, phone text,
                foreign key (person, phone) references demo.users (object_id, phone) on delete cascade
            )
            """,
            "insert into public.calls values ('\(other.objectID)', '4711')",
        ] {
            try await deployment.database.psql(step)
        }
        let refused = try await merge(old.objectID, other.objectID)
        #expect(refused.status == 409 && refused.text.contains("calls"), "\(refused.text)")
        try await deployment.database.psql("drop table public.calls")
        #expect(try await merge(old.objectID, other.objectID).status == 200)
        #expect(try await deployment.row(of: old.objectID)?["phone"]?.string == "4711")
        try await deployment.database.psql("alter table demo.users drop constraint one_phone")
    }

    @Test("a chain of merges is undone from either end, and the erasure of the survivor forgets all of them")
    func chain() async throws {
        let (a, b, c) = (try await registered("a"), try await registered("b"), try await registered("c"))
        #expect(try await merge(b.objectID, a.objectID).status == 200)
        #expect(try await merge(c.objectID, b.objectID).status == 200)
        let survivor = "select survivor from demo.merged_users where object_id = "
        #expect(try await deployment.value(survivor + "'\(a.objectID)'") == c.objectID.lowercased())
        #expect(try await undo(b.objectID).status == 200)
        #expect(try await deployment.value(survivor + "'\(a.objectID)'") == b.objectID.lowercased())
        #expect(try await merge(c.objectID, b.objectID).status == 200)
        #expect(try await undo(a.objectID).status == 200)
        #expect(try await deployment.logIn(try await email(of: a.objectID)).objectID == a.objectID)
        #expect(try await undo(b.objectID).status == 200)
        #expect(try await deployment.logIn(try await email(of: b.objectID)).objectID == b.objectID)
        #expect(try await merge(c.objectID, a.objectID).status == 200)
        let erased = try await deployment.admin(.owner).send(
            "DELETE",
            "\(Self.users)/\(c.objectID)?confirm=\(c.objectID)"
        )
        #expect(erased.status == 204, "\(erased.text)")
        let left = "select count(*) from demo.merged_users where survivor = '\(c.objectID)'"
        #expect(try await deployment.value(left) == "0")
        #expect(
            try await deployment.value(
                """
                select count(*) from federation.login_log_erasures
                where object_id in ('\(a.objectID)', '\(c.objectID)')
                """
            ) == "2"
        )
        #expect(try await undo(a.objectID).status == 404)
    }

    @Test("a merge that is older than seven days cannot be undone")
    func late() async throws {
        let (first, second) = (try await registered("early"), try await registered("late"))
        #expect(try await merge(first.objectID, second.objectID).status == 200)
        try await deployment.database.psql("update demo.merged_users set undo_until = now()")
        let late = try await undo(second.objectID)
        #expect(late.status == 409, "\(late.text)")
    }

    @Test(
        "a merge and its undo that lose the database at any moment leave two whole accounts, or one",
        .disabled(if: CitusWorkers.named != nil, "Citus takes no triggers"),
        arguments: [
            "delete on demo.passwords", "insert on demo.passwords", "update on demo.factors",
            "update on demo.invitations", "update on demo.merged_users", "update on demo.identities",
            "insert on demo.user_roles", "update on demo.mails", "delete on demo.trusted_devices",
            "delete on demo.sessions", "update on demo.sessions", "delete on demo.email_proofs",
            "insert on demo.email_proofs", "delete on demo.users", "update on demo.users", "insert on demo.users",
            "insert on demo.merged_users", "delete on demo.merged_users", "delete on demo.user_roles",
            "insert on federation.audit_log",
        ]
    )
    func lostConnection(_ moment: String) async throws {
        let (visitor, young) = try await federated("k\(UInt32.random(in: 0...UInt32.max)).canary@example.com")
        let old = try await registered("lost")
        _ = try await deployment.enrolApp(of: old)
        try await deployment.database.psql(
            "insert into demo.user_roles (object_id, role) values ('\(old.objectID)', 'Editor')"
        )
        let ids = "('\(young.objectID)', '\(old.objectID)')"
        let tables = ["users", "identities", "passwords", "factors", "user_roles", "sessions", "merged_users"]
        func state() async throws -> [[[String?]]] {
            var state: [[[String?]]] = []
            for table in tables {
                state.append(
                    try await deployment.database.psql(
                        "select to_jsonb(t) - 'last_seen' from demo.\(table) t where object_id in \(ids) order by 1"
                    )
                )
            }
            return state
        }
        /// Runs a change while each statement of the kind ends its own connection; then the change without that.
        func expectWhole(_ change: () async throws -> HTTPReply) async throws {
            let before = try await state()
            // The tables of a trigger have it while the change runs.
            try await deployment.database.psql(
                """
                create function public.lose() returns trigger language plpgsql security definer as
                    $$begin perform pg_terminate_backend(pg_backend_pid()); return null; end$$;
                create trigger lose after \(moment) for each row execute function public.lose()
                """
            )
            let reply = try await change()
            try await deployment.database.psql("drop function public.lose() cascade")
            let after = try await state()
            #expect(reply.status == 200 || after == before, "\(reply.status) \(reply.text)")
            guard reply.status != 200 else { return }
            #expect(reply.status == 503, "\(reply.text)")
            try await eventually("the service is connected again, and changes both") {
                try await change().status == 200
            }
        }
        try await expectWhole { try await merge(young.objectID, old.objectID) }
        #expect(try await count("identities", of: young.objectID) == "1")
        #expect(try await count("users", of: old.objectID) == "0")
        try await expectWhole { try await undo(old.objectID) }
        #expect(try await count("passwords", of: old.objectID) == "1")
        #expect(try await count("factors", of: old.objectID) == "2")
        #expect(try await deployment.loggedIn(visitor).objectID == young.objectID)
    }

    @Test("of merges, logins and erasures of the same accounts at once, each ends whole")
    func races() async throws {
        for round in 1...6 {
            let (visitor, young) = try await federated("race\(round).canary@example.com")
            let old = try await registered("race\(round)")
            let other = try await registered("rival\(round)")
            async let merging = merge(old.objectID, young.objectID)
            async let rival = merge(other.objectID, young.objectID)
            async let backwards = merge(young.objectID, old.objectID)
            async let login = deployment.login(visitor)
            async let erased = deployment.admin(.owner).send(
                "DELETE",
                "\(Self.users)/\(young.objectID)?confirm=\(young.objectID)"
            )
            let statuses = try await [merging.status, rival.status, backwards.status, login.status, erased.status]
            #expect(statuses.allSatisfy { [200, 204, 404, 409].contains($0) }, "\(statuses)")
            let after = try await deployment.login(visitor)
            #expect(after.status == 200, "\(after.text)")
            #expect(
                try await deployment.value(
                    """
                    select count(*) from demo.identities i left join demo.users u using (object_id)
                    where u.object_id is null
                    """
                ) == "0"
            )
            #expect(
                try await deployment.value(
                    "select count(*) from demo.identities where subject = '\(visitor.id)'"
                ) == "1"
            )
        }
    }
}
