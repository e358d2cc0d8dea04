import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Tells browsers to come by TLS alone from now on (RFC 6797), in every reply of a connection that has it.
final class StrictTransportSecurity: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let value: String

    /// - Parameter seconds: How long browsers keep to it; 0 makes them forget it.
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
