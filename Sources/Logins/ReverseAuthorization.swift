package import Applications
package import Limiting
import Providers
package import Vocabulary

/// What an iOS client needs to have its account's access token made (docs/protocols/twitter.md §4).
package struct ReverseAuth: Sendable {
    package let consumerKey: String
    /// What the client sends to the provider as `x_reverse_auth_parameters`.
    package let parameters: String
}

/// The first half of a reverse authorization: what a device signs its own request with.
package struct ReverseAuthorization: Sendable {
    let admission: Admission
    let limits: Limits

    package init(
        admission: Admission,
        limits: Limits
    ) {
        self.admission = admission
        self.limits = limits
    }

    /// Fetches the parameters of reverse auth, as the app that is named or the first one.
    ///
    /// - Throws: `provider_not_configured`, `not_found`, `overloaded`, and what the provider has against it.
    package func reverseAuth(
        by provider: ProviderName,
        appID: String?,
        of loaded: LoadedApplication
    ) async throws(Failure) -> ReverseAuth {
        try await admission.admit(loaded.application.id) { () throws(Failure) in
            let provider = try loaded.provider(provider, as: (any ReverseAuthorizing).self)
            let result = try await provider.reverseAuthorization(appID: appID, deadline: .now + limits.login)
            return ReverseAuth(consumerKey: result.consumerKey, parameters: result.parameters)
        }
    }
}
