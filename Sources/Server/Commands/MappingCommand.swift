import Administration
import ArgumentParser
import Domain

struct MappingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mapping",
        abstract: "Manage mappings of provider fields to properties.",
        subcommands: [Diff.self, Rollback.self, MappingPreviewCommand.self]
    )

    struct Diff: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the differences between two revisions of the mapping.",
            discussion: """
                Lines begin with + for an added entry, - for a removed one and ~ for a changed one. Exits with 1 if \
                there are differences, like diff(1).

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

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
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
            abstract: "Restore the mapping of an earlier revision.",
            discussion: """
                The mapping must fit the current properties. The rollback creates a new revision, which can be rolled \
                back too.

                Example:
                  federation mapping rollback demo 3
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var provider: ProviderArgument

        @Argument(help: "The revision to restore.")
        var revision: Int64

        @OptionGroup var precondition: PreconditionOption
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
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
