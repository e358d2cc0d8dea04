import Administration
import ArgumentParser
import Domain
import Store

struct AdoptCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Have an application's users in a table that is there already.",
        discussion: """
            Prints the SQL that makes the application work on the table, and runs it with --yes. The table gets the \
            columns that it lacks, and nothing of it is dropped or renamed: users of the application's schema becomes a \
            view of it. Rows are its users from then on. The application must have none of its own. Properties that the \
            application has and the table has not get a column; those of --property that the application has not are \
            declared by the type of their column. Interrupted, the same command goes on. \
            docs/migrating/existing-table.md has all of it.

            Examples:
              federation adopt demo --table public.customers --id id \\
                --email mail --name full_name --property phone=phone_number
              federation adopt demo --table public.customers --id id \\
                --email mail --facebook-id facebook_id --yes
            """
    )

    @OptionGroup var application: ApplicationArgument

    @Option(help: "The table, with its schema.")
    var table: String

    @Option(
        name: .customLong("id"),
        help: ArgumentHelp("Its key. A UUID is the object id, too; others get one beside them.", valueName: "column")
    )
    var key: String

    @Option(help: ArgumentHelp("The column of e-mail addresses.", valueName: "column"))
    var email: String?

    @Option(help: ArgumentHelp("The column of names of people.", valueName: "column"))
    var name: String?

    @Option(help: ArgumentHelp("The column of the moment when a row was made.", valueName: "column"))
    var created: String?

    @Option(
        name: .customLong("property"),
        help: ArgumentHelp("A property and its column; may be repeated.", valueName: "name=column")
    )
    var properties: [PropertyColumn] = []

    @Option(
        name: .customLong("facebook-id"),
        help: ArgumentHelp("A column of people's ids at Facebook, by which they log in.", valueName: "column")
    )
    var facebookID: String?

    @Option(
        name: .customLong("facebook-app"),
        help: ArgumentHelp("The Facebook app of those ids, where there are several.", valueName: "id")
    )
    var facebookApp: String?

    @Flag(help: "Rewrite a large table, with everybody waiting, instead of updating its rows.")
    var rewrite = false

    @Flag(help: "Run it.")
    var yes = false

    @Flag(help: "Print what would be run, and change nothing; so it is without --yes, too.")
    var dryRun = false

    /// A property and its column.
    struct PropertyColumn: ExpressibleByArgument {
        let name: String
        let column: String

        init?(argument: String) {
            let halves = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard halves.count == 2, halves.allSatisfy({ !$0.isEmpty }) else { return nil }
            (name, column) = (halves[0], halves[1])
        }
    }

    private var request: AdoptionRequest {
        let builtIn = [("email", email), ("name", name)].compactMap { name, column in column.map { (name, $0) } }
        return AdoptionRequest(
            table: table,
            key: key,
            created: created,
            properties: (builtIn + properties.map { ($0.name, $0.column) }).map { (name: $0.0, column: $0.1) },
            mayRewrite: rewrite,
            identities: facebookID.map { .init(provider: "facebook", column: $0, app: facebookApp) }
        )
    }

    func validate() throws {
        guard !(yes && dryRun) else { throw ValidationError("--yes runs it, and --dry-run does not.") }
        guard facebookApp == nil || facebookID != nil else {
            throw ValidationError("--facebook-app says nothing without --facebook-id.")
        }
    }

    // Building an index or filling a column of a large table takes long.
    func run() async throws {
        try await AdministrationTask.run(statementsWithin: .seconds(86_400), masterKey: yes ? .seals : .reads) {
            try await run($0, by: $1)
        }
    }

    func run(_ administration: Administration, by actor: Actor) async throws {
        let plan = try await administration.adoptions.plan(request, for: application.id, by: actor)
        guard yes else {
            try Terminal.print(TerminalText.escapedLines(plan.script))
            return Terminal.say("Nothing is changed. With --yes this is run; psql -v ON_ERROR_STOP=1 does the same.")
        }
        plan.remarks.forEach(Terminal.say)
        for step in plan.steps {
            Terminal.say(step.comment)
            try await administration.adoptions.perform(step)
        }
        try Terminal.report("The users of \(application.id) are in \(plan.table).")
    }
}
