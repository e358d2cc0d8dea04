import Applications
import HTTP
import HTTPTypes
import Hummingbird

/// Warns operators if requests come through more proxies than the configuration states.
///
/// All clients behind an uncounted proxy count as one source. If one of them sends too many wrong passwords, the
/// lockout applies to all of them. The warning may be wrong, since any client can send the headers of proxies. So no
/// request is refused for this reason.
struct ProxyCheck: Sendable {
    let trustedProxies: PeerAddress.TrustedProxies
    let warnings: Warnings

    func inspect(_ request: Request) {
        let hops = max(Self.entries(of: .xForwardedFor, in: request), Self.entries(of: .forwarded, in: request))
        if hops > trustedProxies { warnings.raise(Self.warning(trustedProxies)) }
    }

    static func warning(_ trustedProxies: PeerAddress.TrustedProxies) -> String {
        let found =
            trustedProxies == 0
            ? "Requests have X-Forwarded-For or Forwarded, but FEDERATION_TRUSTED_PROXIES is 0"
            : "Requests have more addresses in X-Forwarded-For or Forwarded than FEDERATION_TRUSTED_PROXIES, "
                + "\(trustedProxies)"
        return found
            + ". If a proxy is not counted, all its clients count as one source, and wrong passwords of one client "
            + "lock out all: set the number of proxies. If there is no such proxy, ignore this: a client wrote them."
    }

    private static func entries(of name: HTTPField.Name, in request: Request) -> Int {
        request.headers[values: name].reduce(0) { $0 + 1 + $1.utf8.count { $0 == UInt8(ascii: ",") } }
    }
}

extension HTTPField.Name {
    fileprivate static let forwarded = HTTPField.Name(known: "Forwarded")
}
