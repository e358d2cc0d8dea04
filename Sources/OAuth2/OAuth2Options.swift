import AuthorizationServers
package import Description
import Providers

/// The options of logins with an OAuth 2.0 server.
package struct OAuth2Options: ProviderOptions, Equatable {
    /// The name of the preset, which has the addresses.
    package var preset = ""
    /// The displayed name of the provider; nil for that of the preset.
    package var title: String?
    package var authorizationURL: String?
    package var tokenURL: String?
    package var profileURL: String?
    package var tokenCheckURL: String?
    package var revocationURL: String?
    package var scopes: [String]?
    /// The redirect URIs that are accepted with an authorization code from a client, compared as bytes.
    package var redirectURIs: [String] = []
    /// The URLs to which a browser may return after a login in a dialog that this service opens, compared as bytes.
    package var returnURLs: [String] = []
    package var keepTokens = false
    package var refreshHours: Int64?

    package init() {}

    /// Describes the options.
    package static let description = ObjectDescription(
        OAuth2Options(),
        unknown: "is not an option",
        [
            Field(
                "preset",
                \.preset,
                .text(PresetName.rule),
                "Preset",
                "The name of a known server: \(OAuth2Preset.shipped.names).",
                isRequired: true
            ),
            SharedOptions.title(\.title, otherwise: "that of the preset"),
            address("authorizationUrl", \.authorizationURL, "the login dialog"),
            address("tokenUrl", \.tokenURL, "the exchange of codes"),
            address("profileUrl", \.profileURL, "the profile"),
            address("tokenCheckUrl", \.tokenCheckURL, "the check of access tokens", ServerAddress.ruleWithClient),
            address("revocationUrl", \.revocationURL, "the revocation", ServerAddress.ruleWithClient),
            SharedOptions.scopes(\.scopes, "The scopes that the login dialog asks for. null: those of the preset."),
            RedirectTarget.ofClients(\.redirectURIs),
            RedirectTarget.afterLogin(\.returnURLs),
            SharedOptions.keepTokens(\.keepTokens),
            SharedOptions.refreshHours(\.refreshHours),
        ]
    ) { options, place, problems in
        SharedOptions.check(keepTokens: options.keepTokens, options.refreshHours, at: place, &problems)
    }

    private static func address(
        _ name: String,
        _ path: any WritableKeyPath<OAuth2Options, String?> & Sendable,
        _ purpose: String,
        _ rule: TextRule = ServerAddress.rule
    ) -> Field<OAuth2Options> {
        Field(
            name,
            path,
            Codec<String>.text(rule).orNull,
            "Address of \(purpose)",
            "The address of \(purpose), such as that of a server of your own. null: that of the preset."
        )
    }
}
