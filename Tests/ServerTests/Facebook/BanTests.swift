import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "T-118: a ban outlives the deletion that Facebook asks for",
    .serialized,
    .deployed(
        Document(options: #""returnUrls": ["https://app.example.com/done"]"#, mapping: #"{"name": "name"}"#),
        Document(application: "twin", mapping: #"{"name": "name"}"#),
        Document(application: "slow", options: #""eraseAfterDays": 2"#)
    )
)
struct BanTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func document(_ name: String) throws -> Document {
        try #require(deployment.documents.first { $0.application == name })
    }

    private func disable(_ user: LoginResult, in application: String = "demo") async throws {
        try await deployment.admin(.editor).ask(
            "PATCH",
            "applications/\(application)/users/\(user.objectID)",
            #"{"user": {"userStatus": "DISABLED"}}"#
        )
    }

    private func bans(in application: String = "demo") async throws -> [String] {
        try await deployment.admin(.viewer).all("applications/\(application)/bans").compactMap {
            $0["objectId"]?.string
        }
    }

    /// Creates a user who was disabled and whom Facebook then had erased.
    private func banned() async throws -> (visitor: Visitor, user: LoginResult) {
        let ann = try await deployment.newcomer()
        let user = try await deployment.loggedIn(ann)
        try await disable(user)
        #expect(try await deployment.deliver("deletion", ann).status == 200)
        #expect(try await deployment.rowCount(of: user.objectID) == "0")
        return (ann, user)
    }

    @Test(
        "T-118: a disabled user whom Facebook has erased does not come back by any credential; nothing tells who it is"
    )
    func erased() async throws {
        var banned: (visitor: Visitor, user: LoginResult)?
        _ = try await deployment.admin(.editor)
        let entries = try await deployment.audited { banned = try await self.banned() }
        let (ann, user) = try #require(banned)
        #expect(entries.map { $0["action"]?.string } == ["user.disable", "user.erase"])
        #expect(entries.last?["details"]?.object?["to"]?.object?["banned"]?.bool == true)
        let found = try await deployment.database.psql("select place from canaries('\(ann.id)', '\(ann.key)') as place")
        #expect(found.isEmpty, "\(found)")
        let guest = try deployment.signedIn(try await deployment.send("POST", "users/register/guest"))

        try await deployment.expectNothingWritten(except: ["demo.single_use"]) {
            try expectProblem(try await deployment.login(ann), "account_disabled")
            let token = try await deployment.idToken(of: ann)
            try expectProblem(try await deployment.login(idToken: token), "account_disabled")
            // A code issued in the same second as the erasure is refused: it may be older.
            try await deployment.database.psql(
                """
                select pg_sleep(greatest(0, extract(epoch from max(created) - clock_timestamp())::float8 + 1.01))
                from demo.single_use where kind = 'ended'
                """
            )
            let end = try await deployment.login(as: ann)
            let location = try #require(end.header("Location"), "\(end.text)")
            let code = try #require(try Address(location)["loginCode"])
            try expectProblem(try await deployment.redeem(code), "account_disabled")
            let link = try await deployment.client.post(
                deployment.path("users/identities/facebook"),
                json: #"{"accessToken": "\#(ann.token)"}"#,
                headers: [("user-token", guest.token)]
            )
            try expectProblem(link, "account_disabled")
        }
        #expect(try await bans().contains(user.objectID))
    }

    @Test("T-118: it holds for one application and one identity; whoever is not disabled comes back as somebody new")
    func independent() async throws {
        let twin = try document("twin")
        let (ann, _) = try await banned()
        let other = try await deployment.loggedIn(ann, to: twin)
        #expect(other.created)
        #expect(try await deployment.deliver("deletion", ann, to: twin).status == 200)
        #expect(try await deployment.rowCount(of: other.objectID, in: "twin") == "0")
        #expect(try await deployment.loggedIn(ann, to: twin).created)
        #expect(try await bans(in: "twin").isEmpty)
        try expectProblem(try await deployment.login(ann), "account_disabled")
    }

    @Test("T-118: what counts is whether the user is disabled when the day of the erasure comes")
    func delayed() async throws {
        let slow = try document("slow")
        let ann = try await deployment.newcomer()
        let user = try await deployment.loggedIn(ann, to: slow)
        #expect(try await deployment.deliver("deletion", ann, to: slow).status == 200)
        try await disable(user, in: "slow")
        try expectProblem(try await deployment.login(ann, to: slow), "account_disabled")
        try await deployment.database.psql("update federation.deletion_requests set due = now() where done is null")
        try await eventually("the erasure") {
            try await deployment.rowCount(of: user.objectID, in: "slow") == "0"
        }
        try expectProblem(try await deployment.login(ann, to: slow), "account_disabled")
    }

    @Test("a disabled user whom an operator erases stays banned, until an operator lifts that, by either face")
    func lifted() async throws {
        let (ann, bob) = (try await deployment.newcomer(), try await deployment.newcomer())
        let users = [try await deployment.loggedIn(ann), try await deployment.loggedIn(bob)]
        for user in users {
            try await disable(user)
            let path = "applications/demo/users/\(user.objectID)?confirm=\(user.objectID)"
            try await deployment.admin().ask("DELETE", path)
        }
        for visitor in [ann, bob] { try expectProblem(try await deployment.login(visitor), "account_disabled") }
        let editor = try await deployment.admin(.editor)
        let path = "applications/demo/bans/\(users[0].objectID)"
        try expectProblem(try await deployment.admin(.viewer).send("DELETE", path), "operator_forbidden")
        let entries = try await deployment.audited { try await editor.ask("DELETE", path) }
        #expect(entries.map { $0["action"]?.string } == ["user.ban.lift"])
        #expect(entries.first?["target"]?.string == users[0].objectID)
        try expectProblem(try await editor.send("DELETE", path), "not_found")
        #expect(try await deployment.loggedIn(ann).created)

        #expect(try await deployment.command("list", "applications/demo/bans").contains(users[1].objectID))
        try await deployment.command("delete", "applications/demo/bans/\(users[1].objectID)")
        #expect(try await deployment.loggedIn(bob).created)
    }

    @Test("T-118: the master key may be replaced meanwhile, the time may not be over")
    func rotation() async throws {
        let (ann, user) = try await banned()
        let new = Data("canary-second-key-of-32-bytes-!!".utf8).base64EncodedString()
        let there = ["FEDERATION_MASTER_KEY": new, "FEDERATION_MASTER_KEY_PREVIOUS": Canary.masterKey]
        try await deployment.command("secrets", "rotate", environment: there)
        let status = try await deployment.command("secrets", "status", "--json", environment: there)
        let secrets = JSON.object(status)?["secrets"]?.array?.compactMap(\.object) ?? []
        #expect(secrets.map { $0["banKeys"]?.integer } == [1], "\(status)")

        let service = try await ServiceProcess.start(
            environment: deployment.commandEnvironment.merging(["FEDERATION_MASTER_KEY": new]) { $1 }
        )
        let later = Deployment(
            database: deployment.database,
            simulator: deployment.simulator,
            service: service,
            documents: deployment.documents
        )
        #expect(try await later.loggedIn(try await later.newcomer()).created)
        try expectProblem(try await later.login(ann), "account_disabled")

        try await deployment.database.psql(
            "update demo.single_use set expires = now() where kind = 'banned' and owner = uuid_send('\(user.objectID)')"
        )
        #expect(try await !bans().contains(user.objectID))
        #expect(try await later.loggedIn(ann).created)
        try await later.end()
        let back = ["FEDERATION_MASTER_KEY": Canary.masterKey, "FEDERATION_MASTER_KEY_PREVIOUS": new]
        try await deployment.command("secrets", "rotate", environment: back)
        try await eventually("the first instance has its secrets again") {
            try await deployment.login(deployment.newcomer()).status == 200
        }
    }
}
