import Encodings
import Foundation
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Users of Firebase, with their uids",
    .serialized,
    .deployed(
        Document(
            keyVariable: "OTHER_API_KEY",
            settings: "{\(FirebaseClient.settings)}",
            properties: #"{"photoUrl": {"type": "STRING", "clientMappable": true}}"#,
            mapping: #"{"email": "email", "name": "name"}"#
        )
    )
)
struct FirebaseImportTests {
    let deployment: Deployment
    let client: FirebaseClient
    private let ann: CommandLineOperator

    init() throws {
        deployment = try Deployment.current
        client = FirebaseClient(deployment: deployment)
        ann = CommandLineOperator(database: deployment.database)
    }

    /// The hash of `user1password` that Firebase publishes as an example, of the parameters in `hash.txt`.
    private static let password = """
        "passwordHash": "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
        "salt": "42xEC+ixf3L2lw=="
        """

    private func random() -> String { "u\(UInt64.random(in: 0 ... .max))" }

    /// Imports records as an export of Firebase, and returns the counts.
    private func imported(_ records: [String], exit: Int32 = 0) async throws -> JSONObject {
        let folder = FileManager.default.temporaryDirectory.path
        let file = "\(folder)/\(UUID()).json"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try Data("{\"users\": [\(records.joined(separator: ","))]}".utf8).write(to: URL(filePath: file))
        let hash = PackageLayout.path("Tests/ImportTests/Exports/hash.txt")
        let process = try await ann.run(
            "user import demo \(file) --from firebase --hash-config \(hash) --facebook-app 1234567890 --json"
        )
        #expect(process.exitStatus == .exited(exit), "\(process.standardError)")
        return try #require(JSON.object(process.standardOutput))
    }

