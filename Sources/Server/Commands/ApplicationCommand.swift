import Administration
import ArgumentParser
import Store
import Vocabulary

struct ApplicationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "application",
        abstract: "Applications: who has users here, and by which rules.",
        subcommands: [List.self, Show.self, Create.self, Set.self, Delete.self]
    )

    struct List: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the applications.",
            discussion: """
                Example:
                  federation application list
                """
        )

        @OptionGroup var page: PageOptions
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let page = try await page.read { try await administration.applications.list($0) }
            try output.show(
                page,
                [
                    Column("APPLICATION", "application", .id), Column("NAME", "name"), Column("SCHEMA", "schema", .id),
                    Column("DATABASE", .rare) { $0["database"]?.object?["env"] },
                    Column("REVISION", "revision", .id), Column("UPDATED", "updated", .moment),
                ]
            )
        }
    }

    struct Show: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show an application with its settings.",
            discussion: """
                The last line, tag, is what --if-match takes.

                Example:
                  federation application show demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(try await administration.applications.read(application.id))
        }
    }

    struct Create: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an application and its PostgreSQL schema.",
            discussion: """
                Its users are in the table users of that schema. What it needs next: a key, a provider, properties and \
                a mapping; or write all of it into a document and use federation apply.

                Example:
                  federation application create demo --name Demo --session-idle 7d
                """
        )

        @OptionGroup var application: ApplicationArgument

        @Option(help: "A name for people.")
        var name: String?

        @Option(help: "The PostgreSQL schema for its users; the id unless given.")
        var schema: String?

        @Option(
            help: ArgumentHelp(
                "The environment variable with the URL of a database of its own, like DEMO_DATABASE_URL.",
                valueName: "variable"
            )
        )
        var database: String?

        @Option(
            help: ArgumentHelp(
                "The node of Citus that its users are on; Citus chooses one unless given.",
                valueName: "host:port"
            ),
            transform: { text in
                guard let node = CitusNode(text) else { throw ValidationError("Write the node as host:port.") }
                return node
            }
        )
        var node: CitusNode?

        @OptionGroup(title: "Settings") var settings: SettingsOptions
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let document = JSONObject(present: [
                "application": .string(application.id), "name": name.map(JSONValue.string),
                "schema": schema.map(JSONValue.string),
                "database": database.map { .object(["env": .string($0)]) }, "settings": settings.document,
            ])
            try output.show(try await administration.applications.create(.object(document), on: node, by: actor))
        }
    }

    struct Set: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change an application's name, database and settings.",
            discussion: """
                What is not named stays as it is. --database and --main-database say where the users are once they \
                have been copied there: docs/scaling.md.

                Examples:
                  federation application set demo --no-multiple-logins
                  federation application set demo --allowed-origin https://a.example \\
                    --allowed-origin https://b.example --default sessionIdleSeconds
                """
        )

        @OptionGroup var application: ApplicationArgument

        @Option(help: "A name for people.")
        var name: String?

        @Option(
            help: ArgumentHelp(
                "The environment variable with the URL of the database that its users have been copied to.",
                valueName: "variable"
            )
        )
        var database: String?

        @Flag(help: "Its users have been copied to the main database.")
        var mainDatabase = false

        @OptionGroup(title: "Settings") var settings: SettingsOptions

        @Option(
            name: .customLong("default"),
            help: ArgumentHelp("Give a setting its default again.", valueName: "setting")
        )
        var defaults: [Setting] = []

        @OptionGroup var precondition: PreconditionOption
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard name != nil || database != nil || mainDatabase || settings.document != nil || !defaults.isEmpty else {
                throw ValidationError("Name at least one thing to change.")
            }
            guard database == nil || !mainDatabase else {
                throw ValidationError("--database and --main-database exclude each other.")
            }
            if let setting = defaults.first(where: { settings.document?.object?[$0.rawValue] != nil }) {
                throw ValidationError("\(setting.rawValue) is given a value and its default.")
            }
        }

        func run(_ administration: Administration, by actor: Actor) async throws {
            var changes = settings.document?.object ?? JSONObject()
            for setting in defaults { changes.append(setting.rawValue, .null) }
            let database: JSONValue? = mainDatabase ? .null : database.map { .object(["env": .string($0)]) }
            let patch = JSONObject(present: [
                "name": name.map(JSONValue.string), "database": database,
                "settings": changes.members.isEmpty ? nil : .object(changes),
            ])
            let changed = try await administration.applications.change(
                application.id,
                patch: .object(patch),
                if: precondition.precondition,
                by: actor
            )
            try output.show(changed)
        }
    }

    struct Delete: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove an application with all its users.",
            discussion: """
                Drops its PostgreSQL schema with everything in it. Make a backup first: nothing brings it back.

                Example:
                  federation application delete demo --confirm demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var confirmation: ConfirmationOption
        @OptionGroup var precondition: PreconditionOption

        func run(_ administration: Administration, by actor: Actor) async throws {
            let id = application.id
            try confirmation.require(id, losing: "the application \(id), its PostgreSQL schema and all its users")
            try await administration.applications.delete(
                id,
                confirmation: id,
                if: precondition.precondition,
                by: actor
            )
            try Terminal.report("The application \(id) is removed.")
        }
    }
}
