import Administration
import ArgumentParser
import Domain

struct ApplyCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Create or change an application as its document says.",
        discussion: """
            Prints the changes, as diff does, and makes them in one transaction: the application and its PostgreSQL \
            schema, columns of declared properties, API keys, apps of providers, and mappings. Secrets are read from \
            the environment variables that the document names. Properties that the document does not name are kept. If \
            anything is wrong, all problems are printed and nothing is changed.

            Examples:
              federation apply mappings/demo.json --dry-run
              DEMO_API_KEY=… DEMO_FACEBOOK_APP_SECRET=… DEMO_TWITTER_CONSUMER_SECRET=… \\
                federation apply mappings/demo.json
              federation export demo | FEDERATION_DATABASE_URL=… federation apply -
            """
    )

    @OptionGroup var document: DocumentArgument

    @Flag(help: "Print the changes, and change nothing.")
    var dryRun = false

    @OptionGroup var strictness: StrictOption
    @OptionGroup var precondition: PreconditionOption
    @OptionGroup var output: OutputOptions

    var inputFiles: [String] { [document.file] }

    var masterKeyUse: MasterKeyUse { dryRun ? .reads : .encrypts }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let file = try DocumentFile(document.file)
        let plan = try await file.plan { try await administration.documents.plan($0, environment: $1) }
        if !output.json { try plan.show() } else { plan.sayWarnings() }
        try strictness.check(plan.warnings)
        guard !dryRun else {
            return output.json ? try output.print(plan.json) : try Self.report(plan, "Nothing was changed (--dry-run).")
        }
        let applied = try await file.plan {
            try await administration.documents.apply($0, environment: $1, if: precondition.precondition, by: actor)
        }
        guard !output.json else { return try output.print(applied.json) }
        let document = file.document
        try Self.report(
            applied,
            "Application \(document.id) is applied. Its users are in \(document.schema).users."
        )
    }

    private static func report(_ plan: ApplicationPlan, _ otherwise: String) throws {
        let id = plan.application
        let unchanged = "Application \(id) matches the document. Nothing to change."
        try Terminal.report(plan.changes.isEmpty ? unchanged : otherwise)
    }
}
