import Administration
import ArgumentParser
import FoundationEssentials
import Providers
import Vocabulary

/// An application document in a file, or from standard input where `-` stands for one.
struct DocumentFile: Sendable {
    let path: String
    let document: ApplicationDocument

    /// Reads a document.
    ///
    /// - Throws: An exit code after saying everything that is wrong, each on a line with the file's name in front.
    init(_ path: String) throws {
        self.path = path
        let text = try InputFile.bytes(path)
        let kinds: ProviderKinds
        do { kinds = try .forDocuments() } catch { throw Exit.saying("federation: \(error)", Exit.software) }
        do { document = try ApplicationDocument(text: text, origin: .file, kinds: kinds) } catch {
            throw Self.saying(error, of: path)
        }
    }

    /// Hands the document to a use case that holds it against the database, with the environment that it takes secrets
    /// from.
    ///
    /// - Throws: An exit code after saying everything that is wrong, or what the use case throws.
    func plan(
        _ useCase: (ApplicationDocument, @escaping @Sendable (String) -> String?) async throws -> ApplicationPlan
    ) async throws -> ApplicationPlan {
        let environment = ProcessInfo.processInfo.environment
        do { return try await useCase(document, { environment[$0] }) } catch let problems as DocumentProblems {
            throw Self.saying(problems, of: path)
        }
    }

    private static func saying(_ problems: DocumentProblems, of path: String) -> ExitCode {
        let lines = problems.description.split(separator: "\n").map { "\(InputFile.name(path)): \($0)" }
        return Exit.saying(lines.joined(separator: "\n"), Exit.dataError)
    }
}

/// The document that a command takes.
struct DocumentArgument: ParsableArguments {
    @Argument(help: "An application document, or - for standard input.", completion: .file(extensions: ["json"]))
    var file: String
}

extension ApplicationPlan {
    /// Shows what is to be done.
    func show() throws {
        try ChangeLines(ofPlan: json).print()
        if !undeclared.isEmpty {
            let names = undeclared.map(\.text).joined(separator: ", ")
            Terminal.say("These properties are not in the document and stay: \(names)")
        }
        for warning in warnings { Terminal.say("warning: \(warning)") }
    }
}
