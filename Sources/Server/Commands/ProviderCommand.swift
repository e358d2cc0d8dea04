import ArgumentParser
import Federation
import Identity

struct ProviderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider",
        abstract: "Facebook as an application uses it: apps, secrets, Graph version.",
        subcommands: [Show.self, ProviderSetCommand.self, Check.self, Remove.self]
    )

    struct Show: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show an application's settings of Facebook.",
            discussion: """
                App secrets are never shown: only that one is set, since when, and under which master key.

                Example:
                  federation provider show demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(try await administration.facebook(of: application.id), Self.sections)
        }

        static let sections = [
            OutputOptions.Section(
                member: "apps",
                columns: [
                    Column("APP ID", "appId", .id),
                    Column("SECRET") { app in
                        app["appSecret"]?.object?["set"]?.bool.map { .string($0 ? "set" : "missing") }
                    },
                    Column("CHANGED", .moment) { $0["appSecret"]?.object?["changed"] },
                    Column("MASTER KEY") { $0["appSecret"]?.object?["keyId"] },
                ]
            )
        ]
    }

    struct Check: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prove app ids and secrets against Facebook.",
            discussion: """
                Ends with 65 when Facebook refuses an app, and with 69 when Facebook could not be asked.

                Example:
                  federation provider check demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let result = try await administration.checkFacebook(of: application.id)
            try output.show(
                result,
                [
                    OutputOptions.Section(
                        member: "apps",
                        columns: [
                            Column("APP ID", "appId", .id), Column("OK", "ok", .id), Column("NAME", "name", .rare),
                            Column("ANSWERED", "answeredVersion", .rare), Column("PROBLEM", "problem", .rare),
                        ]
                    )
                ]
            )
            if let code = Self.exitCode(of: result) { throw code }
        }

        /// What the operator can repair counts more than what time may repair.
        private static func exitCode(of result: JSONValue) -> ExitCode? {
            let apps = result.object?["apps"]?.array?.compactMap(\.object) ?? []
            let codes = apps.filter { $0["ok"]?.bool != true }.map { app in
                app["reason"]?.string.flatMap(Failure.Reason.init(rawValue:)).map(Exit.code) == Exit.unavailable
                    ? Exit.unavailable : Exit.dataError
            }
            return codes.contains(Exit.dataError) ? Exit.dataError : codes.first
        }
    }

    struct Remove: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove Facebook from an application, with its app secrets.",
            discussion: """
                Users and their identities stay. To stop logins for a while use: federation provider set APP --disable

                Example:
                  federation provider remove demo --confirm demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var confirmation: ConfirmationOption
        @OptionGroup var precondition: PreconditionOption

        func run(_ administration: Administration, by actor: Actor) async throws {
            let id = application.id
            try confirmation.require(id, losing: "the Facebook apps of \(id) and their secrets")
            try await administration.removeFacebook(of: id, if: precondition.precondition, by: actor)
            try Terminal.report("Facebook is removed from \(id).")
        }
    }
}
