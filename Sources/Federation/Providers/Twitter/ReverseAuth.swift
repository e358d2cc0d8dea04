package import Identity
import Twitter

/// What an iOS client needs to have its account's access token made (docs/protocols/twitter.md §4).
package struct ReverseAuth: Sendable {
    package let consumerKey: String
    /// What the client sends to Twitter as `x_reverse_auth_parameters`.
    package let parameters: String
}

extension Federation {
    /// Fetches the parameters of reverse auth, as the app that is named or the first one.
    ///
    /// - Throws: `provider_not_configured`, `overloaded`, and what Twitter has against it.
    package func reverseAuth(appID: String?, of loaded: LoadedApplication) async throws(Failure) -> ReverseAuth {
        try await admitted { () throws(Failure) in
            guard let app = try loaded.apps(of: .twitter, appID: appID).first else {
                throw LoadedApplication.unusable(cause: "the application has no Twitter app")
            }
            let parameters = try await clients.twitter.reverseAuthParameters(
                consumerKey: app.id.text,
                consumerSecret: app.secret,
                application: loaded.application.id,
                deadline: .now + limits.login
            )
            return ReverseAuth(consumerKey: app.id.text, parameters: parameters)
        }
    }
}
