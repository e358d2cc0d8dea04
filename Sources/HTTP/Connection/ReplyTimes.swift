import NIOCore
import NIOHTTPTypes

/// Limits how long a response waits for its client to read it, and how many bytes wait.
///
/// An unread response takes memory for its bytes and for its request's task. So it counts for the listener's
/// ``ConnectionBudget`` until the client has read it.
final class ReplyTimes: ChannelOutboundHandler {
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The size, in bytes, of the pieces into which a long body of a response is split.
    ///
    /// Each piece that is written to the network shows that the client is still reading.
    private static let piece = 16_384

    private let limit: TimeAmount?
    private var charge: ConnectionCharge
    private var stall: Scheduled<Void>?
    private var isLooking = false
    /// The number of parts of responses that have not been written to the network yet.
    private var waiting = 0
    /// The number of response bytes that have not been written to the network yet.
    private var bytes = 0
    /// The number of parts of responses that have been written to the network.
    private var taken = 0

    /// - Parameters:
    ///   - limit: How long the client may read nothing; nil if ``WriteStall`` enforces this limit.
    ///   - share: Counts the memory that the connection uses.
    init(limit: TimeAmount?, share: ConnectionShare) {
        self.limit = limit
        charge = ConnectionCharge(share)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .body(var bytes) = unwrapOutboundIn(data) else {
            return write(data, of: 0, to: context, promise)
        }
        while bytes.readableBytes > Self.piece, let piece = bytes.readSlice(length: Self.piece) {
            write(wrapOutboundOut(.body(piece)), of: piece.readableBytes, to: context, nil)
        }
        write(wrapOutboundOut(.body(bytes)), of: bytes.readableBytes, to: context, promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        guard waiting > 0 else { return }
        check(context)
        if stall == nil, let limit { watch(context, limit) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        stall?.cancel()
        _ = charge.set(0)
    }

    private func write(
        _ part: NIOAny,
        of size: Int,
        to context: ChannelHandlerContext,
        _ promise: EventLoopPromise<Void>?
    ) {
        let written = promise ?? context.eventLoop.makePromise()
        waiting += 1
        bytes += size
        written.futureResult.assumeIsolated().whenComplete { _ in
            self.waiting -= 1
            self.bytes -= size
            self.taken &+= 1
            if self.waiting == 0 { _ = self.charge.set(0) }
        }
        context.write(part, promise: written)
    }

    /// Counts the memory of responses that still wait, once the event loop has done its other work.
    ///
    /// Most responses have been written by then, and nothing is counted. If too few bytes are free, the connection is
    /// closed.
    private func check(_ context: ChannelHandlerContext) {
        guard !isLooking else { return }
        isLooking = true
        context.eventLoop.assumeIsolated().execute {
            self.isLooking = false
            guard self.waiting > 0, context.channel.isActive else { return }
            if !self.charge.set(ConnectionBudget.request + self.bytes) { context.close(promise: nil) }
        }
    }

    private func watch(_ context: ChannelHandlerContext, _ limit: TimeAmount) {
        let before = taken
        stall = context.eventLoop.assumeIsolated().scheduleTask(in: limit) {
            self.stall = nil
            guard self.waiting > 0 else { return }
            if self.taken == before { context.close(promise: nil) } else { self.watch(context, limit) }
        }
    }
}
