import Administration
import ArgumentParser
import Domain
import Encodings

struct PropertyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "property",
        abstract: "Manage properties: the typed columns of an application's users.",
        subcommands: [Index.self]
    )

    struct Index: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Build the indexes of indexed properties now, and wait.",
            discussion: """
                A running service builds them by itself, if its database role owns the users table.

                Example:
                  federation property index demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
            let properties = try await administration.properties.index(application.id)
            let items = properties.body.object?["items"]?.array ?? []
            try output.show(
                Page(items: items, next: nil),
                Column.columns(ofList: "applications/{application}/properties")
            )
        }
    }
}
