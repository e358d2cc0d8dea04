import Administration
import ArgumentParser
import Domain

struct InvitationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invitation",
        abstract: "Manage invitations, for applications that require them.",
        subcommands: [Send.self]
    )

    /// The command-line argument with the id of the invitation that the command works on.
    struct IDArgument: ParsableArguments {
        @OptionGroup var application: ApplicationArgument

        @Argument(help: ArgumentHelp("The invitation's id.", valueName: "invitation"))
        var id: String
    }

    struct Send: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send an invitation again with a new link, which replaces the former one.",
            discussion: """
                Example:
                  federation invitation send demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var invitation: IDArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
            try output.show(
                try await administration.invitations.send(invitation.id, in: invitation.application.id, by: actor),
                like: "applications/{application}/invitations/{invitationId}"
            )
        }
    }
}
