import Administration
import ArgumentParser
import Vocabulary

struct AuditCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Who changed what, when and from where.",
        discussion: """
            The newest first. Secrets are shown as •••. --since and --until take a moment like 2026-01-31T12:00:00Z, \
            milliseconds since 1970, or how long ago, like 24h.

            Examples:
              federation audit --application demo --since 7d
              federation audit --actor ann --action mapping.facebook.set --json-lines
            """
    )

    @Option(help: ArgumentHelp("Changes of this application only.", valueName: "app"))
    var application: String?

    @Option(help: "Changes by this operator only, or cli: and a user of the system.")
    var actor: String?

    @Option(help: "Changes of this kind only, like property.declare.")
    var action: String?

    @Option(help: ArgumentHelp("Not before this moment.", valueName: "time"))
    var since: String?

    @Option(help: ArgumentHelp("Before this moment.", valueName: "time"))
    var until: String?

    @Flag(help: "Print one JSON object a line, for programs.")
    var jsonLines = false

    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if jsonLines, output.json { throw ValidationError("Give --json or --json-lines, not both.") }
    }

    func run(_ administration: Administration, by actor: Actor) async throws {
        var search = AuditSearch()
        search.application = application
        search.actor = self.actor
        search.action = action
        search.since = since.map(Lifetime.moment)
        search.until = until.map(Lifetime.moment)
        let entries = try await page.read { [search] in try await administration.audit.list(search, $0) }
        guard jsonLines else { return try output.show(entries, Self.columns) }
        try Terminal.print(entries.items.map { $0.line + "\n" }.joined())
    }

    private static let columns = [
        Column("HAPPENED", "happened", .moment), Column("ACTOR", "actor"), Column("SOURCE", "source"),
        Column("APPLICATION", "application", .id), Column("ACTION", "action", .id), Column("TARGET", "target"),
        Column("FROM", "from"), Column("TO", "to"),
    ]
}
