import Administration
import ArgumentParser
import Domain
import Encodings
import Logins

struct UserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Manage users: create, refresh, unlink, find duplicates, merge, export, import, erase.",
        subcommands: [
            UserCreateCommand.self, Refresh.self, Unlink.self, UserDuplicatesCommand.self, UserMergeCommand.self,
            UserUnmergeCommand.self, UserExportCommand.self, UserImportCommand.self, UserEraseCommand.self,
        ]
    )

    struct Refresh: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Read a user's profile at Facebook again.",
            discussion: """
                Reads the profile with the stored access tokens of the user's identities, and applies the stored \
                mapping, like a login. If Facebook has revoked a token, its identity is marked as revoked.

                Example:
                  federation user refresh demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var user: UserArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
            try output.show(
                try await administration.users.refresh(user.id, of: user.application.id, by: actor),
                like: "applications/{application}/users/{objectId}"
            )
        }
    }

    struct Unlink: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Unlink an identity from a user.",
            discussion: """
                The next login with that account at the provider creates a new user. A user's only login method cannot \
                be unlinked: erase the user instead.

                Example:
                  federation user unlink demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60 \\
                    --app-id 1234567890 --subject 10150000000000001 \\
                    --confirm 10150000000000001
                """
        )

        @OptionGroup var user: UserArgument

        @OptionGroup var provider: ProviderArgument

        @Option(help: ArgumentHelp("The app of the identity at the provider.", valueName: "id"))
        var appID: String

        @Option(help: "The user's id at the provider for that app.")
        var subject: String

        @OptionGroup var confirmation: ConfirmationOption
        @OptionGroup var precondition: PreconditionOption

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
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
            try Terminal.report("The identity \(subject) is unlinked from the user \(user.id).")
            for warning in revocations.compactMap(\.warning) { Terminal.say(warning) }
        }
    }
}
