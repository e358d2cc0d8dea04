import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("The examples of the command line")
struct CommandLineExampleTests {
    /// Shell stubs of the other programs in the examples.
    private static let others = "pass() { echo secret; }; jq() { cat; }; export -f pass jq; set -o pipefail;"

    /// Runs an example in an empty folder without configuration.
    ///
    /// A correct command then ends with 78, or does not find a file.
    private func expectIsRight(_ example: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/federation-example-\(UUID())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let binary = try PackageLayout.executable("federation")
        let path = binary.split(separator: "/").dropLast().map { "/" + $0 }.joined()
        let process = try await run(
            "bash",
            ["-c", #"cd "$HOME" && PATH=$0:$PATH && eval "$1""#, path, Self.others + example],
            environment: ["HOME": folder]
        )
        #expect(
            [0, 65, 66, 78].map(ProcessEnd.exited).contains(process.exitStatus),
            "\(example): \(process.standardError)",
            sourceLocation: sourceLocation
        )
        for sign in ["Usage:", "Error:", "command not found", "syntax error"] {
            #expect(
                !process.standardError.contains(sign),
                "\(example): \(process.standardError)",
                sourceLocation: sourceLocation
            )
        }
    }

    /// Returns the lines to type, with continuations after a backslash joined.
    private func commands(in lines: some Sequence<Substring>) -> [String] {
        var commands: [String] = []
        var isOpen = false
        for line in lines {
            let text = line.drop { $0 == " " }
            if isOpen { commands[commands.count - 1] += "\n" + text } else { commands.append(String(text)) }
            isOpen = text.hasSuffix("\\")
        }
        return commands
    }

    @Test("every command that docs/cli.md shows is one")
    func page() async throws {
        let page = try String(contentsOfFile: PackageLayout.path("docs/cli.md"), encoding: .utf8)
        let blocks = page.split(separator: "```").filter { $0.hasPrefix("sh\n") }
        #expect(blocks.count > 15)
        for block in blocks {
            let lines = block.split(separator: "\n").dropFirst()
            // Commands that create a folder or set a variable belong to the lines after them.
            let isOneScript = lines.contains { $0.hasPrefix("mkdir") || $0.hasPrefix("export") }
            let examples = isOneScript ? [lines.joined(separator: "\n")] : commands(in: lines)
            for example in examples { try await expectIsRight(example) }
        }
    }

    @Test("every example in the help of a command is one")
    func help() async throws {
        let dump = try await runFederation(["--experimental-dump-help"], environment: [:])
        let root = try #require(JSON.object(dump.standardOutput)?["command"]?.object)
        // An example that names a database would change that database.
        let discussions = Self.discussions(of: root).filter { !$0.contains("FEDERATION_DATABASE_URL=postgres") }
        #expect(discussions.count > 30)
        for discussion in discussions {
            let lines = discussion.split(separator: "\n").drop { !$0.hasPrefix("Example") }.dropFirst()
            for example in commands(in: lines) { try await expectIsRight(example) }
        }
    }

    /// Returns the help texts of the commands below a command.
    private static func discussions(of command: JSONObject) -> [String] {
        (command["subcommands"]?.array ?? []).compactMap(\.object).flatMap { child in
            [child["discussion"]?.string].compactMap { $0 } + discussions(of: child)
        }
    }
}
