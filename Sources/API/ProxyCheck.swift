import Applications
import HTTP
import HTTPTypes
import Hummingbird

/// Warns when requests come through proxies that the deployment has not declared.
///
/// Everybody behind such a proxy is one source, and a thousand wrong guesses of one of them lock the passwords of all.
/// Anybody can write these fields, so this says what may be, and no request is refused for it.
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
