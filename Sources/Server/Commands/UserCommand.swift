import Administration
import ArgumentParser
import Domain
import Encodings
import Logins

struct UserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Users: make, refresh, unlink, export, import, erase.",
        subcommands: [
            UserCreateCommand.self, Refresh.self, Unlink.self, UserExportCommand.self, UserImportCommand.self,
            UserEraseCommand.self,
        ]
    )

    struct Refresh: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Read a user's profile at Facebook again.",
            discussion: """
                Asks with the access tokens that are kept of the user's identities, and writes what the stored mapping makes of the \
                profile, as a login would. An identity whose token Facebook has withdrawn is marked as revoked.

                Example:
                  federation user refresh demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var user: UserArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(
                try await administration.users.refresh(user.id, of: user.application.id, by: actor),
                like: "applications/{application}/users/{objectId}"
            )
        }
    }

    struct Unlink: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take an identity away from a user.",
            discussion: """
                Whoever has that account at the provider becomes a new user at the next login. The only login method of a user \
                cannot be taken: erase the user instead.

                Example:
                  federation user unlink demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60 \\
                    --app-id 1234567890 --subject 10150000000000001 \\
                    --confirm 10150000000000001
                """
        )

        @OptionGroup var user: UserArgument

        @OptionGroup var provider: ProviderArgument

        @Option(help: ArgumentHelp("The app of the identity at the provider, as the user has it.", valueName: "id"))
        var appID: String

        @Option(help: "The user id that the provider gives to that app.")
        var subject: String

        @OptionGroup var confirmation: ConfirmationOption
        @OptionGroup var precondition: PreconditionOption

        func run(_ administration: Administration, by actor: Actor) async throws {
            try confirmation.require(subject, losing: "the identity \(subject) from the user \(user.id)")
            let revocations = try await administration.users.unlink(
                provider: provider.name.text,
                app: appID,
                subject: subject,
                from: user.id,
                of: user.application.id,
                if: precondition.precondition,
                by: actor
            )
            try Terminal.report("The identity \(subject) is taken from the user \(user.id).")
            for warning in revocations.compactMap(\.warning) { Terminal.say(warning) }
        }
    }
}
