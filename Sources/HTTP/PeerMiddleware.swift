import Domain
import HTTPTypes
package import Hummingbird
import Logging

/// Determines a request's source (the client's network address) and user agent once, for rate limits and the log.
///
/// Each log line of the request has the source in its field `source`.
package struct PeerMiddleware<Context: HTTPContext>: RouterMiddleware {
    private let trustedProxies: PeerAddress.TrustedProxies

    package init(trustedProxies: PeerAddress.TrustedProxies) {
        self.trustedProxies = trustedProxies
    }

    package func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.peer = PeerAddress(
            forwarded: request.headers[values: .xForwardedFor],
            behind: trustedProxies,
            of: context.remoteAddress
        )
        context.logger[metadataKey: "source"] = "\(context.peer.text)"
        let sender = RequestSender(
            source: context.peer.network == .unknown ? nil : context.peer.network.name,
            userAgent: request.headers[.userAgent]
        )
        return try await RequestSender.$current.withValue(sender) { try await next(request, context) }
    }
}
