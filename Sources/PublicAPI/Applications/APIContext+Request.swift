package import Domain
package import HTTP
import Hummingbird
package import Limiting
package import Logins
package import Messaging

extension APIContext {
    /// The source of the request, for which login attempts are counted.
    package var source: RequestSource { RequestSource(name: peer.network.name) }

    /// The source of the request, for rate limits.
    ///
    /// Nil if the client is an application's server, since a server sends the requests of many users.
    package var limitedSource: LimitedSource? { apiKey?.isServer == true ? nil : peer.limitedSource }

    /// Returns the client that sent a login: the label of its API key, and its trusted device.
    package func client(trustedDevice: String?, usesRefreshTokens: Bool = false) -> LoginClient {
        LoginClient(
            keyLabel: apiKey?.label,
            trustedDevice: trustedDevice.map(Secret.init),
            usesRefreshTokens: usesRefreshTokens
        )
    }

    /// Returns the provider that the path names.
    ///
    /// Upper and lower case are equal, since client SDKs use both.
    ///
    /// - Throws: `not_found` for a text that cannot be a provider's name.
    package func provider() throws(Failure) -> ProviderName {
        try ProviderName(inPath: parameters.get("provider"))
    }
}