    @Test("an imported user logs in by password and by Facebook, and tokens and lookup have the uid and the claims")
    func signIn() async throws {
        let (uid, email) = (random(), "\(random()).canary@example.com")
        let visitor = try await deployment.newcomer(#"{"name": "Ann Canary"}"#)
        let record = """
            {"localId": "\(uid)", "email": "\(email)", "emailVerified": true, \(Self.password),
             "customAttributes": "{\\"plan\\":\\"gold\\"}",
             "providerUserInfo": [{"providerId": "facebook.com", "rawId": "\(visitor.id)"}]}
            """
        #expect(try await imported([record])["imported"]?.integer == 1)
        let signedIn = try await client.call(
            "accounts:signInWithPassword",
            #"{"email": "\#(email)", "password": "user1password"}"#
        )
        for (reply, provider) in [(signedIn, "password"), (try await client.signIn(visitor), "facebook.com")] {
            let claims = reply.claims
            #expect(reply["localId"]?.string == uid && claims["sub"]?.string == uid, "\(reply)")
            #expect(claims["user_id"]?.string == uid && claims["plan"]?.string == "gold", "\(claims)")
            #expect(claims["firebase"]?.object?["sign_in_provider"]?.string == provider)
            let user = try await client.lookUp(reply)
            #expect(user["localId"]?.string == uid, "\(user)")
            let refreshed = JSON.object(try await client.refresh(reply.refreshToken).text)
            #expect(refreshed?["user_id"]?.string == uid && refreshed?.claims["sub"]?.string == uid)
        }
        // Nothing of a second import of the same users changes them.
        let again = try await imported([record.replacing("gold", with: "silver")])
        #expect(again["existing"]?.integer == 1 && again["imported"]?.integer == 0)
        #expect(try await client.signIn(visitor).claims["plan"]?.string == "gold")
    }

    @Test("a user of an earlier import gets the uid by another one; a uid of somebody else refuses the record")
    func again() async throws {
        let (uid, visitor) = (random(), try await deployment.newcomer())
        let record =
            #"{"localId": "\#(uid)", "providerUserInfo": [{"providerId": "facebook.com", "rawId": "\#(visitor.id)"}]}"#
        _ = try await imported([record])
        try await deployment.database.psql("delete from demo.firebase_users where uid = '\(uid)'")
        let formerly = try await client.signIn(visitor)
        #expect(formerly["localId"]?.string != uid)
        #expect(
            try await imported([record, " " + record.replacing(uid, with: random())], exit: 65)["existing"]?.integer
                == 1
        )
        #expect(try await client.signIn(visitor)["localId"]?.string == uid)
        // The uid is another user's by now.
        let other = try await client.guest()["localId"]?.string ?? ""
        let taken = random()
        try await deployment.database.psql(
            "insert into demo.firebase_users (object_id, uid) values ('\(other)', '\(taken)')"
        )
        for uid in [taken, other] {
            let refused = try await imported(
                [#"{"localId": "\#(uid)", "email": "\#(random()).canary@example.com"}"#],
                exit: 65
            )
            #expect(refused["refused"]?.integer == 1, "\(refused)")
            let reason = try await deployment.value(
                """
                select r.reason
                from federation.import_refusals r join federation.imports i using (application_id, file_hash)
                order by i.started desc limit 1
                """
            )
            #expect(reason == "uidTaken")
        }
    }

    @Test("operators find a user by the uid, see it, and an export brings it along to another application")
    func operators() async throws {
        let (uid, email) = (random(), "\(random()).canary@example.com")
        let record = #"{"localId": "\#(uid)", "email": "\#(email)", "customAttributes": "{\"plan\":\"gold\"}"}"#
        _ = try await imported([record])
        let id = try #require(
            try await deployment.value("select upper(object_id::text) from demo.firebase_users where uid = '\(uid)'")
        )
        let viewer = try await deployment.admin(.viewer)
        func found(_ query: String) async throws -> [JSONObject] {
            let reply = try await viewer.send("GET", "applications/demo/users?\(query)")
            return (JSON.object(reply.text)?["items"]?.array ?? []).compactMap(\.object)
        }
        for query in ["firebaseUid=\(uid)", "firebaseUid=\(id)", "firebaseUid=\(uid)&email=\(email)"] {
            let users = try await found(query)
            #expect(users.map { $0["objectId"]?.string } == [id], "\(query)")
            #expect(users.first?["firebaseUid"]?.string == uid)
        }
        for query in [
            "firebaseUid=nobody", "firebaseUid=\(uid)&objectId=\(UUID().uuidString)", "firebaseUid=\(uid)&name=x",
        ] {
            #expect(try await found(query).isEmpty, "\(query)")
        }
        #expect(try await viewer.send("GET", "applications/demo/users?firebaseUid=%00").status == 400)
        let printed = try await ann.json("get applications/demo/users/\(id)")
        #expect(printed["firebaseUid"]?.string == uid)
        #expect(printed["firebaseClaims"]?.object?["plan"]?.string == "gold")
        #expect(try await ann.succeed("list applications/demo/users firebaseUid=\(uid)").contains(id))
        let browser = try await deployment.browser(.viewer)
        try await browser.open("/console/applications/demo/users?by=firebaseUid&q=\(uid)")
        #expect(browser.page.contains("Firebase uid") && browser.page.contains("users/\(id)\""), "\(browser.page)")
        try await browser.open("/console/applications/demo/users/\(id)")
        #expect(browser.page.contains("<dt>Firebase uid</dt><dd>") && browser.page.contains(uid), "\(browser.page)")

        let folder = FileManager.default.temporaryDirectory.path
        try await ann.succeed("set applications/moved")
        for form in ["ndjson", "csv"] {
            let file = "\(folder)/\(UUID()).\(form)"
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await ann.succeed("user export demo --format \(form) -o \(file)")
            _ = try await ann.run("user import moved \(file) --from \(form)")
            let moved = try await deployment.database.psql(
                "select upper(object_id::text), claims from moved.firebase_users where uid = '\(uid)'"
            )
            #expect(moved == [[id, #"{"plan":"gold"}"#]], "\(form)")
            try await deployment.database.psql("delete from moved.users")
        }
    }
}
