import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("Documents on the command line")
struct CommandLineDocumentTests {
    private static let document = Document(
        settings: #"{"clientMapping": false}"#,
        properties: #"{"nick": {"type": "STRING", "clientMappable": true}, "day": {"type": "DATE"}}"#,
        mapping: #"[{"from": "email", "to": "email"}, {"from": "birthday", "to": "day", "sync": "firstLogin"}]"#
    )

    private func withOperator(
        _ body: (CommandLineOperator, TestDatabase) async throws -> Void
    ) async throws {
        try await withDatabase { database in
            var ann = CommandLineOperator(database: database)
            ann.environment.merge(Self.document.environment(database: database)) { $1 }
            // The variable names in exports.
            ann.environment["DEMO_TESTS_API_KEY"] = Canary.apiKey
            ann.environment["DEMO_FACEBOOK_APP_SECRET"] = Canary.appSecret(of: "1234567890")
            try await body(ann, database)
        }
    }

    @Test("diff tells what comes, goes and changes, and ends as diff(1) does")
    func diff() async throws {
        try await withOperator { ann, _ in
            let all = try await ann.run("diff -", input: Self.document.text)
            #expect(all.exitStatus == .exited(1), "\(all.standardError)")
            #expect(all.standardOutput.contains("\n+ property.declare nick"), "\(all.standardOutput)")
            try await ann.fail("get applications/demo", with: 66)
            try await ann.succeed("apply -", input: Self.document.text)

            let none = try await ann.run("diff -", input: Self.document.text)
            #expect(none.exitStatus == .exited(0))
            #expect(none.standardOutput == "" && none.standardError == "")

            var other = Self.document
            other.settings = #"{"clientMapping": true}"#
            other.mapping = #"{"email": "nick"}"#
            let some = try await ann.run("diff -", input: other.text)
            #expect(some.exitStatus == .exited(1))
            let lines = some.standardOutput.split(separator: "\n").map(String.init)
            #expect(lines.contains("~ application.settings") && lines.contains("    clientMapping: no → yes"))
            #expect(lines.contains { $0.hasPrefix("    - ") } && lines.contains { $0.hasPrefix("    + ") }, "\(lines)")
            let json = try await ann.run("diff - --json", input: other.text)
            #expect(json.exitStatus == .exited(1))
            #expect(JSON.object(json.standardOutput)?["changes"]?.array?.isEmpty == false, "\(json.standardOutput)")
        }
    }

