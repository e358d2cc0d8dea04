import NIOCore

/// Closes a connection whose client reads nothing for some time although response bytes wait for it.
///
/// The handler is next to the socket, and counts the bytes that the kernel has accepted. A client that reads slowly
/// stays connected. A client that reads nothing until the time limit passes is disconnected, and its bytes are freed.
final class WriteStall: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let limit: TimeAmount
    private var written = 0
    private var taken = 0
    private var timer: Scheduled<Void>?

    init(limit: TimeAmount) {
        self.limit = limit
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        written &+= unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        if timer == nil, waiting(context) > 0 { start(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
    }

    private func start(_ context: ChannelHandlerContext) {
        taken = written &- waiting(context)
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { self.check(context) }
    }

    private func check(_ context: ChannelHandlerContext) {
        timer = nil
        let waiting = waiting(context)
        guard waiting > 0 else { return }
        if written &- waiting == taken { context.close(promise: nil) } else { start(context) }
    }

    /// Returns the number of response bytes that the kernel has not accepted yet.
    private func waiting(_ context: ChannelHandlerContext) -> Int {
        (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }
}
