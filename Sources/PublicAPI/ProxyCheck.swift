import Applications
import HTTP
import HTTPTypes
import Hummingbird

/// A middleware that warns of requests through proxies that the deployment has not declared.
///
/// All clients behind such a proxy are one source: a thousand wrong passwords from one of them lock out all. Any client
/// can write the header fields of proxies, so the warning may be wrong, and no request is refused for it.
struct ProxyCheck: RouterMiddleware {
    let trustedProxies: PeerAddress.TrustedProxies
    let warnings: Warnings

    func handle(
        _ request: Request,
        context: APIContext,
        next: (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        let hops = max(Self.entries(of: .xForwardedFor, in: request), Self.entries(of: .forwarded, in: request))
        if hops > trustedProxies { warnings.raise(Self.warning(trustedProxies)) }
        return try await next(request, context)
    }

    static func warning(_ trustedProxies: PeerAddress.TrustedProxies) -> String {
        let found =
            trustedProxies == 0
            ? "Requests come with X-Forwarded-For or Forwarded, and FEDERATION_TRUSTED_PROXIES is 0"
            : "Requests come with more addresses in X-Forwarded-For or Forwarded than FEDERATION_TRUSTED_PROXIES says, \(trustedProxies)"
        return found
            + ". If they come through a proxy that is not counted, all its callers are one source, and the wrong passwords of one of them "
            + "lock out all: set how many proxies there are. If not, a client has written them, and nothing comes of it."
    }

    private static func entries(of name: HTTPField.Name, in request: Request) -> Int {
        request.headers[values: name].reduce(0) { $0 + 1 + $1.utf8.count { $0 == UInt8(ascii: ",") } }
    }
}

extension HTTPField.Name {
    fileprivate static let forwarded = HTTPField.Name(known: "Forwarded")
}
