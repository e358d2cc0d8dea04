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
/// A provider of this kind accepts ID tokens and authorization codes of one issuer. The service can also send a browser
/// to the issuer's login dialog itself.
package struct OpenIDKind: ProviderKind {
    package let name = ProviderName.oidc
    package let title = "OpenID Connect"
    package let fields = ProfileFields.openID
    package let subjects = SubjectRule(isGlobal: true)
    package let appTerms = AppTerms(
        id: ("clientId", "Client id", "The client id. Each id only once."),
        clientIDRule,
        secret: ("clientSecret", "Client secret", "The client secret."),
        called: "the client secret"
    )
    package let optionShape = OpenIDOptions.description.shape
    package let secretOptions: [SecretOption] = []
    package let exportedOptions: [String] = []
    package let dialogReturn: EnteredAddress? =
        EnteredAddress(place: "The client", title: "Redirect URI", name: "authorize")

    static let clientIDRule = TextRule(
        "must be a text of 1 to 255 letters, digits and _-./:",
        pattern: "^[A-Za-z0-9_./:-]{1,255}$",
        example: "1234567890-abc.apps.googleusercontent.com"
    ) { ProviderAppID($0) != nil }

    private let client: OpenIDClient
    private let clock: WallClock

    package init(client: OpenIDClient, clock: WallClock) {
        self.client = client
        self.clock = clock
    }

    package func options(
        in object: JSONObject,
        at place: JSONPointer,
        problems: inout DocumentProblems
    ) -> JSONValue {
        let options = OpenIDOptions.description.read(membersOf: object, at: place, problems: &problems)
        return OpenIDOptions.description.document(of: options)
    }

    package func check(_ options: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {
        guard let options = try? OpenIDOptions(options) else { return }
        let preset = options.preset.flatMap { Presets.named($0) }
        if options.preset != nil, preset == nil {
            problems.add(place / "preset", "is none of \(Presets.names)")
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
        guard let settings = OpenIDSettings(options, name: setup.name) else {
            throw DocumentProblems(JSONPointer() / "issuer", "is needed")
        }
        return OpenIDProvider(
            name: setup.name,
            application: setup.application,
            isEnabled: setup.isEnabled,
            apps: setup.apps,
            settings: settings,
            party: client.party(of: settings.issuer, title: settings.title),
            clock: clock
        )
    }
}

extension OpenIDKind: UpstreamKind {
    package static var variables: [any DeclaredVariable] { OpenIDVariables.all }

    package static func setup(_ settings: inout some UpstreamSettings) -> UpstreamSetup? {
        let configuration = OpenIDConfiguration(&settings)
        return UpstreamSetup(usesTLS: true) { parts in
            OpenIDKind(
                client: OpenIDClient(curl: parts.curl, configuration: configuration, logger: parts.logger),
                clock: parts.clock
            )
        }
    }
}

/// The issuers that this instance knows.
package final class OpenIDClient: Sendable {
    private let caller: IssuerCaller
    private let logger: Logger
    private let parties: Links<Key, IssuerParty>

    private struct Key: Hashable {
        let issuer: Issuer
        let title: String
    }

    package init(curl: CurlClient, configuration: OpenIDConfiguration, logger: Logger) {
        let caller = IssuerCaller(curl: curl, configuration: configuration)
        self.caller = caller
        self.logger = logger
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
            "email_verified": (nil, .unknown), "gender": (nil, .text), "birthdate": (nil, .text),
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
