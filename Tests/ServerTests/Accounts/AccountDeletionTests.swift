import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Deleting an account",
    .serialized,
    .deployed(
        Document(options: #""keepTokens": true"#, hasServerKey: true, settings: #"{"roles": ["editor"]}"#),
        Document(
            application: "slow",
            options: #""eraseAfterDays": 2"#,
            keyVariable: "OTHER_API_KEY",
            mapping: #"{"email": "email"}"#
        ),
        environment: mails.environment
    )
)
struct AccountDeletionTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func deletionTime(_ reply: HTTPReply) throws -> Int64 {
        try #require(JSON.object(reply.text)?["deletionTime"]?.integer, "\(reply.status) \(reply.text)")
    }

    /// Returns the audit log about a user: the actors with the actions.
    private func log(_ id: String) async throws -> String? {
        try await deployment.value(
            """
            select string_agg(split_part(actor, ':', 1) || ' ' || action, ', ' order by id) from federation.audit_log
            where target = '\(id)' and action not in ('user.search', 'user.read')
            """
        )
    }

    @Test("an account with a password goes with all that hangs on it; every address that must know is told")
    func password() async throws {
        let email = "ann.canary@example.com"
        _ = try await deployment.register(email)
        let (first, ann) = (try await deployment.logIn(email), try await deployment.logIn(email))
        let reply = try await deployment.send("DELETE", "users/\(ann.objectID)", token: ann.token)
        #expect(try deletionTime(reply) > 1_700_000_000_000)
        for table in ["users", "sessions", "passwords", "identities", "email_proofs"] {
            #expect(
                try await deployment.value("select count(*) from demo.\(table) where object_id = '\(ann.objectID)'")
                    == "0",
                "\(table)"
            )
        }
        #expect(try await !deployment.isValid(first.token))
        try expectProblem(
            try await deployment.send("DELETE", "users/\(ann.objectID)", token: ann.token),
            "session_invalid"
        )
        #expect(try await mails.next(to: email).contains("has been deleted"))
        #expect(try await log(ann.objectID) == "user user.erase")
        // The address is free again; a new registration creates another user.
        #expect(try await deployment.register(email)["objectId"]?.string != ann.objectID)
    }

    @Test("who came by a provider goes, too: our permissions there are given up, and a login makes somebody new")
    func provider() async throws {
        let visitor = try await deployment.newcomer()
        let user = try await deployment.loggedIn(visitor)
        let reply = try await deployment.send("DELETE", "data/Users/\(user.objectID)", token: user.token)
        _ = try deletionTime(reply)
        #expect(try await log(user.objectID) == "user user.erase, user permissions.remove")
        let anew = try await deployment.simulator.mint("long", person: visitor.key, app: "1234567890")
        let again = try deployment.signedIn(try await deployment.login(body: #"{"accessToken": "\#(anew)"}"#))
        #expect(again.created && again.objectID != user.objectID)
    }

    @Test("a session that is older than five minutes must show the password first; a guest's own is enough")
    func reauthentication() async throws {
        let email = "old.canary@example.com"
        _ = try await deployment.register(email)
        let user = try await deployment.logIn(email)
        try await deployment.database.psql("update demo.sessions set proved = now() - interval '301 seconds'")
        try expectProblem(
            try await deployment.send("DELETE", "users/\(user.objectID)", token: user.token),
            "reauthentication_required"
        )
        #expect(try await deployment.isValid(user.token))
        let verified = try await deployment.send(
            "POST",
            "users/verifypassowrd",
            #"{"password": "\#(Deployment.password)"}"#,
            token: user.token
        )
        #expect(verified.status == 200)
        _ = try deletionTime(try await deployment.send("DELETE", "users/\(user.objectID)", token: user.token))

        let guest = try deployment.signedIn(try await deployment.send("POST", "users/register/guest"))
        try await deployment.database.psql("update demo.sessions set proved = now() - interval '1 day'")
        _ = try deletionTime(try await deployment.send("DELETE", "users/\(guest.objectID)", token: guest.token))
    }

    @Test(
        "where erasures wait the sessions end at once, the account goes when the day comes, and asking again changes nothing"
    )
    func waiting() async throws {
        let document = deployment.documents[1]
        let visitor = try await deployment.newcomer(#"{"email": "slow.canary@example.com"}"#)
        let user = try await deployment.loggedIn(visitor, to: document)
        let due = try deletionTime(
            try await deployment.send("DELETE", "users/\(user.objectID)", token: user.token, to: document)
        )
        let gone = try await deployment.get("users/isvalidusertoken/\(user.token)", of: document)
        #expect(gone.text == "false")
        let again = try await deployment.loggedIn(visitor, to: document)
        #expect(again.objectID == user.objectID)
        #expect(
            try deletionTime(
                try await deployment.send("DELETE", "users/\(user.objectID)", token: again.token, to: document)
            ) == due
        )
        #expect(
            try await deployment.value(
                "select count(*) || ' ' || bool_and(due - requested = interval '48 hours') from federation.deletion_requests"
                    + " where object_id = '\(user.objectID)'"
            ) == "1 true"
        )
        try await deployment.database.psql("update federation.deletion_requests set due = now()")
        try await eventually("the erasure") {
            try await deployment.value("select count(*) from slow.users where object_id = '\(user.objectID)'") == "0"
        }
        #expect(try await log(user.objectID) == "user user.erase")
        #expect(
            try await deployment.value("select count(*) from federation.deletion_requests where object_id is not null")
                == "0",
            "whom it was about is forgotten"
        )
    }

    @Test("T-33: a thief of a session who changed the address cannot delete the account before its owner has it back")
    func thief() async throws {
        let email = "victim.canary@example.com"
        _ = try await deployment.register(email)
        try await deployment.database.psql("update demo.users set email_verified = true where email = '\(email)'")
        let thief = try await deployment.logIn(email)
        let changed = try await deployment.send(
            "PUT",
            "users/\(thief.objectID)",
            #"{"email": "thief.canary@example.com"}"#,
            token: thief.token
        )
        #expect(changed.status == 200, "\(changed.text)")
        let due = try deletionTime(
            try await deployment.send("DELETE", "users/\(thief.objectID)", token: thief.token)
        )
        let ends =
            "select (extract(epoch from max(expires)) * 1000)::bigint from demo.email_proofs where purpose = 'reversal'"
        #expect(due >= Int64(try await deployment.value(ends) ?? "") ?? .max, "it waits for the owner")
        #expect(
            try await deployment.value("select count(*) from demo.users where object_id = '\(thief.objectID)'") == "1"
        )
        #expect(try await log(thief.objectID)?.contains("user.erase") != true)
        let told = try await eventually("a mail to the former address") {
            let all = try mails.take(to: email)
            return all.contains { $0.contains("deleted") } ? all : nil
        }
        #expect(told.contains { $0.contains("will be deleted") } && !told.contains { $0.contains("has been deleted") })
    }

    @Test("rows of the operator's own tables hinder it: nobody is told that it is done until it is")
    func blocked() async throws {
        let email = "kept.canary@example.com"
        _ = try await deployment.register(email)
        let user = try await deployment.logIn(email)
        try await deployment.database.psql("create table demo.invoices (buyer uuid references demo.users)")
        try await deployment.database.psql("insert into demo.invoices values ('\(user.objectID)')")
        let now =
            Int64(try #require(try await deployment.value("select (extract(epoch from now()) * 1000)::bigint"))) ?? 0
        let due = try deletionTime(try await deployment.send("DELETE", "users/\(user.objectID)", token: user.token))
        #expect(due > now + 500_000, "when it is tried again")
        #expect(try await !deployment.isValid(user.token))
        #expect(
            try await deployment.value(
                "select count(*) || ' ' || min(hindrance) from federation.deletion_requests where object_id = '\(user.objectID)'"
            ) == "1 demo.invoices"
        )
        #expect(try mails.take(to: email).allSatisfy { !$0.contains("deleted") })
        try await deployment.database.psql("drop table demo.invoices")
        try await deployment.database.psql("update federation.deletion_requests set attempted = null")
        try await eventually("the erasure") {
            try await deployment.value("select count(*) from demo.users where object_id = '\(user.objectID)'") == "0"
        }
    }

    @Test(
        "a server deletes whom it will, at once; rows of the operator's own tables forbid it, and then nothing is told"
    )
    func server() async throws {
        let user = try await deployment.register("served.canary@example.com")
        let id = try #require(user["objectId"]?.string)
        try await deployment.database.psql("create table demo.orders (buyer uuid references demo.users)")
        try await deployment.database.psql("insert into demo.orders values ('\(id)')")
        func delete() async throws -> HTTPReply {
            try await deployment.send("DELETE", "data/Users/\(id)", key: Canary.serverAPIKey)
        }
        try expectProblem(try await delete(), "conflict")
        #expect(try mails.take(to: "served.canary@example.com").isEmpty)
        try await deployment.database.psql("drop table demo.orders")
        _ = try deletionTime(try await delete())
        try expectProblem(try await delete(), "not_found")
        #expect(try await mails.next(to: "served.canary@example.com").contains("has been deleted"))
        #expect(try await log(id) == "key user.erase")
    }
}
