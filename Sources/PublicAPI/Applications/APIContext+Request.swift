package import Domain
package import HTTP
import Hummingbird
package import Limiting
package import Logins
package import Messaging

extension APIContext {
    /// The source of the request, as attempts are counted for it.
    package var source: RequestSource { RequestSource(name: peer.network.name) }

    /// The source as each instance's rate limits count it; nil for an application's server, which many users share.
    package var limitedSource: LimitedSource? { apiKey?.isServer == true ? nil : peer.limitedSource }

    /// Returns the client of a login, with the label of its API key and its trusted device.
    package func client(trustedDevice: String?) -> LoginClient {
        LoginClient(keyLabel: apiKey?.label, trustedDevice: trustedDevice.map(Secret.init))
    }

    /// Returns the provider that the path names, in any case of letters, as client SDKs write it.
    ///
    /// - Throws: `not_found` for a text that cannot be a provider's name.
    package func provider() throws(Failure) -> ProviderName {
        try ProviderName(inPath: parameters.get("provider"))
    }
}
