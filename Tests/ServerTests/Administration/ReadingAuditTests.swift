import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Who reads about people is in the audit log, unless it is they themselves",
    .serialized,
    .deployed(
        Document(
            hasServerKey: true,
            settings: #"{"roles": ["Editor"]}"#,
            properties: #"{"city": {"type": "STRING"}}"#,
            mapping: #"{"email": "email", "name": "name"}"#
        )
    )
)
struct ReadingAuditTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let users = "applications/demo/users"

    private func person(_ name: String) async throws -> LoginResult {
        try await deployment.loggedIn(
            try await deployment.newcomer(#"{"name": "\#(name)", "email": "\#(name).canary@example.com"}"#)
        )
    }

    /// Requires a single audit entry of a closure, without personal values, and returns the entry.
    private func entry(
        _ comment: Comment,
        sourceLocation: SourceLocation = #_sourceLocation,
        of body: () async throws -> Void
    ) async throws -> JSONObject {
        let entries = try await deployment.audited(during: body)
        #expect(entries.count == 1, "\(comment): \(entries)", sourceLocation: sourceLocation)
        let entry = try #require(entries.first, comment, sourceLocation: sourceLocation)
        #expect(!"\(entry)".lowercased().contains(Canary.mark), comment, sourceLocation: sourceLocation)
        #expect(entry["application_id"]?.string == "demo" && entry["source"]?.string?.isEmpty == false)
        return entry
    }

    private func found(_ entry: JSONObject) -> JSONValue? { entry["details"]?.object?["to"] }

    @Test("searching: by what, not for what; how many; and whom, where it is one")
    func searching() async throws {
        let ann = try await person("searched")
        let viewer = try await deployment.admin(.viewer)
        for (query, by) in [
            ("email=searched.canary%40example.com", "email"), ("objectId=\(ann.objectID)", "objectId"),
            ("name=searched&email=searched.canary%40example.com", "email, name"),
        ] {
            let entry = try await entry("\(query)") { try await viewer.get("\(Self.users)?\(query)") }
            #expect(entry["action"]?.string == "user.search" && entry["actor"]?.string == "viewer", "\(entry)")
            #expect(entry["target"]?.string == ann.objectID)
            let filters = by.split(separator: ", ").map { JSONValue.string(String($0)) }
            #expect(found(entry) == .object(["by": .array(filters), "found": .integer(1)]), "\(entry)")
        }
        _ = try await person("another")
        let all = try await entry("all") { try await viewer.get(Self.users) }
        #expect(all["target"] == .null && found(all)?.object?["by"] == .array([]), "\(all)")
        let none = try await entry("nobody") { try await viewer.get("\(Self.users)?property=city&value=canary") }
        #expect(found(none) == .object(["by": .array([.string("property city")]), "found": .integer(0)]), "\(none)")
        let refused = try await deployment.audited {
            try expectProblem(try await viewer.send("GET", "\(Self.users)?objectId=x"), "malformed_request")
            try expectProblem(
                try await viewer.send("GET", "\(Self.users)/00000000-0000-0000-0000-000000000000"),
                "not_found"
            )
        }
        #expect(refused.isEmpty, "nobody was read about")
    }

    @Test("reading, exporting, previewing, and a change that changes nothing")
    func reading() async throws {
        let ann = try await person("read")
        let path = "\(Self.users)/\(ann.objectID)"
        let editor = try await deployment.admin(.editor)
        let preview = "applications/demo/mappings/facebook/preview"
        for (action, method, path, body) in [
            ("user.read", "GET", path, nil), ("user.export", "GET", "\(path)/export", nil),
            ("user.read", "PATCH", path, #"{"user": {"userStatus": "ENABLED"}}"#),
            ("user.preview", "POST", preview, #"{"profile": {"name": "x"}, "user": "\#(ann.objectID)"}"#),
        ] as [(String, String, String, String?)] {
            let entry = try await entry("\(method) \(path)") { try await editor.ask(method, path, body) }
            #expect(entry["action"]?.string == action && entry["actor"]?.string == "editor", "\(entry)")
            #expect(entry["target"]?.string == ann.objectID, "\(entry)")
        }
        let made = try await deployment.audited {
            try await editor.ask("POST", preview, #"{"profile": {"name": "x"}}"#)
        }
        #expect(made.isEmpty, "a profile that is nobody's")
        let listed = try await editor.all("audit?action=user.read")
        #expect(listed.contains { $0["target"]?.string == ann.objectID })
    }

    @Test("the command line does the same, in the name of who runs it")
    func commandLine() async throws {
        let ann = try await person("commanded")
        let shell = CommandLineOperator(database: deployment.database)
        for (command, action) in [
            ("list applications/demo/users email=commanded.canary@example.com", "user.search"),
            ("get applications/demo/users/\(ann.objectID)", "user.read"),
            ("get applications/demo/users/\(ann.objectID)", "user.read"),
            ("user export demo \(ann.objectID)", "user.export"),
        ] {
            let entry = try await entry("\(command)") { try await shell.succeed(command) }
            #expect(entry["action"]?.string == action && entry["target"]?.string == ann.objectID, "\(entry)")
            #expect(entry["actor"]?.string?.hasPrefix("cli:") == true, "\(entry)")
        }
    }

    @Test("a server that lists people is one who reads; people who look at themselves are not")
    func ownersAndServers() async throws {
        let ann = try await person("own")
        _ = try await deployment.send(
            "POST",
            "users/assignRole",
            #"{"user": "\#(ann.objectID)", "roleName": "Editor"}"#,
            key: Canary.serverAPIKey
        )
        let entry = try await entry("role") {
            let list = try await deployment.send("GET", "users/role/Editor", key: Canary.serverAPIKey)
            #expect(list.status == 200)
        }
        #expect(entry["action"]?.string == "user.search" && entry["actor"]?.string == "key:server", "\(entry)")
        #expect(entry["target"]?.string == ann.objectID)
        #expect(found(entry) == .object(["by": .array([.string("role")]), "found": .integer(1)]))

        let own = try await deployment.audited {
            for endpoint in ["users/\(ann.objectID)", "users/userroles", "users/identities", "users/sessions"] {
                let reply = try await deployment.get(endpoint, token: ann.token)
                #expect(reply.status == 200)
            }
        }
        #expect(own.isEmpty, "\(own)")
    }
}
