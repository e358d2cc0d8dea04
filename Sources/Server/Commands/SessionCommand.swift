import Administration
import ArgumentParser
import Vocabulary

struct SessionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Sessions of a user.",
        subcommands: [List.self, End.self]
    )

    static let columns = [
        Column("SESSION", "id", .id), Column("CREATED", "created", .moment), Column("LAST SEEN", "lastSeen", .moment),
        Column("EXPIRES", "expires", .moment), Column("SOURCE", "source"), Column("USER-AGENT", "userAgent"),
    ]

    struct List: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the sessions of a user.",
            discussion: """
                The ids name sessions to end; they are not the tokens that clients hold, which nothing shows.

                Example:
                  federation session list demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var user: UserArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let user = try await administration.users.read(user.id, of: user.application.id, by: actor)
            let sessions = user.body.object?["sessions"]?.array ?? []
            try output.show(Page(items: sessions, next: nil), SessionCommand.columns)
        }
    }

    struct End: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "End one session of a user, or all of them.",
            discussion: """
                Every running instance refuses an ended session within a second.

                Example:
                  federation session end demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var user: UserArgument

        @Option(help: ArgumentHelp("The session to end; all unless given.", valueName: "id"))
        var session: String?

        @OptionGroup var precondition: PreconditionOption

        func run(_ administration: Administration, by actor: Actor) async throws {
            try await administration.users.endSessions(
                of: user.id,
                session: session,
                of: user.application.id,
                if: precondition.precondition,
                by: actor
            )
            let what = session.map { "The session \($0)" } ?? "Every session"
            try Terminal.report("\(what) of the user \(user.id) has ended.")
        }
    }
}
