import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Who a person is",
    .serialized,
    .deployed(
        Document(
            properties: #"{"nick": {"type": "STRING", "clientMappable": true}}"#,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        Document(application: "loose", mapping: "[]")
    )
)
struct PersonTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("T-34: the same Facebook id is the same user, whatever else about the person has changed")
    func changedProfile() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann", "email": "ann.canary@example.com"}"#)
        let first = try await deployment.loggedIn(ann)
        try await deployment.simulator.patch(person: ann.key, #"{"name": "Bea", "email": "bea.canary@example.com"}"#)
        let second = try await deployment.loggedIn(ann)
        #expect(!second.created)
        #expect(second.objectID == first.objectID)
        #expect(second.user["email"]?.string == "bea.canary@example.com")
    }

    @Test("T-34: another Facebook id is another user, even with the same e-mail and name")
    func sameEmail() async throws {
        let profile = #"{"name": "Ann", "email": "shared.canary@example.com"}"#
        let first = try await deployment.loggedIn(try await deployment.newcomer(profile))
        let second = try await deployment.loggedIn(try await deployment.newcomer(profile))
        #expect(second.created)
        #expect(second.objectID != first.objectID)
        #expect(try await deployment.row(of: first.objectID) != nil)
    }

    @Test("T-30: an e-mail in the request is never the account's")
    func requestedEmail() async throws {
        let victim = "victim.canary@example.com"
        let attacker = try await deployment.newcomer(#"{"name": "Mallory"}"#)
        let email = #""email": "\#(victim)", "email_verified": true"#
        let claims = ["user", "properties", "guest", "createData"]
            .reduce(email) { #"\#($0), "\#($1)": {\#(email)}"# }
        for document in deployment.documents {
            for mapping in ["{}", #"{"email": "email"}"#] {
                let reply = try await deployment.login(
                    body: #"{"accessToken": "\#(attacker.token)", "fieldsMapping": \#(mapping), \#(claims)}"#,
                    to: document
                )
                let signedIn = try deployment.signedIn(reply)
                #expect(signedIn.user["email"] == .null)
                let row = try await deployment.row(of: signedIn.objectID, in: document.application)
                #expect(row?["email"] == .null)
                #expect(row?["email_verified"]?.bool == false)
            }
        }
        let owner = try await deployment.loggedIn(
            try await deployment.newcomer(#"{"name": "Victim", "email": "\#(victim)"}"#)
        )
        #expect(owner.created, "an account of their own, with nobody else in it")
        #expect(try await deployment.value("select count(*) from demo.users where email = '\(victim)'") == "1")
    }

    @Test("T-30, T-36: the e-mail that Facebook gives is stored, and stays unverified")
    func unverified() async throws {
        let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com", "name": "Ann"}"#)
        for _ in 0..<2 {
            let signedIn = try await deployment.loggedIn(ann)
            #expect(try await deployment.row(of: signedIn.objectID)?["email_verified"]?.bool == false)
            #expect(signedIn.user["email_verified"] == nil)
        }
    }

    @Test("the same person is another user in each application")
    func applications() async throws {
        let ann = try await deployment.newcomer()
        let here = try await deployment.loggedIn(ann)
        let there = try await deployment.loggedIn(ann, to: deployment.documents[1])
        #expect(there.created)
        #expect(there.objectID != here.objectID)
    }

    @Test("T-44: who comes back after an erasure is a new user of the same application, with nothing of before")
    func recycled() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let (first, there) = (
            try await deployment.loggedIn(ann), try await deployment.loggedIn(ann, to: deployment.documents[1])
        )
        try await deployment.database.psql(
            "update demo.users set nick = 'of before' where object_id = '\(first.objectID)'"
        )
        let path = "applications/demo/users/\(first.objectID)?confirm=\(first.objectID)"
        try await deployment.admin().ask("DELETE", path)
        let token = try await deployment.simulator.mint("long", person: ann.key, app: "1234567890")
        let second = try await deployment.loggedIn(Visitor(key: ann.key, id: ann.id, token: token))
        #expect(second.created && second.objectID != first.objectID)
        #expect(second.user["nick"] == .null)
        #expect(try await !deployment.isValid(first.token))
        let again = try await deployment.loggedIn(
            Visitor(key: ann.key, id: ann.id, token: token),
            to: deployment.documents[1]
        )
        #expect(again.objectID == there.objectID, "the other application keeps its own")
    }

    @Test("the reply of a login is the user object that client SDKs expect")
    func userObject() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann", "email": "ann.canary@example.com"}"#)
        let signedIn = try await deployment.loggedIn(ann, mapping: #"{"first_name": "nick"}"#)
        let keys = [
            "___class", "objectId", "ownerId", "created", "updated", "lastLogin", "userStatus", "socialAccount",
            "accountType", "blUserLocale", "email", "name", "nick", "user-token",
        ]
        #expect(signedIn.user.keys == keys)
        #expect(signedIn.user["___class"]?.string == "Users")
        #expect(signedIn.user["ownerId"]?.string == signedIn.objectID)
        #expect(signedIn.user["userStatus"]?.string == "ENABLED")
        #expect(signedIn.user["socialAccount"]?.string == "FACEBOOK")
        #expect(signedIn.user["blUserLocale"] == .null)
        #expect(signedIn.user["nick"] == .null)
        #expect((signedIn.user["created"]?.integer ?? 0) > 1_700_000_000_000, "milliseconds")
        #expect(signedIn.user["created"] == signedIn.user["lastLogin"])
        #expect(signedIn.token.utf8.count == 43, "256 bits as base64url")
        #expect(signedIn.reply.header("Cache-Control") == "no-store")
        #expect(signedIn.reply.header("Content-Type") == "application/json")
        #expect(signedIn.reply.header("X-Request-Id")?.isEmpty == false)
        #expect(signedIn.reply.header("Federation-Missing-Permissions") == nil)
        #expect(signedIn.reply.header("Server") == nil, "no version of anything")
    }
}
