import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

/// An operator who works on a database by the command line.
struct CommandLineOperator: Sendable {
    /// The variables of the operator's shell.
    var environment: [String: String]

    init(database: TestDatabase) {
        environment = Deployment.environment(database: database)
        environment["USER"] = "tester"
    }

    /// Runs a command, its words separated by spaces.
    ///
    /// - Parameters:
    ///   - words: Such as `property list demo`.
    ///   - more: Further words, which may hold spaces.
    ///   - input: What standard input has.
    /// - Returns: The ended process.
    /// - Throws: When the command cannot be run to its end.
    func run(_ words: String, _ more: String..., input: String = "") async throws -> ManagedProcess {
        let arguments = words.split(separator: " ").map(String.init) + more
        guard !input.isEmpty else { return try await runFederation(arguments, environment: environment) }
        return try await Document.withFile(input) { file in
            try await TestSupport.run(
                "bash",
                ["-c", #"exec "$@" <"$INPUT""#, "bash", try PackageLayout.executable("federation")] + arguments,
                environment: environment.merging(["INPUT": file]) { _, new in new }
            )
        }
    }

    /// Runs a command that must succeed.
    ///
    /// - Returns: What it printed.
    @discardableResult
    func succeed(
        _ words: String,
        input: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let process = try await run(words, input: input)
        #expect(process.exitStatus == .exited(0), "\(words): \(process.standardError)", sourceLocation: sourceLocation)
        return process.standardOutput
    }

    /// Runs a command that must end with a code and print nothing but why.
    ///
    /// - Returns: What it said.
    @discardableResult
    func fail(
        _ words: String,
        with code: Int32,
        input: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let process = try await run(words, input: input)
        #expect(
            process.exitStatus == .exited(code),
            "\(words): \(process.standardOutput) \(process.standardError)",
            sourceLocation: sourceLocation
        )
        #expect(process.standardOutput == "", "\(words)", sourceLocation: sourceLocation)
        #expect(process.standardError != "", "\(words)", sourceLocation: sourceLocation)
        return process.standardError
    }

    /// Runs a command with `--json`, which must succeed and print one JSON object and nothing else.
    func json(
        _ words: String,
        input: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSONObject {
        let text = try await succeed(words + " --json", input: input, sourceLocation: sourceLocation)
        return try #require(JSON.object(text), "\(words): \(text)", sourceLocation: sourceLocation)
    }

    /// The elements of a list that a command prints with `--json`.
    func items(_ words: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> [JSONObject] {
        try await json(words, sourceLocation: sourceLocation)["items"]?.array?.compactMap(\.object) ?? []
    }
}
