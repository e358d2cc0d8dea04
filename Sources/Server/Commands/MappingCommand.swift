import Administration
import ArgumentParser
import Vocabulary

struct MappingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mapping",
        abstract: "The mappings: which fields of a provider fill which properties.",
        subcommands: [
            Show.self, Put.self, Revisions.self, Diff.self, Rollback.self, MappingPreviewCommand.self,
        ]
    )

    static let entries = OutputOptions.Section(
        member: "entries",
        columns: [
            Column("FROM", "from"), Column("TO", "to", .id), Column("SYNC", "sync", .rare),
            Column("TYPE", "type", .rare), Column("REQUIRED", "required", .rare), Column("DEFAULT", "default", .rare),
            Column("TRANSFORM", "transform", .rare),
        ]
    )

    struct Show: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the active mapping, or a revision of it.",
            discussion: """
                Examples:
                  federation mapping show demo
                  federation mapping show demo --revision 3 --json
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var provider: ProviderArgument

        @Option(help: "The revision to show; the active one unless given.")
        var revision: Int64?

        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let mapping =
                if let revision {
                    try await administration.mappings.revision(revision, for: provider.name, of: application.id)
                } else {
                    try await administration.mappings.read(for: provider.name, of: application.id)
                }
            try output.show(mapping, [MappingCommand.entries])
        }
    }

    struct Put: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a new revision of the mapping and use it.",
            discussion: """
                The file has a list of entries, a plain dictionary, or an object with either under "entries", as \
                mapping show --json prints it. It is checked against the live users table first; everything that is wrong is \
                said at once, and nothing changes then. A field that the provider is not known to have is a warning, and with \
                --strict an error.

                Examples:
                  federation mapping put demo mapping.json
                  echo '{"email": "email", "name": "name"}' | federation mapping put demo -
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var provider: ProviderArgument

        @Argument(help: "A JSON file, or - for standard input.", completion: .file(extensions: ["json"]))
        var file: String

        @OptionGroup var strictness: StrictOption
        @OptionGroup var precondition: PreconditionOption
        @OptionGroup var output: OutputOptions

        var inputFiles: [String] { [file] }

        func run(_ administration: Administration, by actor: Actor) async throws {
            let mapping = try await administration.mappings.put(
                for: provider.name,
                of: application.id,
                try InputFile.json(file),
                strictly: strictness.strict,
                if: precondition.precondition,
                by: actor
            )
            try output.show(mapping, [MappingCommand.entries])
        }
    }

    struct Revisions: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the revisions of the mapping, the newest first.",
            discussion: """
                Example:
                  federation mapping revisions demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var provider: ProviderArgument
        @OptionGroup var page: PageOptions
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let page = try await page.read {
                try await administration.mappings.revisions(for: provider.name, of: application.id, $0)
            }
            try output.show(
                page,
                [
                    Column("REVISION", "revision", .id), Column("ACTIVE", "active", .id),
                    Column("CREATED", "created", .moment), Column("AUTHOR", "author"),
                ]
            )
        }
    }

    struct Diff: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what differs between two revisions of the mapping.",
            discussion: """
                Lines begin with + for an entry that the second one has more, - for one that it lacks, ~ for one that it \
                changes. Ends with 1 when they differ, as diff(1) does.

                Example:
                  federation mapping diff demo 3 5
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var provider: ProviderArgument

        @Argument(help: "A revision.")
        var from: Int64

        @Argument(help: "The revision to compare it with.")
        var to: Int64

        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let difference = try await administration.mappings.difference(
                from: from,
                to: to,
                for: provider.name,
                of: application.id
            )
            let changes = ChangeLines(ofMappings: difference)
            if output.json { try output.print(difference) } else { try changes.print() }
            if !changes.isEmpty { throw Exit.difference }
        }
    }

    struct Rollback: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an old revision's mapping the newest one.",
            discussion: """
                It must fit the properties that there are today. Rolling back is a revision as well, and can be rolled back.

                Example:
                  federation mapping rollback demo 3
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var provider: ProviderArgument

        @Argument(help: "The revision to go back to.")
        var revision: Int64

        @OptionGroup var precondition: PreconditionOption
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let mapping = try await administration.mappings.rollBack(
                for: provider.name,
                of: application.id,
                to: revision,
                if: precondition.precondition,
                by: actor
            )
            try output.show(mapping, [MappingCommand.entries])
        }
    }
}
