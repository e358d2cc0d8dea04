import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Where clients may make no new users",
    .serialized,
    .deployed(
        Document(
            consumers: ["ck1"],
            hasServerKey: true,
            settings: #"{"newUsers": "open", "dynamicProperties": true}"#,
            mapping: #"{"name": "name"}"#
        )
    )
)
struct NewUserTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func set(_ rule: String) async throws {
        try await deployment.admin().ask(
            "PATCH",
            "applications/demo",
            #"{"settings": {"newUsers": "\#(rule)"}}"#
        )
    }

    private func register(_ email: String, _ members: String = "", token: String? = nil) async throws -> HTTPReply {
        let body = #"{"email": "\#(email)", "password": "\#(Deployment.password)"\#(members)}"#
        return try await deployment.send("POST", "users/register", body, token: token)
    }

    @Test("nobody becomes a user by a provider, a password or as a guest, and nothing is written")
    func closed() async throws {
        let stranger = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let tweeter = try await deployment.tweeter()
        try await set("closed")
        // Attempts to register are counted before anything is checked.
        try await deployment.expectNothingWritten {
            try expectProblem(try await deployment.login(stranger), "new_users_closed")
            try expectProblem(try await deployment.login(stranger, mapping: #"{"id": "brought"}"#), "new_users_closed")
            try expectProblem(try await deployment.login(tweeter), "new_users_closed")
            try expectProblem(try await register("new.canary@example.com"), "new_users_closed")
            try expectProblem(try await deployment.send("POST", "users/register/guest"), "new_users_closed")
        }
        try await set("open")
        #expect(try await deployment.loggedIn(stranger).created)
    }

    @Test("users go on logging in and linking")
    func known() async throws {
        let person = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let user = try await deployment.loggedIn(person)
        _ = try await deployment.register("known.canary@example.com")
        try await set("closed")
        let again = try await deployment.loggedIn(person, mapping: #"{"id": "alsoBrought"}"#)
        #expect(again.objectID == user.objectID && !again.created)
        _ = try await deployment.logIn("known.canary@example.com")
        let tweeter = try await deployment.tweeter()
        let linked = try await deployment.send(
            "POST",
            "users/identities/twitter",
            "{\(tweeter.credential)}",
            token: again.token
        )
        #expect(linked.status == 200, "\(linked.text)")
        #expect(try await deployment.login(tweeter).status == 200)
        try await set("open")
    }

    @Test("a guest from before becomes no user, by a password or by a provider, and stays a guest")
    func guest() async throws {
        let guest = try deployment.signedIn(try await deployment.send("POST", "users/register/guest"))
        let stranger = try await deployment.newcomer()
        try await set("closed")
        let ids = #""objectId": "\#(guest.objectID)""#
        try expectProblem(
            try await register("guest.canary@example.com", ", \(ids)", token: guest.token),
            "new_users_closed"
        )
        let claim = #"{"accessToken": "\#(stranger.token)", "guestUser": {\#(ids), "user-token": "\#(guest.token)"}}"#
        try expectProblem(try await deployment.login(body: claim), "new_users_closed")
        let linked = try await deployment.send(
            "POST",
            "users/identities/facebook",
            #"{"accessToken": "\#(stranger.token)"}"#,
            token: guest.token
        )
        try expectProblem(linked, "new_users_closed")
        #expect(try await deployment.row(of: guest.objectID)?["user_status"]?.string == "GUEST")
        #expect(try await deployment.isValid(guest.token))
        try await set("open")
    }

    @Test("of ten first logins at once with the closing of the door each makes the user or is refused")
    func race() async throws {
        let stranger = try await deployment.newcomer()
        let replies = try await withThrowingTaskGroup(of: HTTPReply.self) { group in
            for index in 0..<10 {
                group.addTask {
                    if index == 5 { try await set("closed") }
                    return try await deployment.login(stranger)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for reply in replies where reply.status != 200 { try expectProblem(reply, "new_users_closed") }
        let users = Set(replies.filter { $0.status == 200 }.compactMap { JSON.object($0.text)?["objectId"]?.string })
        #expect(users.count <= 1)
        let count = try await deployment.value(
            "select count(*) from demo.identities where subject = '\(stranger.id)'"
        )
        #expect(count == String(users.count))
        try await set("open")
    }

    @Test("a server makes users nevertheless")
    func server() async throws {
        try await set("closed")
        let path = "/demo/\(Canary.serverAPIKey)/data/Users"
        let body = #"{"email": "made.canary@example.com", "password": "\#(Deployment.password)"}"#
        let made = try await deployment.client.post(path, json: body)
        #expect(made.status == 200, "\(made.text)")
        _ = try await deployment.logIn("made.canary@example.com")
        try await set("open")
    }
}
