import Administration
import ArgumentParser
import Domain

struct MappingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mapping",
        abstract: "The mappings: which fields of a provider fill which properties.",
        subcommands: [Diff.self, Rollback.self, MappingPreviewCommand.self]
    )

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
            try output.show(mapping, like: "applications/{application}/mappings/{provider}")
        }
    }
}
