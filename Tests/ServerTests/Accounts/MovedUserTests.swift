import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

/// The table "What becomes of each kind of user" of docs/migrating/README.md, line by line.
@Suite(
    "Users who moved from Backendless",
    .serialized,
    .deployed(
        Document(
            settings: #"{"accountClaims": "imported", "registration": {"confirmEmail": false}}"#,
            properties: #"{"city": {"type": "STRING"}, "facebookId": {"type": "STRING"}}"#,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        environment: mails.environment
    )
)
struct MovedUserTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let header =
        #"objectId,email,name,password,userStatus,socialAccount,"facebookId(STRING)",created,city"#
    /// The bcrypt hash of `correct horse battery staple`.
    private static let hash = "$2a$10$fVH8e28OQRj9tqiDXs1e1uxpsjN0c7II7YPKXua2NAKYvM6iQk7dq"

    private struct Moved {
        let id = UUID().uuidString
        let email = "moved\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
    }

    /// Imports users, and returns the counts.
    private func importing(_ lines: [String], _ options: [String]) async throws -> JSONObject {
        let path = FileManager.default.temporaryDirectory.path + "/federation-moved-\(UUID()).csv"
        try (([Self.header] + lines).joined(separator: "\n") + "\n").write(
            toFile: path,
            atomically: true,
            encoding: .utf8
        )
        defer { try? FileManager.default.removeItem(atPath: path) }
        let done = try await runFederation(
            ["user", "import", "demo", path, "--from", "backendless", "--json", "--without-member", "socialAccount"]
                + options,
            environment: Deployment.environment(database: deployment.database)
        )
        return try #require(JSON.object(done.standardOutput), "\(done.standardOutput)\(done.standardError)")
    }

    private func line(_ user: Moved, _ social: String, facebook: String = "", password: String = "") -> String {
        "\(user.id),\(user.email),Moved,\(password),ENABLED,\(social),\(facebook),1577836800123,Bern"
    }

    private static let facebook = ["--without-passwords", "--identity", "facebook=facebookId,app=1234567890"]

    /// Expects that a login found the user who moved, with what the user had.
    private func expect(_ login: LoginResult, is moved: Moved) async throws {
        #expect(login.objectID == moved.id && !login.created)
        #expect(login.user["city"]?.string == "Bern")
    }

    @Test("with Facebook, and the id was imported: the same account, its id and properties, at the first login")
    func knownIdentity() async throws {
        let (moved, visitor) = (Moved(), try await deployment.newcomer())
        let counts = try await importing([line(moved, "FACEBOOK", facebook: visitor.id)], Self.facebook)
        #expect(counts["imported"]?.integer == 1, "\(counts)")
        try await deployment.database.psql(
            "insert into demo.user_roles (object_id, role) values ('\(moved.id)', 'Editor')"
        )
        try await expect(try await deployment.loggedIn(visitor), is: moved)
        #expect(
            try await deployment.value("select role from demo.user_roles where object_id = '\(moved.id)'") == "Editor"
        )
    }

    @Test("with Facebook, without an id: a second account, and by the mail one with the old id and properties")
    func unknownIdentity() async throws {
        let moved = Moved()
        _ = try await importing([line(moved, "FACEBOOK")], Self.facebook)
        let visitor = try await deployment.newcomer(#"{"email": "\#(moved.email)", "name": "Moved"}"#)
        let second = try await deployment.loggedIn(visitor)
        #expect(second.created && second.objectID != moved.id)
        let token = try await mails.token(to: moved.email, page: "connect-accounts")
        let taken = try await deployment.client.send(
            "POST",
            "/demo/connect-accounts",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("token=\(token)".utf8)
        )
        #expect(taken.status == 200, "\(taken.text)")
        try await expect(try await deployment.loggedIn(visitor), is: moved)
    }

    @Test("with Facebook, without an id and an address: a second account, which an operator merges")
    func nothingKnown() async throws {
        let moved = Moved()
        _ = try await importing([line(moved, "FACEBOOK")], Self.facebook)
        let visitor = try await deployment.newcomer(#"{"name": "Moved"}"#)
        let second = try await deployment.loggedIn(visitor)
        #expect(second.created)
        let merged = try await deployment.admin(.owner).send(
            "POST",
            "applications/demo/users/\(moved.id)/merge",
            #"{"merged": "\#(second.objectID)", "reason": "asked by mail"}"#
        )
        #expect(merged.status == 200, "\(merged.text)")
        try await expect(try await deployment.loggedIn(visitor), is: moved)
    }

    @Test("in several ways: in each of them to one account")
    func severalWays() async throws {
        let (moved, visitor) = (Moved(), try await deployment.newcomer())
        let counts = try await importing(
            [line(moved, "FACEBOOK", facebook: visitor.id, password: "\"\(Self.hash)\"")],
            ["--identity", "facebook=facebookId,app=1234567890"]
        )
        #expect(counts["imported"]?.integer == 1, "\(counts)")
        try await expect(try await deployment.loggedIn(visitor), is: moved)
        #expect(
            try await deployment.value("select login from demo.passwords where object_id = '\(moved.id)'")
                == moved.email
        )
    }

    @Test("with a password without a hash: restored by mail, to the same account")
    func lostPassword() async throws {
        let moved = Moved()
        _ = try await importing([line(moved, "BACKENDLESS")], ["--without-passwords"])
        #expect(try await deployment.send("GET", "users/restorepassword/\(moved.email)").status == 200)
        let token = try await mails.token(to: moved.email, page: "reset-password")
        let body = #"{"token": "\#(token)", "password": "\#(Deployment.password)"}"#
        #expect(try await deployment.send("POST", "users/resetpassword", body).status == 200)
        try await expect(try await deployment.logIn(moved.email), is: moved)
    }

    @Test("as a guest: refused")
    func guest() async throws {
        let moved = Moved()
        let line = "\(moved.id),,,,GUEST,,,1577836800123,"
        let counts = try await importing([line], ["--without-passwords"])
        #expect(counts["imported"]?.integer == 0 && counts["refused"]?.integer == 1, "\(counts)")
        #expect(try await deployment.row(of: moved.id) == nil)
    }
}
