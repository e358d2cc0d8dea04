import Administration
import ArgumentParser
import Vocabulary

struct BanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ban",
        abstract: "Bans that outlive a disabled user.",
        subcommands: [List.self, Lift.self]
    )

    struct List: AdministrationCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the bans of identities whose user is gone.",
            discussion: """
                A disabled user who is erased, by an operator or at Facebook's demand, cannot come back as somebody new until the ban \
                expires. Nothing is kept of the person: the objectId is the one that the audit log names.

                Example:
                  federation ban list demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var page: PageOptions
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let bans = try await page.read { try await administration.bans.list(of: application.id, $0) }
            try output.show(
                bans,
                [
                    Column("OBJECT ID", "objectId", .id), Column("CREATED", "created", .moment),
                    Column("EXPIRES", "expires", .moment),
                ]
            )
        }
    }

    struct Lift: AdministrationCommand {
        static let configuration = CommandConfiguration(
            commandName: "lift",
            abstract: "Let the identities of an erased user log in again.",
            discussion: """
                The person's next login makes a new user; nothing of the erased one comes back.

                Example:
                  federation ban lift demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var user: UserArgument

        func run(_ administration: Administration, by actor: Actor) async throws {
            try await administration.bans.lift(of: user.id, in: user.application.id, by: actor)
            try Terminal.report("The identities of the user \(user.id) may log in again.")
        }
    }
}
