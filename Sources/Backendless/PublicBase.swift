import Applications
import HTTP
import Hummingbird
import Vocabulary

/// By which of its two base paths a request came to its application (docs/api.md#base-url).
enum PublicBase {
    /// `/{applicationId}/{apiKey}`, with the key that was accepted.
    case key(String)
    /// `/api` on a host name of the application's, in lower case.
    case host(String)

    /// What the links begin with that are given out for an application: the deployment's public URL and a base path;
    /// nil when the deployment does not say where it is reached.
    ///
    /// Of what a request says nothing gets in but what the configuration has confirmed: a key of the application, or
    /// one of its host names (T-71). A host name is reached by the scheme and the port of the public URL.
    func url(at address: PublicAddress, for loaded: LoadedApplication) -> String? {
        switch self {
        case .key(let key): address.url.map { "\($0)/\(loaded.application.id)/\(key)" }
        case .host(let name): address.url(onHost: name).map { "\($0)/\(ApplicationRoutes.hostBound)" }
        }
    }
}

extension APIContext {
    /// By which base a request has found its application; addresses of ours begin with it that browsers are sent to.
    ///
    /// - Throws: `malformed_request` for a server's key, which everybody would then read in the browser.
    func base(of request: Request) throws(Failure) -> PublicBase {
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
