import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// A document with every member, none of which has its default value.
private let full = """
    {"application": "full", "name": "Füll & \\"Co\\"", "schema": "people_of_full",
     "settings": {"clientMapping": false, "dynamicProperties": true, "undeclaredProperties": "drop", "offsetlessTimes": "utc", "sessionIdleSeconds": 3600, "sessionAbsoluteSeconds": 7200,
      "multipleLogins": false, "maxSessions": 5, "sessionLimitBehavior": "refuse", "banDays": 365, "passwords": {"minLength": 14},
      "reauthentication": "session", "lockout": {"failures": 10, "seconds": 600}, "allowAccountEnumeration": true, "apiKeyRights": ["findByRole"], "identityProperty": "zebra", "tokens": {"enabled": true, "seconds": 60, "audience": "orders"},
      "allowedOrigins": ["https://a.example", "http://localhost:3000"], "hostNames": ["a.example"], "newUsers": "closed"},
     "keys": [{"label": "ios", "key": {"env": "API_KEY"}}, {"label": "web ü", "key": {"env": "OTHER_KEY"}}],
     "providers": {"facebook": {"enabled": true, "graphVersion": "v24.0", "proof": "classic",
       "apps": [{"appId": "2345678901", "appSecret": {"env": "SECRET_2"}}, {"appId": "1234567890", "appSecret": {"env": "SECRET_1"}}],
       "webhookVerifyToken": {"env": "VERIFY_TOKEN"}}},
     "properties": {
       "zebra": {"type": "STRING", "required": true, "clientMappable": true}, "story": {"type": "TEXT"}, "age": {"type": "INT"},
       "height": {"type": "DOUBLE"}, "vip": {"type": "BOOLEAN"}, "birthday": {"type": "DATE"}, "seen": {"type": "DATETIME"},
       "extra": {"type": "JSON"}, "order": {"type": "STRING", "clientMappable": true}},
     "mapping": {"facebook": [
       {"from": "email", "to": "email"}, {"from": "first_name", "to": "zebra", "default": "Ünknown", "transform": ["trim", "lowercase"]},
       {"from": "birthday", "to": "birthday", "sync": "firstLogin"}, {"from": "age_range.min", "to": "age", "sync": "ifEmpty"},
       {"from": "gender", "to": "order", "transform": {"lookup": {"male": "M", "female": "F"}, "else": null}},
       {"from": "{first_name} {last_name}", "to": "story", "sync": "untilEdited"}, {"from": "picture.data", "to": "extra"},
       {"from": "name", "to": "name", "required": true}]}}
    """

@Suite("Documents under version control", .serialized)
struct AdministrationDocumentTests {
    private static let secrets = [
        "API_KEY": Canary.apiKey, "OTHER_KEY": Canary.otherAPIKey, "SECRET_1": Canary.appSecret(of: "1234567890"),
        "SECRET_2": Canary.appSecret(of: "2345678901"), "VERIFY_TOKEN": "canary-verify-token",
    ]

    /// The SQL of the configuration, table by table, without times, revisions and ciphertexts.
    private static let configuration = """
        select 'application', to_jsonb(a) - '{created,updated,revision}'::text[] from federation.applications a
        union all select 'key', to_jsonb(k) - 'created' from federation.api_keys k
        union all select 'provider', to_jsonb(p) #- '{options,webhookVerifyToken,sealed}' #- '{options,webhookVerifyToken,changed}'
            from federation.provider_settings p
        union all select 'app', to_jsonb(p) - '{secret,secret_changed}'::text[] from federation.provider_apps p
        union all select 'mapping', to_jsonb(m) - '{created,revision,author}'::text[] from federation.mappings m where active
        union all select 'property', to_jsonb(p) from federation.properties p
        union all select 'column', to_jsonb(c) - '{table_catalog,udt_catalog,collation_catalog}'::text[] from information_schema.columns c
            where table_schema = 'people_of_full'
        order by 1, 2
        """

    /// Runs a closure with a database that has the schema.
    private func withMigratedDatabase<Result>(_ body: (TestDatabase) async throws -> Result) async throws -> Result {
        try await withDatabase { database in
            try await database.psql(Deployment.functions)
            return try await body(database)
        }
    }

    private func run(
        _ arguments: [String],
        on database: TestDatabase,
        environment: [String: String] = secrets
    ) async throws -> ManagedProcess {
        let environment = environment.merging(Deployment.environment(database: database)) { given, _ in given }
        return try await runFederation(arguments, environment: environment)
    }

    /// Applies a text and requires success.
    private func apply(_ text: String, to database: TestDatabase, environment: [String: String] = secrets) async throws
    {
        try await Document.withFile(text) { file in
            let applied = try await run(["apply", file], on: database, environment: environment)
            try #require(applied.exitStatus == .exited(0), "\(applied.standardError)")
        }
    }

    private func export(_ application: String, from database: TestDatabase) async throws -> String {
        let exported = try await run(["export", application], on: database)
        try #require(exported.exitStatus == .exited(0), "\(exported.standardError)")
        #expect(!exported.standardOutput.lowercased().contains(Canary.mark))
        return exported.standardOutput
    }

