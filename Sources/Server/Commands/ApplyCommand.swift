import Administration
import ArgumentParser
import Domain

struct ApplyCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Make an application what its document says.",
        discussion: """
            Prints what it is going to change, as diff does, and does it in one transaction: the application and its \
            PostgreSQL schema, columns of declared properties, API keys, the apps at providers and the mappings. Secrets come from \
            the environment variables that the document names. Properties that the document does not name stay. When anything \
            is wrong, all of it is said, and nothing changes.

            Examples:
              federation apply mappings/demo.json --dry-run
              DEMO_API_KEY=… DEMO_FACEBOOK_APP_SECRET=… DEMO_TWITTER_CONSUMER_SECRET=… \\
                federation apply mappings/demo.json
              federation export demo | FEDERATION_DATABASE_URL=… federation apply -
            """
    )

    @OptionGroup var document: DocumentArgument

    @Flag(help: "Print what would change, and change nothing.")
    var dryRun = false

    @OptionGroup var strictness: StrictOption
    @OptionGroup var precondition: PreconditionOption
    @OptionGroup var output: OutputOptions

    var inputFiles: [String] { [document.file] }

    var masterKeyUse: MasterKeyUse { dryRun ? .reads : .seals }

    func run(_ administration: Administration, by actor: Actor) async throws {
        let file = try DocumentFile(document.file)
        let plan = try await file.plan { try await administration.documents.plan($0, environment: $1) }
        if !output.json { try plan.show() } else { plan.sayWarnings() }
        try strictness.check(plan.warnings)
        guard !dryRun else {
            return output.json ? try output.print(plan.json) : try Self.report(plan, "Nothing is changed: --dry-run.")
        }
        let applied = try await file.plan {
            try await administration.documents.apply($0, environment: $1, if: precondition.precondition, by: actor)
        }
        guard !output.json else { return try output.print(applied.json) }
        let document = file.document
        try Self.report(
            applied,
            "Application \(document.id) is in place; its users are in \(document.schema).users."
        )
    }

    private static func report(_ plan: ApplicationPlan, _ otherwise: String) throws {
        let id = plan.application
        try Terminal.report(plan.changes.isEmpty ? "Application \(id) is what the document says." : otherwise)
    }
}
