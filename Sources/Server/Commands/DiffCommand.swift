import Administration
import ArgumentParser
import Domain

struct DiffCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show what applying a document would change.",
        discussion: """
            Lines begin with + for what comes, - for what goes, ~ for what changes. Ends with 0 when the database is what the \
            document says, with 1 when something differs, and with 64 or more on errors.

            Examples:
              federation diff mappings/demo.json
              federation diff mappings/demo.json --json
            """
    )

    @OptionGroup var document: DocumentArgument
    @OptionGroup var strictness: StrictOption
    @OptionGroup var output: OutputOptions

    var inputFiles: [String] { [document.file] }

    func run(_ administration: Administration, by actor: Actor) async throws {
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
