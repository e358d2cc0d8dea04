import Administration
import ArgumentParser
import Providers
import Vocabulary

struct ProviderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider",
        abstract: "Identity providers as an application uses them: apps, secrets, options.",
        subcommands: [Show.self, ProviderSetCommand.self, Check.self, Remove.self]
    )

    struct Show: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show an application's settings of a provider.",
            discussion: """
                App secrets are never shown: only that one is set, since when, and under which master key.

                Example:
                  federation provider show demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var provider: ProviderArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let shown = try await administration.providers.read(provider.name, of: application.id)
            let kind = try await administration.providers.kind(of: provider.name, in: application.id)
            try output.show(shown, Self.sections(of: kind.appTerms))
        }

        static func sections(of terms: AppTerms) -> [OutputOptions.Section] {
            let (id, secret) = (terms.id, terms.secret)
            let configuration = terms.configID.map { [Column("CONFIG ID", $0, .rare)] } ?? []
            return [
                OutputOptions.Section(
                    member: "apps",
                    columns: [
                        Column("APP ID", id, .id),
                        Column("SECRET") { app in
                            app[secret]?.object?["set"]?.bool.map { .string($0 ? "set" : "missing") }
                        },
                        Column("CHANGED", .moment) { $0[secret]?.object?["changed"] },
                        Column("MASTER KEY") { $0[secret]?.object?["keyId"] },
                    ] + configuration
                )
            ]
        }
    }

    struct Check: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check app ids, secrets and the fields of the mapping against the provider.",
            discussion: """
                Ends with 65 when the provider refuses an app or does not have a field, and with 69 when it could not be asked. \
                About fields the provider is asked once somebody has logged in by it.

                Example:
                  federation provider check demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var provider: ProviderArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let result = try await administration.providers.check(provider.name, of: application.id)
            let kind = try await administration.providers.kind(of: provider.name, in: application.id)
            try output.show(
                result,
                [
                    OutputOptions.Section(
                        member: "apps",
                        columns: [
                            Column("APP ID", kind.appTerms.id, .id), Column("OK", "ok", .id),
                            Column("NAME", "name", .rare),
                            Column("ANSWERED", "answeredVersion", .rare), Column("PROBLEM", "problem", .rare),
                        ]
                    )
                ]
            )
            if let code = Self.exitCode(of: result) { throw code }
        }

        /// What the operator can repair counts more than what time may repair.
        private static func exitCode(of result: JSONValue) -> ExitCode? {
            guard result.object?["problems"]?.array?.isEmpty != false else { return Exit.dataError }
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
            abstract: "Remove a provider from an application, with its app secrets.",
            discussion: """
                Users and their identities stay. To stop logins for a while use: federation provider set demo --disable

                Example:
                  federation provider remove demo --confirm demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var provider: ProviderArgument
        @OptionGroup var confirmation: ConfirmationOption
        @OptionGroup var precondition: PreconditionOption

        func run(_ administration: Administration, by actor: Actor) async throws {
            let id = application.id
            let name = provider.name
            try confirmation.require(id, losing: "the apps of \(id) at \(name) and their secrets")
            try await administration.providers.remove(name, of: id, if: precondition.precondition, by: actor)
            try Terminal.report("\(name) is removed from \(id).")
        }
    }
}
