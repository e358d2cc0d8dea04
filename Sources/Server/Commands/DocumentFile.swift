import Administration
import ArgumentParser
import Description
import Domain
import FoundationEssentials
import Mapping
import Providers

/// An application document from a file, or from standard input for `-`.
struct DocumentFile: Sendable {
    let path: String
    let document: ApplicationDocument

    /// Reads a document.
    ///
    /// - Throws: An exit code after printing every problem, each on a line that begins with the file's name.
    init(_ path: String) throws {
        self.path = path
        let text = try InputFile.bytes(path)
        let kinds: ProviderKinds
        do { kinds = try .forDocuments() } catch { throw Exit.saying("federation: \(error)", Exit.software) }
        do { document = try ApplicationDocument(text: text, origin: .file, kinds: kinds) } catch {
            throw Self.saying(error, of: path)
        }
    }

    /// Passes the document to an operation of the administration, which returns the changes that the document would
    /// make.
    ///
    /// The operation compares the document with the database, and reads the document's secrets from environment
    /// variables.
    ///
    /// - Throws: An exit code after printing every problem, or what the operation throws.
    func plan(
        _ useCase: (ApplicationDocument, @escaping @Sendable (String) -> String?) async throws -> ApplicationPlan
    ) async throws -> ApplicationPlan {
        let environment = ProcessInfo.processInfo.environment
        do { return try await useCase(document, { environment[$0] }) } catch let problems as DocumentProblems {
            throw Self.saying(problems, of: path)
        }
    }

    /// Asks the providers whether they have the profile fields that the document's mappings read.
    ///
    /// - Throws: An exit code after printing the missing fields, or what the administration throws.
    func checkFields(
        _ useCase: (ApplicationDocument, @escaping @Sendable (String) -> String?) async throws
            -> [(title: String, check: FieldCheck)]
    ) async throws {
        let environment = ProcessInfo.processInfo.environment
        var problems: [String] = []
        for (title, check) in try await useCase(document, { environment[$0] }) {
            switch check {
            case .asked(let found) where found.isEmpty:
                try Terminal.report("\(InputFile.name(path)): \(title) has all fields of its mapping")
            case .asked(let found): problems += found.map { "\(InputFile.name(path)): \($0.message)" }
            case .notAsked(let reason):
                try Terminal.report("\(InputFile.name(path)): fields were not checked: \(reason)")
            }
        }
        guard problems.isEmpty else { throw Exit.saying(problems.joined(separator: "\n"), Exit.dataError) }
    }

    private static func saying(_ problems: DocumentProblems, of path: String) -> ExitCode {
        let lines = problems.description.split(separator: "\n").map { "\(InputFile.name(path)): \($0)" }
        return Exit.saying(lines.joined(separator: "\n"), Exit.dataError)
    }
}

/// The command-line argument that names an application document.
struct DocumentArgument: ParsableArguments {
    @Argument(help: "An application document, or - for standard input.", completion: .file(extensions: ["json"]))
    var file: String
}

/// The option that makes warnings errors.
struct StrictOption: ParsableArguments {
    @Flag(help: "Treat warnings as errors, such as a field that the provider is not known to have.")
    var strict = false

    /// Ends the command with an error if it runs with `--strict` and there are warnings, which it has already printed.
    func check(_ warnings: [String]) throws {
        guard strict, !warnings.isEmpty else { return }
        throw Exit.saying("federation: with --strict, warnings are errors; nothing was changed", Exit.dataError)
    }
}

extension ApplicationPlan {
    /// Prints the planned changes.
    func show() throws {
        try ChangeLines(ofPlan: json).print()
        if !undeclared.isEmpty {
            let names = undeclared.map(\.text).joined(separator: ", ")
            Terminal.say("These properties are not in the document and are kept: \(names)")
        }
        sayWarnings()
    }

    /// Prints the warnings to standard error.
    func sayWarnings() {
        for warning in warnings { Terminal.say("warning: \(warning)") }
    }
}
