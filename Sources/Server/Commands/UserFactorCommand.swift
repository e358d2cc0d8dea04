import Administration
import ArgumentParser
import Vocabulary

/// How second factors are listed, of users and of operators.
enum FactorColumns {
    static let all = [
        Column("FACTOR", "id", .id), Column("KIND", "kind", .id), Column("LABEL", "label"), Column("HINT", "hint"),
        Column("CODES LEFT", "codesLeft"), Column("CREATED", "created", .moment),
        Column("LAST USED", "lastUsed", .moment),
    ]
}

struct UserFactorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "factor",
        abstract: "Second factors of a user.",
        subcommands: [List.self, Remove.self]
    )

    struct List: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the second factors of a user.",
            discussion: """
                Example:
                  federation user factor list demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var user: UserArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let user = try await administration.users.read(user.id, of: user.application.id, by: actor)
            let factors = user.body.object?["factors"]?.array ?? []
            try output.show(Page(items: factors, next: nil), FactorColumns.all)
        }
    }

    struct Remove: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take a second factor from a user, or all of them.",
            discussion: """
                For people who have lost theirs: make sure who asks, since it is what stands between a stolen password and the \
                account. The user is told by mail. Where the application requires a factor, the next login enrols another.

                Examples:
                  federation user factor remove demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60 \\
                    7C1A0F52-93D4-4E0B-8B7A-5D2E6F708192
                  federation user factor remove demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60 --all
                """
        )

        @OptionGroup var user: UserArgument

        @Argument(help: ArgumentHelp("The factor's id, as user factor list has it.", valueName: "factor"))
        var factor: String?

        @Flag(help: "Take all of them.")
        var all = false

        @OptionGroup var precondition: PreconditionOption

        func validate() throws {
            guard (factor != nil) != all else { throw ValidationError("Name a factor, or say --all.") }
        }

        func run(_ administration: Administration, by actor: Actor) async throws {
            try await administration.users.removeFactors(
                factor,
                of: user.id,
                of: user.application.id,
                if: precondition.precondition,
                by: actor
            )
            let what = factor.map { "The second factor \($0) is" } ?? "All second factors are"
            try Terminal.report("\(what) taken from the user \(user.id).")
        }
    }
}
