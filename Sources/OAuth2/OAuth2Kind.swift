package import AuthorizationServers
package import Curl
package import Description
package import Domain
package import Encodings
package import Mapping
package import Providers

extension ProviderName {
    /// The name of the provider kind for OAuth 2.0.
    package static let oauth2 = ProviderName(known: "oauth2")
}

/// The provider kind for OAuth 2.0 servers without ID tokens.
///
/// A provider of this kind accepts authorization codes, and access tokens if the server shows for which client it
/// issued them.
package struct OAuth2Kind: ProviderKind {
    package let name = ProviderName.oauth2
    package let title = "OAuth 2.0"
    package let fields = ProfileFields.none
    package let secretOptions: [SecretOption] = []
    package let exportedOptions = ["preset"]

    private let servers: Links<OAuth2ServerKey, AuthorizationServer>
    package let known: Presets<OAuth2Preset>
    private let clock: WallClock

    package init(
        curl: CurlClient,
        configuration: CallConfiguration,
        presets: Presets<OAuth2Preset> = .shipped,
        clock: WallClock
    ) {
        let caller = ServerCaller(curl: curl, configuration: configuration)
        let calls = ServerCalls(of: "oauth2")
        servers = Links { key in
            AuthorizationServer(
                UpstreamService(name: key.title, api: "OAuth 2.0 server"),
                caller: caller,
                calls: calls
            )
        }
        known = presets
        self.clock = clock
    }

    package func check(_ options: OAuth2Options, at place: JSONPointer, problems: inout DocumentProblems) {
        do throws(DocumentProblems) { _ = try known.named(options.preset, at: place) } catch { problems.add(error) }
    }

    package func provider(_ setup: ProviderSetup) throws(DocumentProblems) -> any Provider {
        let options = try OAuth2Options(setup.options)
        let settings = OAuth2Settings(options, preset: try known.named(options.preset))
        return OAuth2Provider(
            name: setup.name,
            isEnabled: setup.isEnabled,
            apps: setup.apps,
            settings: settings,
            server: servers.link(settings.server),
            clock: clock
        )
    }
}

extension OAuth2Kind: ServerKind {
    package static let ownPresets = Variable<Presets<OAuth2Preset>>.presets("oauth.presets", of: "OAuth 2.0 servers")

    package static func setup(_ settings: inout some UpstreamSettings) -> UpstreamSetup? {
        let configuration = CallConfiguration(&settings)
        let presets = settings.value(ownPresets)
        return UpstreamSetup(usesTLS: true) { parts in
            OAuth2Kind(curl: parts.curl, configuration: configuration, presets: presets, clock: parts.clock)
        }
    }
}
