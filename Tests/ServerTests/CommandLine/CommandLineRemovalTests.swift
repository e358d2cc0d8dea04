import Encodings
import Testing
import TestSupport

@Suite("Removing on the command line")
struct CommandLineRemovalTests {
    private func withApplication(_ body: (CommandLineOperator) async throws -> Void) async throws {
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            try await ann.succeed("set applications/demo")
            try await ann.succeed("set applications/demo/keys/ios")
            try await ann.succeed("set applications/demo/properties/city type=STRING")
            try await ann.succeed(
                "set applications/demo/providers/facebook apps.1.appSecret=@-",
                input: "canary-secret"
            )
            try await ann.succeed("set operators/bob role=viewer")
            try await body(ann)
        }
    }

    @Test("where nobody can be asked, the name must be given once more, exactly")
    func confirmation() async throws {
        try await withApplication { ann in
            let removals = [
                ("delete applications/demo/keys/ios", "ios"), ("delete applications/demo/properties/city", "city"),
                ("delete applications/demo/providers/facebook", "facebook"),
                ("delete operators/bob", "bob"), ("delete applications/demo", "demo"),
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
            #expect(try await ann.items("list applications/demo/keys").count == 1)
            #expect(try await ann.items("list operators").count == 1)
            #expect(try await ann.items("list applications/demo/properties").count == 3)
            for (command, name) in removals { try await ann.succeed("\(command) --confirm \(name)") }
            #expect(try await ann.items("list applications").isEmpty)
            #expect(try await ann.items("list operators").isEmpty)
            for (command, name) in removals { try await ann.fail("\(command) --confirm \(name)", with: 66) }
        }
    }

    @Test("on a terminal the name is asked for")
    func question() async throws {
        try await withApplication { ann in
            for (answer, status) in [("yes\n", 64), ("\n", 64), ("\u{4}", 64), ("demo\n", 0)] as [(String, Int32)] {
                let terminal = try await CommandLineTerminal.start("delete applications/demo", as: ann)
                try await terminal.waitFor("Type demo to confirm:")
                #expect(try await ann.items("list applications").count == 1)
                terminal.type(answer)
                let screen = try await terminal.end(with: .exited(status))
                #expect(screen.contains("all its users") && terminal.echoes)
            }
            #expect(try await ann.items("list applications").isEmpty)
        }
    }

    @Test("--if-match lets a change happen to what was seen only")
    func precondition() async throws {
        try await withApplication { ann in
            let shown = try await ann.succeed("get applications/demo")
            let tag = try #require(shown.split(whereSeparator: \.isWhitespace).last)
            try await ann.succeed("patch applications/demo name=New --if-match \(tag)")
            for command in [
                "patch applications/demo name=Newer", "delete applications/demo/keys/ios --confirm ios",
                "patch applications/demo/keys/ios label=web",
                "patch applications/demo/providers/facebook enabled=false",
                "patch applications/demo/properties/city name=town",
                "delete applications/demo --confirm demo",
            ] {
                let said = try await ann.fail("\(command) --if-match \(tag)", with: 65)
                #expect(said.contains("Another operator changed this"), "\(said)")
            }
            #expect(try await ann.json("get applications/demo")["name"]?.string == "New")
        }
    }

    @Test("Facebook apps are added, replaced and removed one by one, the others keep their secrets")
    func providerApps() async throws {
        try await withApplication { ann in
            func apps() async throws -> [String] {
                (try await ann.json("get applications/demo/providers/facebook")["apps"]?.array ?? []).compactMap {
                    $0.object?["appId"]?.string
                }
            }
            try await ann.succeed("patch applications/demo/providers/facebook apps.2.appSecret=@-", input: "two")
            #expect(try await apps() == ["1", "2"])
            try await ann.succeed(
                "patch applications/demo/providers/facebook apps.1= apps.3.appSecret=@-",
                input: "three"
            )
            #expect(try await apps() == ["2", "3"])
            try await ann.succeed("patch applications/demo/providers/facebook apps.3=")
            #expect(try await apps() == ["2"])
            try await ann.fail("patch applications/demo/providers/facebook apps.3=", with: 66)
            try await ann.fail("set applications/nobody/providers/facebook apps.1.appSecret=@-", with: 66, input: "x")
            // A configuration id needs no secret, stays when other apps change, and is removed by an empty value.
            func configIDs(_ command: String) async throws -> [String?] {
                try await ann.json(command)["apps"]?.array?.map { $0.object?["configId"]?.string } ?? []
            }
            #expect(try await configIDs("patch applications/demo/providers/facebook apps.2.configId=77") == ["77"])
            try await ann.succeed("patch applications/demo/providers/facebook apps.4.appSecret=@-", input: "four")
            #expect(
                try await configIDs("patch applications/demo/providers/facebook apps.4.configId=78") == ["77", "78"]
            )
            #expect(try await configIDs("patch applications/demo/providers/facebook apps.4= pkce=off") == ["77"])
            #expect(try await configIDs("patch applications/demo/providers/facebook apps.2.configId=") == [nil])
            try await ann.fail("patch applications/demo/providers/facebook apps.2.configId=7x", with: 65)
            try await ann.fail("patch applications/demo/providers/facebook configId=7", with: 64)
            try await ann.fail("patch applications/demo/providers/twitter apps.2.configId=7", with: 64)
            let changed = try await ann.json(
                "patch applications/demo/providers/facebook enabled=false graphVersion=v24.0 proof=classic"
            )
            #expect(changed["enabled"]?.bool == false && changed["proof"]?.string == "classic")
            #expect(changed["apps"]?.array?.first?.object?["appSecret"]?.object?["set"]?.bool == true)
            for wrong in [
                "--add", "", "enabled=true enabled=false", "proof=modern", "prof=classic", "apps.2.appId=3",
                "apps..configId=7",
            ] {
                try await ann.fail("patch applications/demo/providers/facebook \(wrong)", with: 64)
            }
        }
    }
}
