import Administration
import ArgumentParser
import Domain
import Encodings
import Providers

struct ProviderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider",
        abstract: "Manage the providers of an application.",
        subcommands: [Check.self]
    )

    struct Check: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check app ids, secrets and the fields of the mapping against the provider.",
            discussion: """
                Exits with 65 if the provider refuses an app or does not have a field, and with 69 if the provider \
                cannot be reached. Fields are checked once a user has logged in with the provider.

                For a provider of the kind oidc, the discovery document and the keys are fetched. For the kinds oidc \
                and oauth2, the client's secret is tried, and the provider's own words are shown. The login dialog of \
                the first client is opened with each redirect URI. A redirect URI that the dialog refuses is only a \
                warning: the exit status stays 0. No warning is no proof, because some providers show the refusal to \
                the user alone.

                Examples:
                  federation provider check demo
                  federation provider check demo --provider google \\
                    --redirect-uri https://example.com/demo/KEY/users/oauth/google/authorize
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var provider: ProviderArgument
        @Option(
            help:
                "A redirect URI with which the login dialog should open, besides those on the application's host names."
        )
        var redirectURI: [String] = []
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
            let result = try await administration.providers.check(
                provider.name,
                of: application.id,
                redirectURIs: redirectURI
            )
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

        /// Returns the exit code for the result of a check of a provider; nil if the check found no problem.
        ///
        /// Problems that the operator can fix take precedence over temporary ones.
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
