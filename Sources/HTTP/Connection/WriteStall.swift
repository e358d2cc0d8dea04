import NIOCore

/// Ends a connection whose other end takes nothing of what waits for it.
///
/// It stands where the bytes go out, and counts those that the kernel has taken: whoever takes few at a time goes on,
/// whoever takes none for the limit is gone, and what was kept for it with it.
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
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { self.look(context) }
    }

    private func look(_ context: ChannelHandlerContext) {
        timer = nil
        let waiting = waiting(context)
        guard waiting > 0 else { return }
        if written &- waiting == taken { context.close(promise: nil) } else { start(context) }
    }

    /// Bytes that the kernel has not taken yet.
    private func waiting(_ context: ChannelHandlerContext) -> Int {
        (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }
}
