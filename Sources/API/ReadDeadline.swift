package import NIOCore
package import NIOHTTPTypes

/// Closes a connection whose request does not arrive in time, so that slow senders cannot hold connections (decision D9).
///
/// The first request of a connection has to begin, and every request that has begun has to end, within the limit. Waiting for
/// the next request on a connection that has served one is the idle limit's matter.
package final class ReadDeadline: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart

    private let limit: TimeAmount
    private var timer: Scheduled<Void>?
    private var isWaiting = true

    package init(limit: TimeAmount) {
        self.limit = limit
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { start(context) }
    }

    package func channelActive(context: ChannelHandlerContext) {
        start(context)
        context.fireChannelActive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: isWaiting = true
        case .body: break
        case .end: isWaiting = false
        }
        context.fireChannelRead(data)
    }

    /// A small request arrives whole in one read, and then no timer is ever made for it.
    package func channelReadComplete(context: ChannelHandlerContext) {
        if isWaiting { start(context) } else { stop() }
        context.fireChannelReadComplete()
    }

    package func handlerRemoved(context: ChannelHandlerContext) { stop() }

    package func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    private func start(_ context: ChannelHandlerContext) {
        guard timer == nil else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { context.close(promise: nil) }
    }

    private func stop() {
        timer?.cancel()
        timer = nil
    }
}
