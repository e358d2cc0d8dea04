import TestSupport
import Testing
import Vocabulary

@Suite("Removing on the command line")
struct CommandLineRemovalTests {
    private func withApplication(_ body: (CommandLineOperator) async throws -> Void) async throws {
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            try await ann.succeed("application create demo")
            try await ann.succeed("key create demo ios")
            try await ann.succeed("property declare demo city STRING")
            try await ann.succeed("provider set demo --app-id 1 --secret-stdin", input: "canary-secret")
            try await ann.succeed("operator create bob --role viewer")
            try await body(ann)
        }
    }

    @Test("where nobody can be asked, the name must be given once more, exactly")
    func confirmation() async throws {
        try await withApplication { ann in
            let removals = [
                ("key revoke demo ios", "ios"), ("property remove demo city", "city"), ("provider remove demo", "demo"),
                ("operator remove bob", "bob"), ("application delete demo", "demo"),
            ]
            for (command, name) in removals {
                let asked = try await ann.fail(command, with: 64)
                #expect(asked.contains("--confirm \(name)"), "\(asked)")
                for wrong in ["", "yes", name.uppercased(), name + " "] {
                    let refused = try await ann.run(command + " --confirm", wrong)
                    #expect(refused.exitStatus == .exited(64), "\(command) --confirm '\(wrong)'")
                    #expect(refused.standardError.contains("nothing was removed"))
                }
            }
            #expect(try await ann.items("key list demo").count == 1)
            #expect(try await ann.items("operator list").count == 1)
            #expect(try await ann.items("property list demo").count == 3)
            for (command, name) in removals { try await ann.succeed("\(command) --confirm \(name)") }
            #expect(try await ann.items("application list").isEmpty)
            #expect(try await ann.items("operator list").isEmpty)
            for (command, name) in removals { try await ann.fail("\(command) --confirm \(name)", with: 66) }
        }
    }

    @Test("on a terminal the name is asked for")
    func question() async throws {
        try await withApplication { ann in
            for (answer, status) in [("yes\n", 64), ("\n", 64), ("\u{4}", 64), ("demo\n", 0)] as [(String, Int32)] {
                let terminal = try await CommandLineTerminal.start("application delete demo", as: ann)
                try await terminal.waitFor("Type demo to confirm:")
                #expect(try await ann.items("application list").count == 1)
                terminal.type(answer)
                let screen = try await terminal.end(with: .exited(status))
                #expect(screen.contains("all its users") && terminal.echoes)
            }
            #expect(try await ann.items("application list").isEmpty)
        }
    }

    @Test("--if-match lets a change happen to what was seen only")
    func precondition() async throws {
        try await withApplication { ann in
            let shown = try await ann.succeed("application show demo")
            let tag = try #require(shown.split(whereSeparator: \.isWhitespace).last)
            try await ann.succeed("application set demo --name New --if-match \(tag)")
            for command in [
                "application set demo --name Newer", "key revoke demo ios --confirm ios", "key label demo ios web",
                "provider set demo --disable", "property change demo city --name town",
                "application delete demo --confirm demo",
            ] {
                let said = try await ann.fail("\(command) --if-match \(tag)", with: 65)
                #expect(said.contains("Somebody has changed this"), "\(said)")
            }
            #expect(try await ann.json("application show demo")["name"]?.string == "New")
        }
    }

    @Test("Facebook apps are added, replaced and removed one by one, the others keep their secrets")
    func providerApps() async throws {
        try await withApplication { ann in
            func apps() async throws -> [String] {
                (try await ann.json("provider show demo")["apps"]?.array ?? []).compactMap {
                    $0.object?["appId"]?.string
                }
            }
            let said = try await ann.fail("provider set demo --app-id 2 --secret-stdin", with: 64, input: "x")
            #expect(said.contains("--add") && said.contains("--remove-app"), "\(said)")
            try await ann.succeed("provider set demo --app-id 2 --add --secret-stdin", input: "two")
            #expect(try await apps() == ["1", "2"])
            try await ann.succeed("provider set demo --app-id 3 --remove-app 1 --add --secret-stdin", input: "three")
            #expect(try await apps() == ["2", "3"])
            try await ann.succeed("provider set demo --remove-app 3")
            #expect(try await apps() == ["2"])
            try await ann.fail("provider set demo --remove-app 3", with: 66)
            try await ann.fail("provider set nobody --app-id 1 --secret-stdin", with: 66, input: "x")
            // A configuration needs no secret anew, stays when other apps change, and goes when it is empty.
            func configIDs(_ command: String) async throws -> [String?] {
                try await ann.json(command)["apps"]?.array?.map { $0.object?["configId"]?.string } ?? []
            }
            #expect(try await configIDs("provider set demo --app-id 2 --config-id 77") == ["77"])
            try await ann.succeed("provider set demo --app-id 4 --add --secret-stdin", input: "four")
            #expect(try await configIDs("provider set demo --app-id 4 --config-id 78") == ["77", "78"])
            #expect(try await configIDs("provider set demo --remove-app 4 --pkce off") == ["77"])
            let emptied = try await ann.run("provider set demo --app-id 2 --config-id", "")
            #expect(emptied.exitStatus == .exited(0), "\(emptied.standardError)")
            #expect(try await configIDs("provider show demo") == [nil])
            try await ann.fail("provider set demo --app-id 2 --config-id 7x", with: 65)
            try await ann.fail("provider set demo --config-id 7", with: 64)
            try await ann.fail("provider set demo --provider twitter --app-id 2 --config-id 7", with: 64)
            let changed = try await ann.json("provider set demo --disable --graph-version v24.0 --proof classic")
            #expect(changed["enabled"]?.bool == false && changed["proof"]?.string == "classic")
            #expect(changed["apps"]?.array?.first?.object?["appSecret"]?.object?["set"]?.bool == true)
            for wrong in ["--add", "--secret-stdin", "", "--enable --disable", "--proof modern"] {
                try await ann.fail("provider set demo \(wrong)", with: 64)
            }
        }
    }
}
