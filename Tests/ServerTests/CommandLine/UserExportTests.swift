import Encodings
import Foundation
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "All users, taken out",
    .serialized,
    .deployed(
        Document(
            settings: #"{"roles": ["Editor"]}"#,
            properties: #"""
                {"city": {"type": "STRING"}, "points": {"type": "INT"}, "ratio": {"type": "DOUBLE"},
                 "member": {"type": "BOOLEAN"}, "birthday": {"type": "DATE"}, "seen": {"type": "DATETIME"},
                 "extra": {"type": "JSON"}, "login": {"type": "STRING"}}
                """#,
            mapping: #"{"email": "email", "name": "name"}"#
        )
    )
)
struct UserExportTests {
    let deployment: Deployment
    private let ann: CommandLineOperator

    init() throws {
        deployment = try Deployment.current
        ann = CommandLineOperator(database: deployment.database)
    }

    private func objects(_ text: String) throws -> [JSONObject] {
        try text.split(separator: "\n").map { try #require(JSON.object(String($0)), "\($0)") }
    }

    /// Parses CSV with Python's reader for spreadsheets, by the names in the first row.
    private func rows(_ text: String) async throws -> [JSONObject] {
        let path = FileManager.default.temporaryDirectory.path + "/users-\(UUID()).csv"
        try Data(text.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let script = "import csv, json, sys; print(json.dumps(list(csv.DictReader(open(sys.argv[1], newline='')))))"
        let read = try await run("python3", ["-c", script, path])
        return (JSON.value(read.standardOutput)?.array ?? []).compactMap(\.object)
    }

    /// Creates a user with every property and a password, and a Facebook user with none.
    private func people() async throws -> (String, Visitor) {
        let email = "full\(UUID()).canary@example.com".lowercased()
        let full = try await deployment.register(email)["objectId"]?.string ?? ""
        try await deployment.database.psql(
            """
            update demo.users set city = '=HYPERLINK("http://canary.example")', points = -9007199254740993, ratio = -0.5,
                member = true, birthday = '2000-02-29', seen = '2020-01-01 00:00:00.123+00', name = E'A, "b"\\nc',
                extra = '[1, {"a": null}]', login = 'victim@example.com', dynamic = '{"nick": "n", "emailVerified": true,
                    "identities": [{"provider": "facebook", "app": "1234567890", "subject": "1"}]}'
            where object_id = '\(full)';
            insert into demo.user_roles (object_id, role) values ('\(full)', 'Editor')
            """
        )
        let visitor = try await deployment.newcomer(#"{"name": "+49 canary"}"#)
        _ = try await deployment.loggedIn(visitor)
        return (full, visitor)
    }

    private func person(_ id: String, in people: [JSONObject]) throws -> JSONObject {
        try #require(people.first { $0["objectId"]?.string == id })
    }

    @Test("NDJSON has every property in its type; what clients write never stands for what the service says")
    func ndjson() async throws {
        let (id, visitor) = try await people()
        let text = try await ann.succeed("user export demo")
        #expect(!text.contains("$argon2id$") && !text.contains(visitor.id), "neither is there unless asked for")
        let full = try person(id, in: try objects(text))
        #expect(full["points"]?.integer == -9_007_199_254_740_993 && full["member"]?.bool == true)
        #expect(full["ratio"] == .number(try #require(JSONNumber(-0.5))) && full["birthday"]?.string == "2000-02-29")
        #expect(full["seen"]?.integer == 1_577_836_800_123 && full["extra"]?.text == #"[1,{"a":null}]"#)
        #expect(full["city"]?.string == #"=HYPERLINK("http://canary.example")"# && full["nick"]?.string == "n")
        #expect(full["name"]?.string == "A, \"b\"\nc" && full["userStatus"]?.string == "ENABLED")
        #expect(full["roles"] == .array([.string("Editor")]) && full["login"]?.string == full["email"]?.string)
        #expect(full["emailVerified"]?.bool == false && full["passwordHash"] == nil && full["identities"] == nil)
        let aside = full["properties"]?.object
        #expect(aside?["login"]?.string == "victim@example.com" && aside?["emailVerified"]?.bool == true)
        #expect(aside?["identities"]?.array?.count == 1)
        for person in try objects(text) {
            let keys = person.members.map(\.key)
            #expect(Set(keys).count == keys.count, "\(keys)")
        }
    }

    @Test("password hashes and identities are there when asked for, in a file for its owner alone")
    func secrets() async throws {
        let (id, visitor) = try await people()
        let path = FileManager.default.temporaryDirectory.path + "/users-\(UUID()).ndjson"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let printed = try await ann.succeed("user export demo --with-password-hashes --with-identities -o \(path)")
        #expect(printed.isEmpty)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let all = try objects(try String(contentsOfFile: path, encoding: .utf8))
        let full = try person(id, in: all)
        #expect(full["passwordHash"]?.string?.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$") == true)
        #expect(full["identities"] == .array([]))
        let identities = all.compactMap { $0["identities"]?.array?.first?.object }
        let identity = try #require(identities.first { $0["subject"]?.string == visitor.id })
        #expect(identity["provider"]?.string == "facebook" && identity["app"]?.string == "1234567890")
        #expect(abs((identity["created"]?.integer ?? 0) - Int64(Date().timeIntervalSince1970 * 1000)) < 600_000)
        let other = try #require(all.first { $0["identities"]?.array?.first?.object == identity })
        #expect(other["passwordHash"] == .null && other["login"] == .null && other["name"]?.string == "+49 canary")
    }

    @Test("CSV is read as it was meant, and no cell is a formula")
    func csv() async throws {
        let (id, visitor) = try await people()
        try await deployment.database.psql("update demo.users set city = 'a;=1+1;b' where name = '+49 canary'")
        let text = try await ann.succeed("user export demo --format csv --with-identities")
        // Quoting protects cells in spreadsheets that also accept other separators.
        #expect(text.contains(#","a;=1+1;b","#))
        let names =
            "objectId,created,updated,lastLogin,userStatus,blUserLocale,emailVerified,login,roles,"
            + "firebaseUid,firebaseClaims,"
        #expect(text.hasPrefix(names + "identities,email,name,"))
        let rows = try await rows(text)
        let full = try person(id, in: rows)
        #expect(full["city"]?.string == #"'=HYPERLINK("http://canary.example")"#)
        #expect(full["points"]?.string == "-9007199254740993" && full["ratio"]?.string == "-0.5")
        #expect(full["name"]?.string == "A, \"b\"\nc" && full["seen"]?.string == "2020-01-01T00:00:00.123Z")
        #expect(full["roles"]?.string == #"["Editor"]"# && full["extra"]?.string == #"[1,{"a":null}]"#)
        #expect(full["properties.login"]?.string == "victim@example.com" && full["emailVerified"]?.string == "false")
        #expect(JSON.object(full["dynamic"]?.string ?? "")?["nick"]?.string == "n")
        let other = try #require(rows.first { $0["identities"]?.string?.contains(visitor.id) == true })
        #expect(other["name"]?.string == "'+49 canary" && other["login"]?.string == "")
        for row in rows {
            for member in row.members where !["points", "ratio"].contains(member.key) {
                #expect(member.value.string?.first.map { !"=+-@\t\r".contains($0) } ?? true, "\(member)")
            }
        }
    }

    @Test("more users than are read at once come once each, in the order of their ids, and the audit log has both ends")
    func many() async throws {
        try await deployment.database.psql(
            "insert into demo.users (object_id, name) select gen_random_uuid(), 'many' from generate_series(1, 1201)"
        )
        var text = ""
        let entries = try await deployment.audited {
            text = try await ann.succeed("user export demo --with-identities")
        }
        let ids = try objects(text).compactMap { $0["objectId"]?.string }
        #expect(ids.count == Int(try await deployment.value("select count(*) from demo.users") ?? ""))
        #expect(ids == Set(ids).sorted())
        let details = entries.compactMap { $0["details"]?.object?["to"] }
        #expect(entries.allSatisfy { $0["action"]?.string == "users.export" && $0["target"] == .null })
        let wanted: JSONValue = .object([
            "format": .string("ndjson"), "passwordHashes": .bool(false), "identities": .bool(true),
        ])
        #expect(details == [wanted, .object(["found": .integer(Int64(ids.count))])], "\(details)")
        try await deployment.database.psql("delete from demo.users where name = 'many'")
    }

    @Test(
        "what is for all users is refused with one; an unknown application is 66; what cannot be opened makes no file"
    )
    func refused() async throws {
        let (id, _) = try await people()
        for option in ["--format csv", "--with-password-hashes", "--with-identities"] {
            try await ann.fail("user export demo \(id) \(option)", with: 64)
        }
        try await ann.fail("user export demo --format xml", with: 64)
        try await ann.fail("user export nowhere", with: 66)
        try await deployment.database.psql("update demo.passwords set hash_key_id = 'gone' where object_id = '\(id)'")
        let (folder, name) = (FileManager.default.temporaryDirectory.path, "users-\(UUID()).ndjson")
        let said = try await ann.fail("user export demo --with-password-hashes -o \(folder)/\(name)", with: 70)
        #expect(said.contains(id) && said.contains("gone"))
        #expect(try !FileManager.default.contentsOfDirectory(atPath: folder).contains { $0.hasPrefix(name) })
        try await deployment.database.psql("delete from demo.users where object_id = '\(id)'")
    }
}