    @Test("what export prints makes the same application in an empty database")
    func roundTrip() async throws {
        let (exported, tables) = try await withMigratedDatabase { database in
            try await apply(full, to: database)
            return (try await export("full", from: database), try await database.psql(Self.configuration))
        }
        #expect(tables.count > 40)
        let document = try #require(JSON.object(exported))
        #expect(document["application"]?.string == "full")
        // The document chooses the names of the variables; their places tell which is which.
        var environment: [String: String] = [:]
        for (key, value) in zip(document["keys"]?.array ?? [], [Canary.apiKey, Canary.otherAPIKey]) {
            environment[try #require(key.object?["key"]?.object?["env"]?.string)] = value
        }
        let facebook = document["providers"]?.object?["facebook"]?.object
        let verifyToken = try #require(facebook?["webhookVerifyToken"]?.object?["env"]?.string)
        environment[verifyToken] = "canary-verify-token"
        for app in facebook?["apps"]?.array ?? [] {
            let id = try #require(app.object?["appId"]?.string)
            let name = try #require(app.object?["appSecret"]?.object?["env"]?.string)
            environment[name] = Canary.appSecret(of: id)
        }
        #expect(environment.count == 5, "each secret has a variable of its own: \(environment.keys)")
        try await withMigratedDatabase { database in
            try await apply(exported, to: database, environment: environment)
            #expect(try await export("full", from: database) == exported)
            let copied = try await database.psql(Self.configuration)
            #expect(copied.filter { !tables.contains($0) } == [], "what was not there")
            #expect(tables.filter { !copied.contains($0) } == [], "what is missing")
        }
    }

    @Test("applying what is there already writes nothing: no revision, no entry of the audit log, no secret")
    func twice() async throws {
        try await withMigratedDatabase { database in
            try await apply(full, to: database)
            let state = try await database.psql("select * from state()")
            try await apply(full, to: database)
            #expect(try await database.psql("select * from state()") == state)
            // The output for programs: there are no changes to make.
            let plan = try await Document.withFile(full) {
                try await run(["apply", $0, "--dry-run", "--json"], on: database)
            }
            #expect(plan.exitStatus == .exited(0), "\(plan.standardError)")
            #expect(JSON.object(plan.standardOutput)?["changes"]?.array?.isEmpty == true, "\(plan.standardOutput)")
        }
    }

    @Test("a dry run says what would be done and does nothing; then the same is done, and is in the audit log")
    func dryRun() async throws {
        try await withMigratedDatabase { database in
            let empty = try await database.psql("select * from state()")
            let plan = try await Document.withFile(full) {
                try await run(["apply", $0, "--dry-run", "--json"], on: database)
            }
            try #require(plan.exitStatus == .exited(0), "\(plan.standardError)")
            #expect(try await database.psql("select * from state()") == empty)
            let changes = try #require(JSON.object(plan.standardOutput)?["changes"]?.array).compactMap(\.object)
            #expect(changes.count > 10)
            #expect(!plan.standardOutput.lowercased().contains(Canary.mark), "\(plan.standardOutput)")
            try await apply(full, to: database)
            let done = try await database.psql("select action, target from federation.audit_log order by id")
            #expect(done.map { $0.first ?? nil } == changes.map { $0["action"]?.string })
            #expect(done.map { $0.last ?? nil } == changes.map { $0["target"]?.string })
        }
    }

    @Test("diff ends with 0 when nothing differs, with 1 when something does, and with 65 when the document is wrong")
    func difference() async throws {
        try await withMigratedDatabase { database in
            try await apply(full, to: database)
            let state = try await database.psql("select * from state()")
            let renamed = full.replacing("Ünknown", with: "nobody").replacing(
                #""vip": {"type": "BOOLEAN"}, "#,
                with: ""
            )
            for (text, code) in [
                (full, Int32(0)), (renamed, 1), (full.replacing("INT", with: "NUMBER"), 65), ("{", 65),
            ] {
                let diff = try await Document.withFile(text) { try await run(["diff", $0], on: database) }
                #expect(diff.exitStatus == .exited(code), "\(diff.standardOutput) \(diff.standardError)")
                if code == 1 {
                    #expect(diff.standardOutput.contains("mapping"), "\(diff.standardOutput)")
                    #expect(diff.standardOutput.contains("vip"), "what stays though the document lacks it is said")
                }
            }
            #expect(try await database.psql("select * from state()") == state)
        }
    }

    /// Invalid documents, with the JSON pointers to their errors.
    private static let wrong: [(text: String, pointers: [String])] = [
        (
            """
            {"application": "wrong", "nonsense": 1, "settings": {"clientMapping": "yes", "sessionIdleSeconds": 1, "a/b": 9},
             "keys": [{"label": "a", "key": "plain-text-key"}, {"label": "", "key": {"env": "API_KEY"}}],
             "providers": {"facebook": {"graphVersion": "25", "apps": [{"appId": "x"}]}},
             "properties": {"objectId": {"type": "STRING"}, "a-b": {"type": "STRING"}, "n": {"type": "NUMBER"}},
             "mapping": {"facebook": [{"from": "email", "to": "email", "transfrom": "trim"}, {"from": "name"}]}}
            """,
            [
                "/nonsense", "/settings/clientMapping", "/settings/sessionIdleSeconds", "/settings/a~1b", "/keys/0/key",
                "/keys/1/label", "/providers/facebook/graphVersion", "/providers/facebook/apps/0/appId",
                "/properties/objectId", "/properties/a-b", "/properties/n/type", "/mapping/facebook/0/transfrom",
                "/mapping/facebook/1",
            ]
        ),
        (
            full.replacing(#""to": "order""#, with: #""to": "nothing""#)
                .replacing(
                    #"{"from": "picture.data", "to": "extra"}"#,
                    with: #"{"from": "picture.data", "to": "vip"}"#
                ),
            ["/mapping/facebook/4/to", "/mapping/facebook/6"]
        ),
        // Errors that only the database reveals.
        (
            full.replacing(#""height": {"type": "DOUBLE"}"#, with: #""height": {"type": "DATE"}"#)
                .replacing("people_of_full", with: "other_people"),
            ["/properties/height/type", "/schema"]
        ),
    ]

    @Test(
        "a broken document changes nothing, and all that is wrong is said with its JSON pointer, by REST and by commands"
    )
    func broken() async throws {
        try await withMigratedDatabase { database in
            try await apply(full, to: database)
            let state = try await database.psql("select * from state()")
            for (text, pointers) in Self.wrong {
                let applied = try await Document.withFile(text) { try await run(["apply", $0], on: database) }
                #expect(applied.exitStatus == .exited(65))
                let dry = try await Document.withFile(text) { try await run(["apply", $0, "--dry-run"], on: database) }
                #expect(dry.exitStatus == .exited(65))
                let live = try await Document.withFile(text) { try await run(["check", "--live", $0], on: database) }
                #expect(live.exitStatus == .exited(65))
                for said in [applied, dry, live].map(\.standardError) {
                    for pointer in pointers {
                        let named = said.split(separator: "\n").contains { $0.contains(pointer) }
                        #expect(named, "\(pointer) in \(said)")
                    }
                    #expect(!said.contains("plain-text-key"), "what may be a secret is not repeated")
                }
            }
            #expect(try await database.psql("select * from state()") == state)
        }
    }

    @Test("properties that a document does not name stay, and so does their order")
    func undeclared() async throws {
        try await withMigratedDatabase { database in
            try await apply(full, to: database)
            let less = full.replacing(#""vip": {"type": "BOOLEAN"}, "#, with: "")
            try await apply(less, to: database)
            let kept = try await database.psql(
                """
                select (select count(*) from federation.properties where name = 'vip'), (select count(*) from
                    information_schema.columns where table_schema = 'people_of_full' and column_name = 'vip')
                """
            )
            #expect(kept == [["1", "1"]])
        }
    }

    @Test("over REST a document is read, planned and put as it is by the command line")
    func rest() async throws {
        try await withNewInstallation { installation in
            let owner = try await installation.admin()
            try await apply(full, to: installation.database)
            let path = "applications/full/document"
            let read = try await owner.get(path)
            #expect(JSONValue.object(read) == JSON.value(try await export("full", from: installation.database)))
            // Applying the document as read changes nothing, although it contains no secrets.
            let tag = try await owner.tag(of: path)
            let same = try await owner.ask("PUT", path, read.text, ifMatch: tag)
            #expect(same["changes"]?.array?.isEmpty == true, "\(same.text)")
            #expect(try await owner.tag(of: path) == tag)

            var members = read.members.filter { $0.key != "name" }
            members.append(.init("name", .string("Changed")))
            let changed = JSONObject(members)
            let planned = try await owner.ask("PUT", path + "?dryRun=true", changed.text, ifMatch: tag)
            #expect(planned["changes"]?.array?.count == 1, "\(planned.text)")
            #expect(try await owner.tag(of: path) == tag, "nothing was done")
            try await owner.ask("PUT", path, changed.text, ifMatch: tag)
            #expect(try await owner.get("applications/full")["name"]?.string == "Changed")
            try expectProblem(try await owner.send("PUT", path, changed.text, ifMatch: tag), "precondition_failed")

            for (text, pointers) in Self.wrong {
                let text = text.replacing(#""application": "wrong""#, with: #""application": "full""#)
                let data = try expectProblem(try await owner.send("PUT", path, text), "document_invalid")
                let said = data["problems"]?.array?.compactMap { $0.object?["pointer"]?.string } ?? []
                // An owner may write a secret as plain text in this request.
                for pointer in pointers where pointer != "/keys/0/key" {
                    #expect(said.contains { $0.hasPrefix(pointer) }, "\(pointer) in \(data.text)")
                }
            }
            try expectProblem(
                try await owner.send("PUT", "applications/other/document", changed.text),
                "document_invalid",
                "a document is of the application of the path"
            )
        }
    }
}
