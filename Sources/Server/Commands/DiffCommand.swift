import Administration
import ArgumentParser
import Domain

struct DiffCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show the changes that a document would make.",
        discussion: """
            Lines begin with + for additions, - for removals and ~ for changes. Exits with 0 if there are no \
            differences, with 1 if there are, and with 64 or more on errors.

            Examples:
              federation diff mappings/demo.json
              federation diff mappings/demo.json --json
            """
    )

    @OptionGroup var document: DocumentArgument
    @OptionGroup var strictness: StrictOption
    @OptionGroup var output: OutputOptions

    var inputFiles: [String] { [document.file] }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let file = try DocumentFile(document.file)
        let plan = try await file.plan { try await administration.documents.plan($0, environment: $1) }
        if output.json {
            try output.print(plan.json)
            plan.sayWarnings()
        } else {
            try plan.show()
        }
        try strictness.check(plan.warnings)
        if !plan.changes.isEmpty { throw Exit.difference }
    }
}
