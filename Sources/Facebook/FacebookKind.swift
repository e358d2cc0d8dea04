package import Description
package import Domain
package import Encodings
package import Mapping
package import Providers
package import SignedTokens

extension ProviderName {
    /// The name of the provider kind Facebook.
    ///
    /// A provider of this kind usually has the same name.
    package static let facebook = ProviderName(known: "facebook")
}

/// The provider kind for Facebook.
///
/// A provider of this kind accepts access tokens, authorization codes and ID tokens of Limited Login. The service can
/// also send a browser to Facebook's login dialog itself.
package struct FacebookKind: ProviderKind {
    package let name = ProviderName.facebook
    package let title = FacebookProvider.title
    package let fields = ProfileFields.facebook
    package let subjects = SubjectRule(isDecimal: true)
    package let appTerms = AppTerms(
        id: ("appId", "App id", "The app id, as text. Each id only once."),
        TextRule(
            "must be a text of \(FacebookID.form)",
            pattern: "^[0-9]{1,32}$",
            example: "1234567890",
            isValid: FacebookID.isValid
        ),
        secret: ("appSecret", "App secret", "The app secret."),
        called: "the app secret",
        configID: (
            "configId", "Configuration id",
            "The configuration of Facebook Login for Business for the app's login dialog."
        )
    )
    package let secretOptions = [verifyToken]
    package let exportedOptions = ["graphVersion"]
    package let dialogReturn: EnteredAddress? =
        EnteredAddress(place: login, title: "Valid OAuth Redirect URIs", name: "authorize")
    package let callbacks = [
        EnteredAddress(place: login, title: "Deauthorize callback URL", name: "deauthorize"),
        EnteredAddress(place: login, title: "Data deletion requests, callback URL", name: "deletion"),
        EnteredAddress(place: "Webhooks, object Permissions", title: "Callback URL", name: "webhook"),
    ]

    private let graph: GraphClient
    private let keys: SigningKeys
    private let clock: WallClock

    private static let login = "Facebook Login, Settings"

    /// The secret option with the verify token of the webhook.
    ///
    /// The operator chooses the token, and enters it here and at Facebook. Facebook sends it when the webhook is
    /// registered.
    static let verifyToken = SecretOption(
        name: "webhookVerifyToken",
        "Webhook verify token",
        "The verify token that you enter for the webhook at Facebook.",
        title: "the verify token",
        variable: "WEBHOOK_VERIFY_TOKEN",
        bytes: 16...128
    )

    package init(graph: GraphClient, keys: SigningKeys, clock: WallClock) {
        self.graph = graph
        self.keys = keys
        self.clock = clock
    }

    package func check(_ options: FacebookOptions, at place: JSONPointer, problems: inout DocumentProblems) {
        let needs = [
            ("longLivedTokens", options.longLivedTokens), ("returnTokens", options.returnTokens),
            ("refreshHours", options.refreshHours != nil),
        ]
        for (name, isSet) in needs where isSet && !options.keepTokens {
            problems.add(place / name, "needs keepTokens to be true")
        }
    }

    package func provider(_ setup: ProviderSetup) throws(DocumentProblems) -> any Provider {
        FacebookProvider(
            name: setup.name,
            application: setup.application,
            settings: FacebookSettings(
                enabled: setup.isEnabled,
                apps: setup.apps,
                options: try FacebookOptions(setup.options),
                webhookVerifyToken: setup.secrets[Self.verifyToken.name]
            ),
            graph: graph,
            keys: keys,
            clock: clock
        )
    }
}

extension FacebookKind: UpstreamKind {
    package static let settingShape = ObjectShape(settingFields(FacebookOptions.description.shape, [verifyToken]))
    package static var variables: [any DeclaredVariable] { FacebookVariables.all }

    package static func setup(_ settings: inout some UpstreamSettings) -> UpstreamSetup? {
        guard let configuration = GraphConfiguration(&settings) else { return nil }
        return UpstreamSetup(usesTLS: configuration.usesTLS) { parts in
            let graph = GraphClient(curl: parts.curl, configuration: configuration)
            let keys = SigningKeys(issuer: FacebookProvider.title, logger: parts.logger) { (deadline) throws(Failure) in
                try await graph.signingKeys(deadline: deadline)
            }
            return FacebookKind(graph: graph, keys: keys, clock: parts.clock)
        }
    }
}
