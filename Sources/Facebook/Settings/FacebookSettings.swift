package import Domain

/// The Facebook settings of an application.
package struct FacebookSettings: Sendable {
    package let enabled: Bool
    package let apps: [ProviderApp]
    package let options: FacebookOptions
    /// The verify token, which Facebook sends when the operator registers the webhook; nil if the operator set none.
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
}
