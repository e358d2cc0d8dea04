import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("Resources on the command line")
struct CommandLineResourceTests {
    private static let provider = "applications/demo/providers/facebook"

    private func withApplication(_ body: (CommandLineOperator) async throws -> Void) async throws {
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            try await ann.succeed("set applications/demo")
            try await body(ann)
        }
    }

    @Test(
        "a path that there is not ends with 64 and the nearest one, and a verb that a path lacks with those it has",
        arguments: [
            ("list applicatons", "did you mean applications?"),
            ("delete applications/demo/kys/ios", "did you mean applications/demo/keys/ios?"),
            ("get nowhere/at/all", "federation get --help lists the paths"),
            ("get applications", "federation list applications"),
            ("list applications/demo", "federation get applications/demo"),
            ("set applications/demo/users email=a@b.example", "federation list applications/demo/users"),
            ("get operator", "Unknown path operator"), ("get applications/demo/document", "Unknown path"),
            ("patch applications/demo settings.sesionIdleSeconds=7d", "did you mean settings.sessionIdleSeconds?"),
            ("patch applications/demo settings.multipleLogins=maybe", "must be true or false"),
            ("list audit acter=ann", "did you mean actor?"), ("set operators/ann", "role=VALUE is needed"),
            ("set applications/demo/keys/ios label=web", "The path already gives label"),
            ("set applications/demo document.json name=Demo", "Give a file or NAME=VALUE"),
            ("set applications/demo --if-match a", "has no tag"),
            ("delete operators/ann/factors/1 --if-match a", "has no tag"),
            ("list applications/demo/keys --cursor a", "has no pages"),
        ]
    )
    func wrong(command: String, text: String) async throws {
        let process = try await runFederation(command.split(separator: " ").map(String.init), environment: [:])
        #expect(process.exitStatus == .exited(64))
        #expect(process.standardError.contains(text), "\(process.standardError)")
    }

    @Test("help behind a path tells what the path takes")
    func help() async throws {
        for (command, words) in [
            ("patch applications/demo", ["settings.lockout.failures", "settings.sessionIdleSeconds"]),
            ("set \(Self.provider)", ["apps.{appId}.appSecret", "(timed or classic)"]),
            ("set applications/demo/providers/twitter", ["apps.{consumerKey}.consumerSecret"]),
            ("list audit", ["since"]), ("set operators/ann", ["expiresInSeconds"]),
        ] {
            let arguments = command.split(separator: " ").map(String.init) + ["--help"]
            let help = try await runFederation(arguments, environment: [:])
            #expect(help.exitStatus == .exited(0) && help.standardError == "", "\(command)")
            for word in words { #expect(help.standardOutput.contains(word), "\(help.standardOutput)") }
            #expect(help.standardOutput.split(separator: "\n").allSatisfy { $0.count <= 80 || !$0.hasPrefix("  ") })
        }
    }

    @Test("an empty value is the default: for a member, for an object, and where something is made")
    func defaults() async throws {
        try await withApplication { ann in
            func lock(_ command: String) async throws -> JSONObject? {
                try await ann.json(command)["settings"]?.object?["lockout"]?.object
            }
            let usual = try #require(try await lock("get applications/demo"))
            let changed = try await lock(
                "patch applications/demo settings.lockout.failures=7 settings.lockout.seconds=11m"
            )
            #expect(changed?["failures"]?.integer == 7 && changed?["seconds"]?.integer == 660)
            #expect(try await lock("patch applications/demo settings.lockout.failures=")?["seconds"]?.integer == 660)
            #expect(try await lock("patch applications/demo settings.lockout=") == usual)
            #expect(
                try await lock("set applications/other name=Other settings.lockout= settings.sessionIdleSeconds=")
                    == usual
            )
            let roles = try await ann.json("patch applications/demo settings.roles:=[\"A\",\"B\"]")
            #expect(roles["settings"]?.object?["roles"]?.array == [.string("A"), .string("B")])
        }
    }

    @Test("a file is read for a secret alone, and a secret on a terminal is typed unseen")
    func files() async throws {
        try await withApplication { ann in
            try await ann.succeed("set \(Self.provider) apps.1.appSecret=@-", input: "canary-secret")
            let refused = try await ann.fail("patch \(Self.provider) graphVersion=@/does/not/exist", with: 65)
            #expect(refused.contains("/graphVersion"), "\(refused)")
            let terminal = try await CommandLineTerminal.start(
                "patch \(Self.provider) webhookVerifyToken=@-",
                as: ann
            )
            try await terminal.waitFor("webhookVerifyToken (is not shown)")
            #expect(!terminal.echoes)
            terminal.type("canary-verify-token-0123\n")
            let screen = try await terminal.end(with: .exited(0))
            #expect(!screen.contains("canary-verify"), "\(screen)")
            let shown = try await ann.json("get \(Self.provider)")
            #expect(shown["webhookVerifyToken"]?.object?["set"]?.bool == true)
        }
    }

    @Test("what takes elements of a list away by not naming them is confirmed, and what is all of something is")
    func losses() async throws {
        try await withApplication { ann in
            try await ann.succeed("set \(Self.provider) apps.1.appSecret=@-", input: "canary-secret")
            try await ann.succeed("patch \(Self.provider) apps.2.appSecret=@-", input: "canary-secret")
            for command in ["enabled=false", "apps.2.appSecret=@-"] {
                let refused = try await ann.run("set \(Self.provider) \(command)", input: "canary-secret")
                #expect(refused.exitStatus != .exited(0) && refused.standardError.contains("--confirm facebook"))
                #expect(refused.standardError.contains("apps.1"), "\(refused.standardError)")
            }
            func apps() async throws -> [String?]? {
                try await ann.json("get \(Self.provider)")["apps"]?.array?.map { $0.object?["appId"]?.string }
            }
            #expect(try await apps() == ["1", "2"])
            try await ann.succeed("set \(Self.provider) enabled=false --confirm facebook")
            #expect(try await apps() == [])
            for path in ["operators/eve/factors", "applications/demo/users/1A2B/factors"] {
                let refused = try await ann.run("delete \(path)")
                #expect(refused.standardError.contains("all second factors"), "\(refused.standardError)")
            }
        }
    }

    @Test("a key that is made is printed alone, one that is given is not")
    func keys() async throws {
        try await withApplication { ann in
            let made = try await ann.succeed("set applications/demo/keys/a%20b%2Fc server=true")
            #expect(made.split(separator: "\n").count == 1 && made.utf8.count >= 17)
            let given = try await ann.run("set applications/demo/keys/ios key=@-", input: Canary.apiKey)
            #expect(given.exitStatus == .exited(0), "\(given.standardError)")
            #expect(!(given.standardOutput + given.standardError).contains(Canary.apiKey))
            let keys = try await ann.items("list applications/demo/keys")
            #expect(keys.compactMap { $0["label"]?.string }.sorted() == ["a b/c", "ios"])
            try await ann.succeed("patch applications/demo/keys/a%20b%2Fc label=web")
            #expect(try await ann.succeed("delete applications/demo/keys/web --confirm web").contains("is removed"))
            let audited = try await ann.items("list audit application=demo since=1h")
            #expect(audited.count { $0["actor"]?.string?.hasPrefix("cli:") == true } == audited.count)
            #expect(audited.first?["action"]?.string == "key.revoke")
        }
    }
}
