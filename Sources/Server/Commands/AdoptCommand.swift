import Administration
import ArgumentParser
import Domain
import Store

struct AdoptCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Use an existing table for an application's users.",
        discussion: """
            Prints the SQL that adopts the table, and runs it with --yes. The table gets the missing columns; nothing \
            is dropped or renamed. The table users in the application's schema becomes a view of it, and its rows \
            become users. The application must not have users yet. A property without a column gets one. A --property \
            that is not declared is declared with the type of its column. If interrupted, run the same command again. \
            See docs/migrating/existing-table.md.

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
        help: ArgumentHelp(
            """
            The key column. A UUID also becomes the object id; for other types an object id is added.
            """,
            valueName: "column"
        )
    )
    var key: String

    @Option(help: ArgumentHelp("The column of e-mail addresses.", valueName: "column"))
    var email: String?

    @Option(help: ArgumentHelp("The column of names.", valueName: "column"))
    var name: String?

    @Option(help: ArgumentHelp("The column of the creation time.", valueName: "column"))
    var created: String?

    @Option(
        name: .customLong("property"),
        help: ArgumentHelp("A property and its column. Repeatable.", valueName: "name=column")
    )
    var properties: [PropertyColumn] = []

    @Option(
        name: .customLong("facebook-id"),
        help: ArgumentHelp("The column of the users' ids at Facebook, for logins.", valueName: "column")
    )
    var facebookID: String?

    @Option(
        name: .customLong("facebook-app"),
        help: ArgumentHelp("The Facebook app of these ids, if there are several apps.", valueName: "id")
    )
    var facebookApp: String?

    @Flag(help: "Rewrite a large table, which blocks it, instead of updating its rows.")
    var rewrite = false

    @Flag(help: "Run the SQL.")
    var yes = false

    @Flag(help: "Print the SQL, and change nothing. This is the default.")
    var dryRun = false

    /// A command-line argument such as `city=town`.
    ///
    /// The property `city` gets the values in the column `town` of the existing table.
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
        guard !(yes && dryRun) else { throw ValidationError("Give --yes or --dry-run, not both.") }
        guard facebookApp == nil || facebookID != nil else {
            throw ValidationError("--facebook-app needs --facebook-id.")
        }
    }

    // Building an index or filling a column of a large table takes long.
    func run() async throws {
        try await AdministrationTask.run(statementsWithin: .seconds(86_400), masterKey: yes ? .encrypts : .reads) {
            try await run($0, by: $1)
        }
    }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let plan = try await administration.adoptions.plan(request, for: application.id, by: actor)
        guard yes else {
            try Terminal.print(TerminalText.escapedLines(plan.script))
            return Terminal.say("Nothing was changed. Run it with --yes, or with psql -v ON_ERROR_STOP=1.")
        }
        plan.remarks.forEach(Terminal.say)
        for step in plan.steps {
            Terminal.say(step.comment)
            try await administration.adoptions.perform(step)
        }
        try Terminal.report("The users of \(application.id) are now in \(plan.table).")
    }
}
