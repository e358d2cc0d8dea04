import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// An operator who works on a database by the command line.
struct CommandLineOperator: Sendable {
    var environment: [String: String]

    init(database: TestDatabase) {
        environment = Deployment.environment(database: database)
        environment["USER"] = "tester"
    }

    /// Runs a command whose words are separated by spaces.
    ///
    /// - Parameters:
    ///   - words: The words, such as `list applications/demo/properties`.
    ///   - more: Additional words, which may contain spaces.
    ///   - input: The standard input.
    /// - Returns: The ended process.
    /// - Throws: An error when the command cannot be run to its end.
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

    /// Runs a command and expects success.
    ///
    /// - Returns: The standard output.
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

    /// Runs a command and expects an exit code and no output but the error.
    ///
    /// - Returns: The error message.
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

    /// Runs a command with `--json` and expects success and exactly one JSON object.
    func json(
        _ words: String,
        input: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSONObject {
        let text = try await succeed(words + " --json", input: input, sourceLocation: sourceLocation)
        return try #require(JSON.object(text), "\(words): \(text)", sourceLocation: sourceLocation)
    }

    /// Returns the elements of a list that a command prints with `--json`.
    func items(_ words: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> [JSONObject] {
        try await json(words, sourceLocation: sourceLocation)["items"]?.array?.compactMap(\.object) ?? []
    }
}
