import Administration
import ArgumentParser
import Domain
import Encodings
import Providers

struct ProviderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider",
        abstract: "Identity providers as an application uses them.",
        subcommands: [Check.self]
    )

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

        /// Returns the exit code; problems that the operator can fix count more than temporary ones.
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
}
