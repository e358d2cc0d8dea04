import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Adds the header `Strict-Transport-Security` (RFC 6797) to every response of a connection.
///
/// The header tells browsers to use only TLS with this host.
final class StrictTransportSecurity: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let value: String

    /// - Parameter seconds: How long browsers obey the header; 0 makes them forget it.
    init(seconds: Int) {
        value = "max-age=\(seconds)"
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data), head.status.kind != .informational else {
            return context.write(data, promise: promise)
        }
        head.headerFields[.strictTransportSecurity] = value
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }
}
