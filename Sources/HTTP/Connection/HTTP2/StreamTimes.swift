import NIOCore
import NIOHTTPTypes

/// Bounds how long the request of a stream takes to arrive, and how long its reply waits to be taken.
///
/// The head is there when the stream is: how long its frames take is the gate's matter.
final class StreamTimes: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// A body goes out in pieces, so that one of them that is taken shows.
    private static let piece = 16_384

    private let limits: ConnectionLimits
    private var arrival: Scheduled<Void>?
    private var stall: Scheduled<Void>?
    private var waiting = 0
    private var taken = 0

    init(limits: ConnectionLimits) {
        self.limits = limits
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            arrival = context.eventLoop.assumeIsolated().scheduleTask(in: limits.read) { context.close(promise: nil) }
        case .body: break
        case .end: arrival?.cancel()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .body(var bytes) = unwrapOutboundIn(data) else {
            return write(data, to: context, promise)
        }
        while bytes.readableBytes > Self.piece, let piece = bytes.readSlice(length: Self.piece) {
            write(wrapOutboundOut(.body(piece)), to: context, nil)
        }
        write(wrapOutboundOut(.body(bytes)), to: context, promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        if stall == nil, waiting > 0 { watch(context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    private func write(_ part: NIOAny, to context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        let written = promise ?? context.eventLoop.makePromise()
        waiting += 1
        written.futureResult.assumeIsolated().whenComplete { _ in
            self.waiting -= 1
            self.taken &+= 1
        }
        context.write(part, promise: written)
    }

    private func watch(_ context: ChannelHandlerContext) {
        let before = taken
        stall = context.eventLoop.assumeIsolated().scheduleTask(in: limits.write) {
            self.stall = nil
            guard self.waiting > 0 else { return }
            if self.taken == before { context.close(promise: nil) } else { self.watch(context) }
        }
    }

    private func stop() {
        arrival?.cancel()
        stall?.cancel()
    }
}
