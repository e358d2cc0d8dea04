package import AuthorizationServers
package import Curl
package import Description
package import Domain
package import Encodings
package import Logging
package import Mapping
package import Providers

extension ProviderName {
    /// The name of the provider kind for OpenID Connect.
    package static let oidc = ProviderName(known: "oidc")
}

/// The provider kind for OpenID Connect.
///
/// A provider of this kind accepts ID tokens, authorization codes and access tokens of one issuer. The service can also
/// send a browser to the issuer's login dialog itself.
package struct OpenIDKind: ProviderKind {
    package let name = ProviderName.oidc
    package let title = "OpenID Connect"
    package let fields = ProfileFields.openID
    package let secretOptions = [privateKey]
    package let secretlessApps: String? = "clientIds"
    package let exportedOptions: [String] = []
    package let callbacks = [
        EnteredAddress(place: "The client", title: "Events and back-channel logout", name: "webhook")
    ]

    static let privateKey = SecretOption(
        name: "privateKey",
        "Private key",
        "The key of signingKey: the text of the file that Apple hands out, AuthKey_….p8.",
        title: "the private key",
        variable: "PRIVATE_KEY",
        pattern: #"^-----BEGIN PRIVATE KEY-----[\s\S]{50,2000}$"#
    ) { secret in
        ClientSecretKey.read(secret) == nil ? "must be a private key of the curve P-256 in PEM" : nil
    }

    private let client: OpenIDClient
    package let known: Presets<OpenIDPreset>
    private let clock: WallClock

    package init(client: OpenIDClient, presets: Presets<OpenIDPreset> = .shipped, clock: WallClock) {
        self.client = client
        known = presets
        self.clock = clock
    }

    package func check(_ options: OpenIDOptions, at place: JSONPointer, problems: inout DocumentProblems) {
        var preset: OpenIDPreset?
        if let name = options.preset {
            do throws(DocumentProblems) { preset = try known.named(name, at: place) } catch { problems.add(error) }
        }
        if options.issuer == nil, preset?.issuer == nil {
            problems.add(place / "issuer", "is needed: \(preset == nil ? "there is no preset" : "the preset has none")")
        }
        if let scopes = options.scopes, !scopes.contains(where: { $0.hasSameBytes(as: "openid") }) {
            problems.add(place / "scopes", "must contain openid")
        }
    }

    package func provider(_ setup: ProviderSetup) throws(DocumentProblems) -> any Provider {
        let options = try OpenIDOptions(setup.options)
        let preset = try options.preset.map { (name) throws(DocumentProblems) in try known.named(name) }
        let key = setup.secrets[Self.privateKey.name]
        guard let settings = OpenIDSettings(options, preset: preset, name: setup.name, privateKey: key) else {
            throw DocumentProblems(JSONPointer() / "issuer", "is needed")
        }
        let secretless = options.clientIDs.compactMap { ProviderAppID($0) }
            .filter { id in !setup.apps.contains { $0.id == id } }
        return OpenIDProvider(
            name: setup.name,
            isEnabled: setup.isEnabled,
            apps: setup.apps + secretless.map { ProviderApp(id: $0, secret: Secret("")) },
            settings: settings,
            party: client.party(of: settings.issuer, title: settings.title),
            clock: clock
        )
    }
}

extension OpenIDKind: ServerKind {
    package static let ownPresets =
        Variable<Presets<OpenIDPreset>>.presets("openid.presets", of: "issuers of OpenID Connect")

    package static func setup(_ settings: inout some UpstreamSettings) -> UpstreamSetup? {
        let configuration = CallConfiguration(&settings)
        let presets = settings.value(ownPresets)
        return UpstreamSetup(usesTLS: true) { parts in
            OpenIDKind(
                client: OpenIDClient(curl: parts.curl, configuration: configuration, logger: parts.logger),
                presets: presets,
                clock: parts.clock
            )
        }
    }
}

/// The issuers that this instance knows.
package final class OpenIDClient: Sendable {
    private let parties: Links<Key, IssuerParty>

    private struct Key: Hashable {
        let issuer: Issuer
        let title: String
    }

    package init(curl: CurlClient, configuration: CallConfiguration, logger: Logger) {
        let caller = ServerCaller(curl: curl, configuration: configuration)
        parties = Links { IssuerParty($0.issuer, title: $0.title, caller: caller, logger: logger) }
    }

    /// Returns what is known about an issuer; all applications with the same issuer share it.
    func party(of issuer: Issuer, title: String) -> IssuerParty { parties.link(Key(issuer: issuer, title: title)) }
}

extension ProfileFields {
    /// The standard claims (docs/protocols/openid.md §4).
    package static let openID = ProfileFields(
        of: "the issuer",
        [
            "sub": (nil, .text), "name": (nil, .text), "given_name": (nil, .text), "family_name": (nil, .text),
            "middle_name": (nil, .text), "nickname": (nil, .text), "preferred_username": (nil, .text),
            "profile": (nil, .url), "picture": (nil, .url), "website": (nil, .url), "email": (nil, .email),
            "email_verified": (nil, .unknown), "gender": (nil, .text), "birthdate": (nil, .day),
            "zoneinfo": (nil, .text), "locale": (nil, .text), "phone_number": (nil, .text),
            "phone_number_verified": (nil, .boolean), "address": (nil, .object(["formatted": .prose])),
            "updated_at": (nil, .integer),
        ],
        sample: [
            "sub": .string("110169484474386276334"), "name": .string("Ann Müller"), "given_name": .string("Ann"),
            "family_name": .string("Müller"), "email": .string("ann@example.com"), "email_verified": .bool(true),
            "picture": .string("https://example.com/ann.jpg"), "locale": .string("de"),
        ],
        synonyms: ["first_name": "given_name", "last_name": "family_name", "id": "sub", "birthday": "birthdate"]
    )
}
