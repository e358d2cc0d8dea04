package import Applications
package import Domain
package import Limiting
import Providers

/// The values that an iOS client exchanges for an access token of its account (docs/protocols/twitter.md §4).
package struct ReverseAuth: Sendable {
    package let consumerKey: String
    /// The value that the client sends to the provider as `x_reverse_auth_parameters`.
    package let parameters: String
}

/// The service's part of Twitter's reverse auth: it fetches the parameters that a device adds to its own request.
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

    /// Fetches the parameters of reverse auth for an app.
    ///
    /// Without an app id, uses the first app.
    ///
    /// - Throws: `provider_not_configured`, `not_found`, `overloaded`, and the errors of the provider.
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
