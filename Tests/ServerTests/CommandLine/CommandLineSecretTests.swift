import FoundationEssentials
import Glibc
import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

@Suite("Secrets on the command line")
struct CommandLineSecretTests {
    private static let secret = "canary-typed-secret-0123456789"

    @Test(
        "a secret as an argument is refused with a sentence that says why, and is not repeated",
        arguments: [
            ["provider", "set", "demo", "--app-id", "1", "--secret", secret],
            ["provider", "set", "demo", "--app-id", "1", "--secret=\(secret)"],
            ["provider", "set", "demo", "--app-id", "1", "--app-secret", secret],
            ["provider", "set", "demo", "--webhook-verify-token", secret],
            ["provider", "set", "demo", "--option", #"apps=[{"appId":"1","appSecret":"\#(secret)"}]"#],
            ["key", "create", "demo", "ios", "--key", secret], ["key", "create", "demo", "ios", "--api-key=\(secret)"],
            ["mapping", "preview", "demo", "--access-token", secret],
            ["mapping", "preview", "demo", "--token=\(secret)"],
        ]
    )
    func refused(arguments: [String]) async throws {
        let process = try await runFederation(arguments, environment: [:])
        #expect(process.exitStatus == .exited(64))
        #expect(process.standardError.contains("is refused: an argument can be read by everybody"))
        #expect(process.standardError.contains("-stdin") && process.standardError.contains("-file"))
        #expect(!process.standardError.contains(Canary.mark))
    }

    /// A database with the application `demo`, which has no provider yet.
    private func withApplication(_ body: (CommandLineOperator, TestDatabase) async throws -> Void) async throws {
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            try await ann.succeed("application create demo")
            try await body(ann, database)
        }
    }

