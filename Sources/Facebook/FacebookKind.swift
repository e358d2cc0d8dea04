package import Mapping
package import Providers
package import SignedTokens
package import Upstream
package import Vocabulary

extension ProviderName {
    /// The kind, and what its instance is usually called.
    package static let facebook = ProviderName(known: "facebook")
}

/// Facebook: access tokens, authorization codes, ID tokens of Limited Login, and our own use of its login dialog.
package struct FacebookKind: ProviderKind {
    package let name = ProviderName.facebook
    package let title = FacebookProvider.title
    package let fields = ProfileFields.facebook
    package let subjects = SubjectRule(isDecimal: true)
    package let appTerms = AppTerms(
        id: "appId",
        secret: "appSecret",
        secretTitle: "the app secret",
        configID: "configId",
        idRule: "must be a text of \(FacebookID.form)",
        isID: FacebookID.isValid
    )
    package let optionNames = FacebookOptionsDocument.names
    package let secretOptions = [verifyToken]
    package let exportedOptions = [FacebookOptionsDocument.graphVersion]
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

    /// What Facebook repeats when it sets up the webhook.
    static let verifyToken = SecretOption(
        name: "webhookVerifyToken",
        title: "the verify token",
        variable: "WEBHOOK_VERIFY_TOKEN",
        bytes: 16...128
    )

    /// Makes the kind.
    ///
    /// - Parameters:
    ///   - graph: Asks Facebook.
    ///   - keys: Facebook's keys of ID tokens.
    ///   - clock: The time of day.
    package init(graph: GraphClient, keys: SigningKeys, clock: WallClock) {
        self.graph = graph
        self.keys = keys
        self.clock = clock
    }

    package func options(
        in object: JSONObject,
        at place: JSONPointer,
        problems: inout DocumentProblems
    ) -> JSONValue {
        FacebookOptionsDocument.document(
            of: FacebookOptionsDocument.read(object, at: place, problems: &problems)
        )
    }

    package func check(_ options: JSONValue, at place: JSONPointer, problems: inout DocumentProblems) {
        guard let options = try? FacebookOptionsDocument.parse(options) else { return }
        let needs = [
            ("longLivedTokens", options.longLivedTokens), ("returnTokens", options.returnTokens),
            ("refreshHours", options.refreshHours != nil),
        ]
        for (name, isSet) in needs where isSet && !options.keepTokens {
            problems.add(place / name, "needs keepTokens to be true: without it no token is kept")
        }
    }

    package func provider(_ setup: ProviderSetup) throws(DocumentProblems) -> any Provider {
        FacebookProvider(
            name: setup.name,
            application: setup.application,
            settings: FacebookSettings(
                enabled: setup.isEnabled,
                apps: setup.apps,
                options: try FacebookOptionsDocument.parse(setup.options),
                webhookVerifyToken: setup.secrets[Self.verifyToken.name]
            ),
            graph: graph,
            keys: keys,
            clock: clock
        )
    }
}

extension FacebookKind: UpstreamKind {
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
