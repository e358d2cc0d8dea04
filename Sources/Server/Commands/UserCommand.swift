import Administration
import ArgumentParser
import KeptTokens
import Vocabulary

struct UserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Users: find, see, make, refresh, disable, unlink, factors, export, erase, import.",
        subcommands: [
            UserSearchCommand.self, Show.self, UserCreateCommand.self, Refresh.self, Disable.self, Enable.self,
            Unlink.self, UserFactorCommand.self, UserExportCommand.self, UserImportCommand.self, UserEraseCommand.self,
        ]
    )

    struct Show: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a user with identities, password, roles, sessions and second factors.",
            discussion: """
                Example:
                  federation user show demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var user: UserArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let user = try await administration.users.read(user.id, of: user.application.id, by: actor)
            try output.show(user, Self.sections)
        }

        static let sections = [
            OutputOptions.Section(
                member: "identities",
                columns: [
                    Column("PROVIDER", "provider", .id), Column("APP ID", "appId", .id),
                    Column("SUBJECT", "subject", .id), Column("CREATED", "created", .moment),
                    Column("LAST USED", "lastUsed", .moment), Column("GRANTED", "grantedScopes"),
                    Column("DECLINED", "declinedScopes"),
                    Column("DATA ACCESS UNTIL", "dataAccessExpires", .moment),
                    Column("REVOKED", "revoked", .moment), Column("REVOKED BY", "revokedBy"),
                    Column("TOKEN KEPT", "tokenKept"), Column("TOKEN EXPIRES", "tokenExpires", .moment),
                    Column("CHECKED", "checked", .moment),
                ]
            ),
            OutputOptions.Section(member: "sessions", columns: SessionCommand.columns),
            OutputOptions.Section(member: "factors", columns: FactorColumns.all),
        ]
    }

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
                Show.sections
            )
        }
    }

    struct Disable: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Disable a user and end all sessions.",
            discussion: """
                Every running instance refuses the user's logins and sessions within a second.

                Example:
                  federation user disable demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var user: UserArgument
        @OptionGroup var precondition: PreconditionOption
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(
                try await UserCommand.set("DISABLED", user, administration, precondition, actor),
                Show.sections
            )
        }
    }

    struct Enable: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let a disabled user log in again.",
            discussion: """
                Example:
                  federation user enable demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var user: UserArgument
        @OptionGroup var precondition: PreconditionOption
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(
                try await UserCommand.set("ENABLED", user, administration, precondition, actor),
                Show.sections
            )
        }
    }

    private static func set(
        _ status: String,
        _ user: UserArgument,
        _ administration: Administration,
        _ precondition: PreconditionOption,
        _ actor: Actor
    ) async throws -> Resource {
        try await administration.users.change(
            user.id,
            of: user.application.id,
            patch: .object(["user": .object(["userStatus": .string(status)])]),
            if: precondition.precondition,
            by: actor
        )
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

        @Option(help: ArgumentHelp("The app of the identity at the provider, as user show has it.", valueName: "id"))
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
