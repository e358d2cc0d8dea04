package import Applications
package import Domain
package import Limiting
import Providers

/// The values that an iOS client sends to Twitter to get an access token for the Twitter account on the device.
///
/// See docs/protocols/twitter.md §4.
package struct ReverseAuth: Sendable {
    package let consumerKey: String
    /// The value that the client sends to Twitter as `x_reverse_auth_parameters`.
    package let parameters: String
}

/// Twitter's reverse auth: fetches the signed parameters that an iOS device sends to Twitter in a request of its own.
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

    /// Fetches the parameters of Twitter's reverse auth for an app of the application.
    ///
    /// Without an app id, uses the application's first app.
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
