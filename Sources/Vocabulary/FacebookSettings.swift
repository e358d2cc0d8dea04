extension ProviderName {
    package static let facebook = ProviderName(known: "facebook")
}

extension Application {
    /// Nil when logins with Facebook are not configured.
    package var facebook: FacebookSettings? { providers[.facebook] as? FacebookSettings }
}

/// How an application talks to Facebook.
package struct FacebookSettings: ProviderSettings {
    package let enabled: Bool
    package let apps: [ProviderApp]
    package let options: FacebookOptions
    /// The text that Facebook repeats when it sets up the webhook; nil when there is none.
    package let webhookVerifyToken: Secret?

    package init(
        enabled: Bool,
        apps: [ProviderApp],
        options: FacebookOptions = FacebookOptions(),
        webhookVerifyToken: Secret? = nil
    ) {
        self.enabled = enabled
        self.apps = apps
        self.options = options
        self.webhookVerifyToken = webhookVerifyToken
    }

    package var graphVersion: String { options.graphVersion }
    package var proof: ProofForm { options.proof }

    package var tokenKeeping: TokenKeeping? {
        options.keepTokens ? (options.longLivedTokens ? .exchanged : .asItIs) : nil
    }
}