    @Test("what comes from a file or from standard input must be one line, with or without its line break")
    func lines() async throws {
        try await withApplication { ann, _ in
            for text in ["", "\n", "two\nlines", "a b", "umläut", "tab\t"] {
                try await Document.withFile(text) { file in
                    let said = try await ann.fail("provider set demo --app-id 1 --secret-file \(file)", with: 65)
                    #expect(said.contains("The app secret of 1"), "\(said)")
                }
            }
            try await ann.fail("provider set demo --app-id 1 --secret-file /does/not/exist", with: 66)
            try await ann.fail("provider set demo --app-id 1 --secret-stdin", with: 65)
            let said = try await ann.fail("provider set demo --app-id 1", with: 64)
            #expect(said.contains("--secret-file or --secret-stdin"), "\(said)")
            try await ann.fail("provider show demo", with: 66)
            for text in [Self.secret, Self.secret + "\n", Self.secret + "\r\n"] {
                try await ann.succeed("provider set demo --app-id 1 --secret-stdin", input: text)
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
                    "provider set demo --app-id 1 --secret-stdin --webhook-verify-token-stdin",
                    with: 64,
                    input: Self.secret
                )
                try await ann.fail("provider show demo", with: 66)
                try await ann.succeed(
                    "provider set demo --app-id 1 --secret-file \(file) --webhook-verify-token-stdin",
                    input: Self.secret
                )
                let shown = try await ann.succeed("provider show demo")
                #expect(shown.contains("webhookVerifyToken.set") && !shown.contains(Canary.mark), "\(shown)")
                let options = "select options ->> 'webhookVerifyToken' from federation.provider_settings"
                let sealed = try await database.psql(options)
                try await ann.succeed("provider set demo --webhook-verify-token-file \(file) --proof classic")
                #expect(try await database.psql(options) == sealed, "the same one is left as it is")
                try await ann.fail("provider set demo --webhook-verify-token-stdin", with: 65, input: "short")
                let both = "provider set demo --webhook-verify-token-file \(file) --default webhookVerifyToken"
                try await ann.fail(both, with: 64)
                try await ann.succeed("provider set demo --default webhookVerifyToken")
                #expect(try await ann.json("provider show demo")["webhookVerifyToken"]?.isNull == true)
            }
        }
    }

    @Test("an option that is a secret comes from a file or from standard input, of any kind, and is no argument")
    func optionFile() async throws {
        try await withApplication { ann, database in
            let options = "select options ->> 'webhookVerifyToken' is null from federation.provider_settings"
            try await ann.succeed("provider set demo --app-id 1 --secret-stdin", input: Self.secret)
            let refused = try await ann.fail("provider set demo --option webhookVerifyToken=\(Self.secret)", with: 64)
            #expect(refused.contains("is refused: an argument can be read by everybody"), "\(refused)")
            #expect(refused.contains("--option-file webhookVerifyToken=FILE") && !refused.contains(Canary.mark))
            #expect(try await database.psql(options) == [["t"]])
            for (option, other) in [("kind=twitter", "--kind"), ("enabled=false", "--enable or --disable")] {
                let said = try await ann.fail("provider set demo --option \(option)", with: 64)
                #expect(said.contains("give \(other)"), "\(said)")
            }
            try await Document.withFile(Self.secret + "\n") { file in
                try await ann.succeed("provider set demo --option-file webhookVerifyToken=\(file)")
                #expect(try await database.psql(options) == [["f"]])
                try await ann.succeed("provider set demo --option webhookVerifyToken=null")
                #expect(try await database.psql(options) == [["t"]])
                let twice = "provider set demo --app-id 1 --secret-stdin --option-file webhookVerifyToken=-"
                try await ann.fail(twice, with: 64, input: Self.secret)
            }
            try await ann.succeed("provider set demo --option-file webhookVerifyToken=-", input: Self.secret)
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
            let terminal = try await CommandLineTerminal.start("provider set demo --app-id 1234567890", as: ann)
            try await terminal.waitFor("The app secret of 1234567890")
            #expect(!terminal.echoes)
            terminal.type("canary-mistake\u{15}\(Self.secret)x\u{7F}\n")
            let screen = try await terminal.end(with: .exited(0))
            #expect(terminal.echoes, "the terminal is as before")
            #expect(!screen.contains(Canary.mark), "\(screen)")
            try await ann.succeed("provider check demo")

            // One that Facebook does not know is found out, and one that cannot be asked is not the operator's fault.
            try await ann.succeed("provider set demo --app-id 1234567890 --secret-stdin", input: "wrong")
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
            let terminal = try await CommandLineTerminal.start("key create demo ios --key-stdin", as: ann)
            try await terminal.waitFor("The API key")
            // A terminal's own line ends at 4095 bytes; behind that end a space would be lost, and nobody would
            // complain.
            for _ in 0..<50 { terminal.type(String(repeating: "x", count: 100)) }
            terminal.type(" \n")
            let screen = try await terminal.end(with: .exited(65))
            #expect(screen.contains("without spaces") && !screen.contains("xxx"), "\(screen)")
        }
    }

    @Test("Ctrl-C while a secret is typed ends the command, and the terminal is as before")
    func interrupted() async throws {
        try await withApplication { ann, _ in
            let terminal = try await CommandLineTerminal.start("provider set demo --app-id 1", as: ann)
            try await terminal.waitFor("The app secret of 1")
            terminal.type("canary\u{3}")
            let screen = try await terminal.end(with: .signalled(SIGINT))
            #expect(terminal.echoes)
            #expect(!screen.contains(Canary.mark))
            try await ann.fail("provider show demo", with: 66)
        }
    }

    @Test("rotating stores every secret under the new master key, and says what comes next")
    func rotation() async throws {
        try await withApplication { ann, _ in
            try await ann.succeed("provider set demo --app-id 1 --secret-stdin", input: Self.secret)
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
        // Another one than that of the tests beside this one, which give theirs as an argument.
        let secret = "canary-piped-secret-9876543210"
        try await withApplication { ann, _ in
            try await Document.withFile(secret) { file in
                let process = try await ManagedProcess.start(
                    "bash",
                    ["-c", #"exec "$0" provider set demo --app-id 1 --secret-stdin <"$1""#]
                        + [try PackageLayout.executable("federation"), file],
                    environment: ann.environment
                )
                var seen = false
                while process.isRunning {
                    for arguments in Self.processArguments() {
                        #expect(!arguments.contains(secret), "\(arguments)")
                        if arguments.contains("federation\0provider\0set\0demo") { seen = true }
                    }
                    await Task.yield()
                }
                #expect(try await process.waitForExit() == .exited(0), "\(process.standardError)")
                #expect(seen, "the command was looked at while it ran")
                #expect(!process.standardOutput.contains(secret) && !process.standardError.contains(secret))
            }
        }
    }

    /// What `ps` shows: the arguments of every process, each ended by a zero byte.
    private static func processArguments() -> [String] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.filter { $0.allSatisfy(\.isNumber) }.compactMap { id in
            (try? Data(contentsOf: URL(filePath: "/proc/\(id)/cmdline"))).map { String(decoding: $0, as: UTF8.self) }
        }
    }
}