    @Test("diff and apply end with 64 or more on errors, and nothing changes")
    func errors() async throws {
        try await withOperator { ann, _ in
            for command in ["diff", "apply", "apply --dry-run"] {
                try await ann.fail("\(command) /does/not/exist.json", with: 66)
                try await ann.fail("\(command) -", with: 65, input: "{")
                let said = try await ann.fail(
                    "\(command) -",
                    with: 65,
                    input: #"{"application": "demo", "a": 1, "b": 2}"#
                )
                #expect(
                    said.split(separator: "\n").map { $0.prefix(19) } == ["standard input: /a:", "standard input: /b:"]
                )
                try await ann.fail("\(command)", with: 64)
            }
            var nobody = ann
            nobody.environment["FEDERATION_DATABASE_URL"] = "postgres://nobody@127.0.0.1:1/none"
            try await nobody.fail("diff -", with: 69, input: Self.document.text)
            nobody.environment["FEDERATION_DATABASE_URL"] = nil
            try await nobody.fail("diff -", with: 78, input: Self.document.text)
            #expect(try await ann.items("list applications").isEmpty)
        }
    }

    @Test("apply --dry-run changes nothing, apply does, and again there is nothing to do")
    func apply() async throws {
        try await withOperator { ann, _ in
            let planned = try await ann.succeed("apply - --dry-run", input: Self.document.text)
            #expect(planned.contains("+ application.create") && planned.contains("--dry-run"))
            try await ann.fail("get applications/demo", with: 66)

            let applied = try await ann.succeed("apply -", input: Self.document.text)
            #expect(applied.contains("+ application.create") && applied.contains("Its users are in demo.users"))
            let revision = try await ann.json("get applications/demo")["revision"]
            let again = try await ann.json("apply -", input: Self.document.text)
            #expect(again["changes"]?.array?.isEmpty == true)
            #expect(try await ann.json("get applications/demo")["revision"] == revision)

            try await ann.succeed("set applications/demo/properties/extra type=INT")
            let stays = try await ann.run("apply -", input: Self.document.text)
            #expect(stays.standardError.contains("extra"), "\(stays.standardError)")
            let said = try await ann.fail("apply - --if-match 1 --json", with: 65, input: #"{"application": "demo"}"#)
            #expect(said.contains("Another operator changed this"))
        }
    }

    @Test("export | apply gives the same application in an empty database")
    func export() async throws {
        try await withOperator { ann, database in
            try await ann.succeed("apply -", input: Self.document.text)
            let exported = try await ann.succeed("export demo")
            #expect(!exported.lowercased().contains(Canary.mark))
            #expect(exported.split(separator: "\n").count > 10, "on lines, for version control")
            try await ann.succeed("check -", input: exported)
            try await ann.succeed("delete applications/demo --confirm demo")
            try await ann.succeed("apply -", input: exported)
            #expect(try await ann.succeed("export demo") == exported)
            let none = try await ann.run("diff -", input: exported)
            #expect(none.exitStatus == .exited(0), "\(none.standardOutput)")

            try await Document.withFile("what was there before, which is longer than nothing") { file in
                let printed = try await ann.succeed("export demo -o \(file)")
                let written = try String(contentsOfFile: file, encoding: .utf8)
                #expect(printed == "" && written == exported)
            }
            try await ann.fail("export demo -o /does/not/exist.json", with: 73)
            try await ann.fail("export nobody", with: 66)
        }
    }

    @Test("what is exported has the variables of the document, of each kind of secret, until others are named")
    func exportKeepsVariables() async throws {
        let text = """
            {"application": "demo", "keys": [{"label": "demo", "key": {"env": "MY_KEY"}},
              {"label": "back", "key": {"env": "BACKEND"}, "server": true}],
             "providers": {
              "facebook": {"apps": [{"appId": "1", "appSecret": {"env": "FIRST"}}, {"appId": "2", "appSecret": {"env": "SECOND"}}],
               "webhookVerifyToken": {"env": "HOOK"}},
              "staff": {"kind": "facebook", "apps": [{"appId": "1", "appSecret": {"env": "FIRST"}}]},
              "twitter": {"apps": [{"consumerKey": "k", "consumerSecret": {"env": "BIRD"}}]}}}
            """
        let names = ["MY_KEY", "BACKEND", "FIRST", "SECOND", "HOOK", "BIRD"]
        try await withOperator { ann, database in
            var ann = ann
            for name in names { ann.environment[name] = "canary-0123456789-\(name.lowercased())" }
            try await ann.succeed("apply -", input: text)
            let exported = try await ann.succeed("export demo")
            func variables(_ text: String) -> [String] {
                text.matches(of: /"env": "([A-Z_0-9]+)"/).map { String($0.output.1) }
            }
            #expect(
                variables(exported) == ["BACKEND", "MY_KEY", "FIRST", "SECOND", "HOOK", "FIRST", "BIRD"],
                "\(exported)"
            )
            try await ann.succeed("diff -", input: exported)
            try await ann.succeed("diff -", input: text)

            // Applying the export to an empty place gives the same application, also after further changes.
            try await ann.succeed("delete applications/demo --confirm demo")
            try await ann.succeed("apply -", input: exported)
            #expect(try await ann.succeed("export demo") == exported)
            try await ann.succeed("patch applications/demo/keys/demo label=phone")
            try await ann.succeed("set applications/demo/keys/tv")
            let later = variables(try await ann.succeed("export demo"))
            #expect(
                later == ["BACKEND", "MY_KEY", "DEMO_TV_API_KEY", "FIRST", "SECOND", "HOOK", "FIRST", "BIRD"],
                "\(later)"
            )

            // Another variable name is a change, which shows the old and the new name, and no value.
            ann.environment["OTHER"] = ann.environment["SECOND"]
            ann.environment["DEMO_TV_API_KEY"] = "canary-0123456789-tv"
            let renamed = exported.replacing("\"SECOND\"", with: "\"OTHER\"")
            let diff = try await ann.run("diff - --json", input: renamed)
            #expect(diff.standardOutput.contains(#""action": "application.variables""#), "\(diff.standardOutput)")
            #expect(diff.standardOutput.contains(#""/providers/facebook/apps/2": "OTHER""#), "\(diff.standardOutput)")
            #expect(!diff.standardOutput.contains("canary"))
            try await ann.succeed("apply -", input: renamed)
            #expect(variables(try await ann.succeed("export demo")).contains("OTHER"))
            let rows = try await database.psql("select variables from federation.applications where id = 'demo'")
            #expect(rows.first?.first.flatMap(\.self)?.contains("canary") == false)
        }
    }

    @Test(
        "what was made without a document is exported with names that say what they are, and is the same when applied"
    )
    func exportOfOthers() async throws {
        try await withOperator { ann, _ in
            var ann = ann
            try await ann.succeed("set applications/demo")
            try await ann.succeed("set applications/demo/keys/demo key=@-", input: Canary.apiKey)
            let exported = try await ann.succeed("export demo")
            #expect(exported.contains(#"{"env": "DEMO_API_KEY"}"#), "\(exported)")
            ann.environment["DEMO_API_KEY"] = Canary.apiKey
            try await ann.succeed("diff -", input: exported)
        }
    }

    @Test("check --live holds documents against the database, and goes on behind one that is wrong")
    func check() async throws {
        try await withOperator { ann, database in
            try await ann.succeed("apply -", input: Self.document.text)
            try await database.psql("alter table demo.users add column stray integer not null default 1")
            var misfit = Self.document
            misfit.properties = #"{"stray": {"type": "STRING"}}"#
            misfit.mapping = "{}"
            try await Document.withFile(misfit.text) { file in
                try await ann.succeed("check \(file)")
                let checked = try await ann.run("check --live \(file) -", input: Self.document.text)
                #expect(checked.exitStatus == .exited(65))
                #expect(checked.standardError.contains("\(file): /"), "\(checked.standardError)")
                #expect(checked.standardOutput.contains("standard input: application demo"))
            }
        }
    }

    @Test("a result that cannot be written is no success")
    func fullDisk() async throws {
        try await withOperator { ann, _ in
            try await ann.succeed("apply -", input: Self.document.text)
            for arguments in ["export demo >/dev/full", "list applications >/dev/full"] {
                let process = try await run(
                    "bash",
                    ["-c", "\"$0\" \(arguments)", try PackageLayout.executable("federation")],
                    environment: ann.environment
                )
                #expect(process.exitStatus == .exited(74), "\(arguments)")
                #expect(process.standardError.contains("No space left"), "\(process.standardError)")
            }
        }
    }
}
