package import Applications
package import Domain
package import HTTP
package import Hummingbird

/// The base path by which a request named its application.
///
/// There are two kinds of base paths (docs/api/README.md#base-url).
package enum PublicBase {
    /// `/{applicationId}/{apiKey}`, with the accepted API key.
    case key(String)
    /// `/api` on a host name of the application, in lower case.
    case host(String)

    /// Returns the URL with which links to an application begin: the deployment's public URL and a base path.
    ///
    /// Nil if the deployment has no public URL. A link contains only those parts of a request that the configuration
    /// has confirmed: a key of the application, or one of its host names (T-71). A link to a host name has the scheme
    /// and the port of the public URL.
    package func url(at address: PublicAddress, for loaded: LoadedApplication) -> String? {
        switch self {
        case .key(let key): address.url.map { "\($0)/\(loaded.application.id)/\(key)" }
        case .host(let name): address.url(onHost: name).map { "\($0)/\(ApplicationBase.hostBound)" }
        }
    }
}

extension APIContext {
    /// Returns the base path by which a request named its application.
    ///
    /// The service redirects browsers to URLs that begin with this base path.
    ///
    /// - Throws: `malformed_request` if the request has a server's key, since users could read the key in the browser.
    package func base(of request: Request) throws(Failure) -> PublicBase {
        guard let apiKey else { return .host(String(request.hostName ?? "")) }
        guard !apiKey.isServer else {
            throw Failure(
                .malformedRequest,
                """
                This request is not allowed with a server key, because browsers would show the key in the address. Use \
                a client key.
                """,
                cause: "a server's key in an address that browsers are sent to"
            )
        }
        return .key(apiKey.text.reveal())
    }
}
