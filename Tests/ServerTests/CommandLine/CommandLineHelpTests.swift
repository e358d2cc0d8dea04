import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

@Suite("The command line explains itself")
struct CommandLineHelpTests {
    /// A command without subcommands, as the program describes it.
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

    /// What issue and design promise; a command that is lost shows here.
    private static let promised = """
        serve migrate doctor init check diff apply export adopt audit logins
        application: list show create set delete
        key: list create label revoke
        provider: show set check remove
        property: list declare change index remove
        mapping: show put revisions diff rollback preview
        user: search show create refresh disable enable unlink export erase import
        user factor: list remove
        session: list end
        invitation: create list show send revoke
        ban: list lift
        operator: create list show role token revoke-token remove
        operator factor: list remove
        console
        secrets: status rotate register
        token-key: list rotate
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
        // These print no result of a use case, or print JSON always.
        let without = [
            "serve", "migrate", "init", "check", "export", "adopt", "user export", "secrets rotate", "secrets register",
            "application delete",
            "key revoke", "user factor remove", "operator factor remove",
            "provider remove", "property remove", "user unlink", "session end", "invitation revoke", "ban lift",
            "operator remove", "operator revoke-token", "mail test",
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
        for word in ["revoke-token", "rollback", "client-mappable", "viewer", "DATETIME", "classic", "hostNames"] {
            #expect(script.standardOutput.contains(word), "\(word)")
        }
        // An option that only explains why it is refused is offered to nobody.
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
            (["prov"], ["provider"]), (["operator", "create", "ann", "--role", ""], ["viewer", "editor", "owner"]),
            (["property", "declare", "demo", "day", "DATE"], ["DATE", "DATETIME"]),
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
