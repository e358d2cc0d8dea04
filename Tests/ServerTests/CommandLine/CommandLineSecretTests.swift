import Encodings
import FoundationEssentials
import Glibc
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("Secrets on the command line")
struct CommandLineSecretTests {
    private static let secret = "canary-typed-secret-0123456789"
    private static let provider = "applications/demo/providers/facebook"

    @Test(
        "a secret as an argument is refused with a sentence that says why, and is not repeated",
        arguments: [
            ["set", provider, "--secret", secret], ["set", provider, "--secret=\(secret)"],
            ["patch", provider, "--app-secret", secret], ["patch", provider, "--webhook-verify-token", secret],
            ["patch", provider, "webhookVerifyToken=\(secret)"],
            ["patch", provider, "webhookVerifyToken:=\"\(secret)\""],
            ["patch", provider, "apps.1.appSecret=\(secret)"], ["patch", provider, "appSecret=\(secret)"],
            ["set", "applications/demo/providers/twitter", "consumerSecret=\(secret)"],
            [
                "set", "applications/demo/providers/staff", "kind=twitter",
                #"apps:=[{"consumerKey":"1","consumerSecret":"\#(secret)"}]"#,
            ],
            ["patch", provider, #"apps=[{"appId":"1","appSecret":"\#(secret)"}]"#],
            ["set", provider, #"apps:=[{"appId":"1","appSecret":"\#(secret)"}]"#],
            ["patch", provider, #"apps.1={"appSecret":"\#(secret)"}"#],
            ["patch", provider, "apps={appSecret:\(secret)}"],
            ["set", "applications/demo/keys/ios", "--key", secret],
            ["set", "applications/demo/keys/ios", "--api-key=\(secret)"],
            ["set", "applications/demo/keys/ios", "key=\(secret)"],
            ["mapping", "preview", "demo", "--access-token", secret],
            ["mapping", "preview", "demo", "--token=\(secret)"],
        ]
    )
    func refused(arguments: [String]) async throws {
        // No variable of the configuration is set: the refusal comes before the configuration is read.
        let process = try await runFederation(arguments, environment: [:])
        #expect(process.exitStatus == .exited(64))
        #expect(process.standardError.contains("is refused: all users of this machine can read arguments"))
        #expect(process.standardError.contains("If the secret is in use, replace it."))
        let isPreview = arguments[0] == "mapping"
        for way in isPreview ? ["-stdin", "-file"] : ["=@FILE", "@-"] {
            #expect(process.standardError.contains(way), "\(process.standardError)")
        }
        #expect(!process.standardError.contains(Canary.mark))
    }

    /// Lends a database with the application `demo` without providers.
    private func withApplication(_ body: (CommandLineOperator, TestDatabase) async throws -> Void) async throws {
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            try await ann.succeed("set applications/demo")
            try await body(ann, database)
        }
    }

    @Test("what comes from a file or from standard input must be one line, with or without its line break")
    func lines() async throws {
        try await withApplication { ann, _ in
            for text in ["", "\n", "two\nlines", "a b", "umläut", "tab\t"] {
                try await Document.withFile(text) { file in
                    let said = try await ann.fail(
                        "set applications/demo/providers/facebook apps.1.appSecret=@\(file)",
                        with: 65
                    )
                    #expect(said.contains("apps.1.appSecret"), "\(said)")
                }
            }
            try await ann.fail("set applications/demo/providers/facebook apps.1.appSecret=@/does/not/exist", with: 66)
            try await ann.fail("set applications/demo/providers/facebook apps.1.appSecret=@-", with: 65)
            try await ann.fail("get applications/demo/providers/facebook", with: 66)
            for text in [Self.secret, Self.secret + "\n", Self.secret + "\r\n"] {
                try await ann.succeed("set applications/demo/providers/facebook apps.1.appSecret=@-", input: text)
            }
        }
    }

    @Test(
        "the verify token of the webhook comes from a file or from standard input, is shown as set, and its default removes it"
    )
    func verifyToken() async throws {
        try await withApplication { ann, database in
            try await Document.withFile(Self.secret + "\n") { file in
                try await ann.fail(
                    "set applications/demo/providers/facebook apps.1.appSecret=@- webhookVerifyToken=@-",
                    with: 64,
                    input: Self.secret
                )
                try await ann.fail("get applications/demo/providers/facebook", with: 66)
                try await ann.succeed(
                    "set applications/demo/providers/facebook apps.1.appSecret=@\(file) webhookVerifyToken=@-",
                    input: Self.secret
                )
                let shown = try await ann.succeed("get applications/demo/providers/facebook")
                #expect(shown.contains("webhookVerifyToken.set") && !shown.contains(Canary.mark), "\(shown)")
                let options = "select options ->> 'webhookVerifyToken' from federation.provider_settings"
                let encrypted = try await database.psql(options)
                try await ann.succeed(
                    "patch applications/demo/providers/facebook webhookVerifyToken=@\(file) proof=classic"
                )
                #expect(try await database.psql(options) == encrypted, "the same one is left as it is")
                try await ann.fail(
                    "patch applications/demo/providers/facebook webhookVerifyToken=@-",
                    with: 65,
                    input: "short"
                )
                let both = "patch applications/demo/providers/facebook webhookVerifyToken=@\(file) webhookVerifyToken="
                try await ann.fail(both, with: 64)
                try await ann.succeed("patch applications/demo/providers/facebook webhookVerifyToken=")
                #expect(
                    try await ann.json("get applications/demo/providers/facebook")["webhookVerifyToken"]?.isNull == true
                )
            }
        }
    }

    @Test("an option that is a secret comes from a file or from standard input, of any kind, and is no argument")
    func optionFile() async throws {
        try await withApplication { ann, database in
            let options = "select options ->> 'webhookVerifyToken' is null from federation.provider_settings"
            try await ann.succeed("set applications/demo/providers/facebook apps.1.appSecret=@-", input: Self.secret)
            let refused = try await ann.fail(
                "patch applications/demo/providers/facebook webhookVerifyToken=\(Self.secret)",
                with: 64
            )
            #expect(refused.contains("is refused: all users of this machine can read arguments"), "\(refused)")
            #expect(refused.contains("webhookVerifyToken=@FILE") && !refused.contains(Canary.mark))
            #expect(try await database.psql(options) == [["t"]])
            let apps = #"apps=[{"appId":"1","appSecret":"\#(Self.secret)"}]"#
            for option in ["knd=twitter", apps] {
                let said = try await ann.fail("patch applications/demo/providers/facebook \(option)", with: 64)
                #expect(!said.contains(Canary.mark), "\(said)")
            }
            try await Document.withFile(Self.secret + "\n") { file in
                try await ann.succeed("patch applications/demo/providers/facebook webhookVerifyToken=@\(file)")
                #expect(try await database.psql(options) == [["f"]])
                try await ann.succeed("patch applications/demo/providers/facebook webhookVerifyToken=")
                #expect(try await database.psql(options) == [["t"]])
                let twice = "set applications/demo/providers/facebook apps.1.appSecret=@- webhookVerifyToken=@-"
                try await ann.fail(twice, with: 64, input: Self.secret)
            }
            try await ann.succeed(
                "patch applications/demo/providers/facebook webhookVerifyToken=@-",
                input: Self.secret
            )
            #expect(try await database.psql(options) == [["f"]])
        }
    }

    @Test("a secret is typed without appearing on the screen, and Backspace and Ctrl-U correct it")
    func typed() async throws {
        try await withApplication { ann, _ in
            let simulator = try await SimulatorProcess.start()
            try await simulator.put(app: "1234567890", #"{"secret": "\#(Self.secret)"}"#)
            var ann = ann
            ann.environment["FEDERATION_GRAPH_URL"] = simulator.url
            let terminal = try await CommandLineTerminal.start(
                "set applications/demo/providers/facebook apps.1234567890.appSecret=@-",
                as: ann
            )
            try await terminal.waitFor("apps.1234567890.appSecret (is not shown)")
            #expect(!terminal.echoes)
            terminal.type("canary-mistake\u{15}\(Self.secret)x\u{7F}\n")
            let screen = try await terminal.end(with: .exited(0))
            #expect(terminal.echoes, "the terminal is as before")
            #expect(!screen.contains(Canary.mark), "\(screen)")
            try await ann.succeed("provider check demo")

            // A wrong secret is detected, and an unreachable Facebook is not reported as the operator's error.
            try await ann.succeed(
                "set applications/demo/providers/facebook apps.1234567890.appSecret=@-",
                input: "wrong"
            )
            let checked = try await ann.run("provider check demo")
            #expect(checked.exitStatus == .exited(65), "\(checked.standardOutput)")
            try await simulator.process.kill()
            let unasked = try await ann.run("provider check demo")
            #expect(unasked.exitStatus == .exited(69), "\(unasked.standardOutput)")
        }
    }

    @Test("a secret longer than a terminal's line arrives whole")
    func long() async throws {
        try await withApplication { ann, _ in
            let terminal = try await CommandLineTerminal.start("set applications/demo/keys/ios key=@-", as: ann)
            try await terminal.waitFor("key (is not shown)")
            // A terminal's own line buffer ends at 4095 bytes: a space beyond would be lost, and no error would occur.
            for _ in 0..<50 { terminal.type(String(repeating: "x", count: 100)) }
            terminal.type(" \n")
            let screen = try await terminal.end(with: .exited(65))
            #expect(screen.contains("without spaces") && !screen.contains("xxx"), "\(screen)")
        }
    }

    @Test("Ctrl-C while a secret is typed ends the command, and the terminal is as before")
    func interrupted() async throws {
        try await withApplication { ann, _ in
            let terminal = try await CommandLineTerminal.start(
                "set applications/demo/providers/facebook apps.1.appSecret=@-",
                as: ann
            )
            try await terminal.waitFor("apps.1.appSecret (is not shown)")
            terminal.type("canary\u{3}")
            let screen = try await terminal.end(with: .signalled(SIGINT))
            #expect(terminal.echoes)
            #expect(!screen.contains(Canary.mark))
            try await ann.fail("get applications/demo/providers/facebook", with: 66)
        }
    }

    @Test("rotating stores every secret under the new master key, and says what comes next")
    func rotation() async throws {
        try await withApplication { ann, _ in
            try await ann.succeed("set applications/demo/providers/facebook apps.1.appSecret=@-", input: Self.secret)
            var next = ann
            next.environment["FEDERATION_MASTER_KEY"] = Data("canary-other-key-of-32-bytes-!!!".utf8)
                .base64EncodedString()
            let stuck = try await next.fail("secrets rotate", with: 78)
            #expect(stuck.contains("FEDERATION_MASTER_KEY_PREVIOUS"), "\(stuck)")

            next.environment["FEDERATION_MASTER_KEY_PREVIOUS"] = ann.environment["FEDERATION_MASTER_KEY"]
            let rotated = try await next.run("secrets rotate")
            #expect(rotated.exitStatus == .exited(0))
            #expect(rotated.standardOutput.hasPrefix("1 secret"), "\(rotated.standardOutput)")
            #expect(rotated.standardError.contains("restart every instance without FEDERATION_MASTER_KEY_PREVIOUS"))
            next.environment["FEDERATION_MASTER_KEY_PREVIOUS"] = nil
            let status = try await next.json("secrets status")
            #expect(status["secrets"]?.array?.count == 1)
            #expect(status["secrets"]?.array?.first?.object?["known"]?.bool == true)
            let old = try await ann.json("secrets status")
            #expect(old["secrets"]?.array?.first?.object?["known"]?.bool == false)
        }
    }

    @Test("no secret is in the arguments of any process while it is stored")
    func processList() async throws {
        // A secret of this test's own: parallel tests give theirs as an argument.
        let secret = "canary-piped-secret-9876543210"
        try await withApplication { ann, _ in
            try await Document.withFile(secret) { file in
                let process = try await ManagedProcess.start(
                    "bash",
                    ["-c", #"exec "$0" set applications/demo/providers/facebook apps.1.appSecret=@- <"$1""#]
                        + [try PackageLayout.executable("federation"), file],
                    environment: ann.environment
                )
                var seen = false
                while process.isRunning {
                    for arguments in Self.processArguments() {
                        #expect(!arguments.contains(secret), "\(arguments)")
                        if arguments.contains("federation\0set\0applications/demo/providers/facebook") { seen = true }
                    }
                    await Task.yield()
                }
                #expect(try await process.waitForExit() == .exited(0), "\(process.standardError)")
                #expect(seen, "the command was looked at while it ran")
                #expect(!process.standardOutput.contains(secret) && !process.standardError.contains(secret))
            }
        }
    }

    /// Returns the arguments of every process, each ended by a zero byte, as `ps` shows them.
    private static func processArguments() -> [String] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.filter { $0.allSatisfy(\.isNumber) }.compactMap { id in
            (try? Data(contentsOf: URL(filePath: "/proc/\(id)/cmdline"))).map { String(decoding: $0, as: UTF8.self) }
        }
    }
}
