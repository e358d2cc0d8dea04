import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("The command line explains itself")
struct CommandLineHelpTests {
    /// A command without subcommands, as in the program's own description.
    private struct Command: CustomTestStringConvertible {
        let words: [String]
        let discussion: String
        let options: [String]

        var testDescription: String { words.joined(separator: " ") }
    }

    private func commands() async throws -> [Command] {
        let dump = try await runFederation(["--experimental-dump-help"], environment: [:])
        let root = try #require(JSON.object(dump.standardOutput)?["command"]?.object)
        return Self.leaves(of: root, below: [])
    }

    private static func leaves(of command: JSONObject, below words: [String]) -> [Command] {
        let children = (command["subcommands"]?.array ?? []).compactMap(\.object).filter {
            $0["commandName"]?.string != "help"
        }
        guard children.isEmpty else {
            return children.flatMap { leaves(of: $0, below: words + [$0["commandName"]?.string ?? "?"]) }
        }
        let arguments = (command["arguments"]?.array ?? []).compactMap(\.object)
        return [
            Command(
                words: words,
                discussion: command["discussion"]?.string ?? "",
                options: arguments.compactMap { $0["preferredName"]?.object?["name"]?.string }
            )
        ]
    }

    /// The commands that issue and design promise; this test notices a lost command.
    private static let promised = """
        serve migrate doctor init check diff apply export schema adopt logins
        get list set patch delete
        provider: check
        property: index
        mapping: diff rollback preview
        identity: import
        import: check
        user: duplicates merge unmerge create refresh unlink export erase import
        invitation: send
        console
        secrets: status rotate register
        token-key: rotate
        mail: test
        """

    @Test("every promised command is there")
    func promised() async throws {
        let promised = Self.promised.split(separator: "\n").flatMap { line -> [String] in
            let parts = line.split(separator: ":")
            let names = parts[parts.count - 1].split(separator: " ").map(String.init)
            return parts.count == 1 ? names : names.map { "\(parts[0]) \($0)" }
        }
        let found = try await commands().map { $0.words.joined(separator: " ") }
        #expect(found.sorted() == promised.sorted())
    }

    @Test("the help of every command succeeds and shows how it is used, on lines that fit a terminal")
    func examples() async throws {
        for command in try await commands() {
            let help = try await runFederation(command.words + ["--help"], environment: [:])
            #expect(help.exitStatus == .exited(0), "\(command.testDescription)")
            #expect(help.standardError == "", "\(command.testDescription)")
            let name = "federation " + command.words.joined(separator: " ")
            let example = command.discussion.split(separator: "Example").last.map(String.init) ?? ""
            #expect(command.discussion.contains("Example") && example.contains(name), "\(name)")
            for line in command.discussion.split(separator: "\n") where line.hasPrefix("  ") {
                #expect(line.count <= 80, "wrapped in the middle: \(line)")
            }
        }
    }

    @Test("every command that prints what a use case answers prints it as JSON, too")
    func json() async throws {
        // These print no result of a use case, or always print JSON.
        let without = [
            "serve", "migrate", "init", "check", "export", "schema", "adopt", "user export", "secrets rotate",
            "secrets register", "delete", "user unlink", "mail test",
        ]
        for command in try await commands() {
            let name = command.words.joined(separator: " ")
            #expect(command.options.contains("json") != without.contains(name), "\(name)")
        }
    }

    @Test("the page of help names every exit code, the groups of commands, and what must be set")
    func page() async throws {
        let help = try await runFederation(["--help"], environment: [:]).standardOutput
        for part in [
            "FEDERATION_DATABASE_URL", "FEDERATION_MASTER_KEY", "EXIT CODES", "ENVIRONMENT", "COMPLETION",
            "DOCUMENT SUBCOMMANDS", "USER SUBCOMMANDS",
        ]
            + ["0", "1", "64", "65", "66", "69", "70", "73", "74", "78"].map({
                "\n  \($0.count == 1 ? " " : "")\($0)  "
            })
        {
            #expect(help.contains(part), "\(part)")
        }
    }

    @Test(
        "the shells' completions know the commands and the words of their options",
        arguments: ["bash", "zsh", "fish"]
    )
    func completions(shell: String) async throws {
        let script = try await runFederation(["--generate-completion-script", shell], environment: [:])
        #expect(script.exitStatus == .exited(0))
        for word in ["rollback", "clientMappable", "viewer", "DATETIME", "classic", "hostNames", "operators/{name}"] {
            #expect(script.standardOutput.contains(word), "\(word)")
        }
        // Options that exist only to explain their refusal are not offered.
        #expect(!script.standardOutput.contains("app-secret") && !script.standardOutput.contains("api-key"))
    }

    @Test("bash completes commands, options and their words")
    func bash() async throws {
        let script = """
            eval "$("$0" --generate-completion-script bash)"
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
            _federation federation "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let expected: [([String], Swift.Set<String>)] = [
            (["prov"], ["provider"]),
            (["set", "operators/ann", "role="], ["role=viewer", "role=editor", "role=owner"]),
            (["set", "applications/demo/properties/day", "type=DATE"], ["type=DATE", "type=DATETIME"]),
            (["secrets", "r"], ["rotate", "register"]),
        ]
        for (words, completions) in expected {
            let completed = try await run(
                "bash",
                ["-c", script, try PackageLayout.executable("federation"), "federation"] + words
            )
            let offered = Swift.Set(completed.standardOutput.split(separator: "\n").map(String.init))
            #expect(offered == completions, "\(words): \(completed.standardError)")
        }
    }
}
