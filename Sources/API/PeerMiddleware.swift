import HTTPTypes
import Hummingbird
import Logging

/// Finds out where a request comes from, once: what is counted for a source counts for that, and each line that the request leaves in the
/// log has it as `source`.
struct PeerMiddleware: RouterMiddleware {
    let trustedProxies: PeerAddress.TrustedProxies

    func handle(
        _ request: Request,
        context: APIContext,
        next: (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.peer = PeerAddress(
            forwarded: request.headers[values: .xForwardedFor],
            behind: trustedProxies,
            of: context.remoteAddress
        )
        context.logger[metadataKey: "source"] = "\(context.peer.text)"
        return try await next(request, context)
    }
}
