package import Applications
package import Domain
package import HTTP
package import Hummingbird

/// The base path, one of two, by which a request named its application (docs/api.md#base-url).
package enum PublicBase {
    /// `/{applicationId}/{apiKey}`, with the accepted API key.
    case key(String)
    /// `/api` on a host name of the application's, in lower case.
    case host(String)

    /// Returns the beginning of an application's links: the deployment's public URL and a base path.
    ///
    /// The result is nil when the deployment has no public URL. Of a request, the link contains only what the
    /// configuration has confirmed: a key of the application, or one of its host names (T-71). A host name is reached
    /// by the scheme and the port of the public URL.
    package func url(at address: PublicAddress, for loaded: LoadedApplication) -> String? {
        switch self {
        case .key(let key): address.url.map { "\($0)/\(loaded.application.id)/\(key)" }
        case .host(let name): address.url(onHost: name).map { "\($0)/\(ApplicationBase.hostBound)" }
        }
    }
}

extension APIContext {
    /// Returns the base by which a request named its application.
    ///
    /// Addresses of this service to which browsers are redirected begin with the base.
    ///
    /// - Throws: `malformed_request` for a server's key, which users could then read in the browser.
    package func base(of request: Request) throws(Failure) -> PublicBase {
        guard let apiKey else { return .host(String(request.hostName ?? "")) }
        guard !apiKey.isServer else {
            throw Failure(
                .malformedRequest,
                "The addresses that this leads to hold the API key, and people's browsers show them. Call it with a key that is no server's.",
                cause: "a server's key in an address that browsers are sent to"
            )
        }
        return .key(apiKey.text.reveal())
    }
}
