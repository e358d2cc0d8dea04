import NIOCore
import NIOHTTP2
import NIOSSL

/// Closes an HTTP/2 connection after an error; a channel handler that receives the bytes before NIO's HTTP/2 handler.
///
/// After an error of the connection, NIO sends GOAWAY but still accepts bytes. Its parser keeps the bytes, and the
/// connection stays open until the client closes it. This handler drops further bytes and closes the connection. It
/// also limits how long a frame, or the frames of a header block, may take to arrive. And it limits how many frames a
/// client may send in addition to those that its requests need.
final class HTTP2Gate: ChannelInboundHandler, NIOHTTP2FrameDelegate {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let limit: TimeAmount
    private var meter = FrameMeter(now: .now())
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?
    private var farewell: Scheduled<Void>?
    private var isOver = false
    /// Whether a RST_STREAM frame was written since the last read.
    ///
    /// If so, the next error of NIO concerns only the stream of that frame.
    private var hasResetStream = false

    /// - Parameter limit: How long a frame may take to arrive, and how long the client may stay after a GOAWAY.
    init(limit: TimeAmount) {
        self.limit = limit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        watch(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        stop()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        isOver = true
        stop()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        guard meter.take(unwrapInboundIn(data).readableBytesView, now: .now()) else {
            return refuse(context, .enhanceYourCalm)
        }
        hasResetStream = false
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        watch(context)
        context.fireChannelReadComplete()
    }

    /// Closes the connection when NIO reports an error in its bytes, unless the error concerns only a stream.
    ///
    /// ``HTTP2Faults`` calls this method.
    func sawError() {
        if hasResetStream { hasResetStream = false } else { cut() }
    }

    func wroteFrame(_ frame: HTTP2Frame) {
        switch frame.payload {
        case .rstStream: hasResetStream = true
        case .goAway(_, .noError, _): leave()
        case .goAway: cut()
        default: break
        }
    }

    /// Sends ENHANCE_YOUR_CALM and closes the connection, since the client repeats refused requests.
    func calm() {
        guard !isOver, let context else { return }
        refuse(context, .enhanceYourCalm)
    }

    // MARK: Ends

    /// Drops further received bytes, and closes the connection after the event loop has done its current work.
    func end() {
        guard !isOver, let context else { return }
        isOver = true
        context.eventLoop.assumeIsolated().execute { context.close(promise: nil) }
    }

    /// Ends the connection of a client that breaks the protocol.
    private func cut() {
        guard !isOver, let context else { return }
        isOver = true
        closeAtOnce(context)
    }

    /// Closes the connection after a delay, even if responses are still waiting.
    ///
    /// Called when the service has sent a GOAWAY, or when the client has closed its side of the connection. A response
    /// may then wait for a WINDOW_UPDATE that the client never sends.
    func leave() {
        guard farewell == nil, let context else { return }
        let time = min(limit, Self.maxFarewellTime)
        farewell = context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
    }

    /// The maximum delay before the service closes a connection that is to end.
    ///
    /// No request takes longer than this.
    private static let maxFarewellTime = TimeAmount.seconds(10)

    /// Sends GOAWAY with an error code, and closes the connection.
    private func refuse(_ context: ChannelHandlerContext, _ code: HTTP2ErrorCode) {
        isOver = true
        // GOAWAY (RFC 9113 §6.8): 8 octets on stream 0, the last stream that may have been handled, and the error code.
        var frame = context.channel.allocator.buffer(capacity: 17)
        frame.writeBytes([0, 0, 8, 7, 0, 0, 0, 0, 0])
        frame.writeInteger(Int32.max)
        frame.writeInteger(UInt32(code.networkCode))
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
        closeAtOnce(context)
    }

    /// Closes the connection without sending TLS's closure alert (RFC 8446 §6.1).
    ///
    /// After the alert, the service would wait for the alert of the client. During that wait, a connection with refused
    /// streams keeps some 100 KiB, and attackers never send the alert.
    private func closeAtOnce(_ context: ChannelHandlerContext) {
        let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        context.eventLoop.assumeIsolated().execute { (tls ?? context).close(promise: nil) }
    }

    // MARK: Time

    /// Starts the timer that limits how long a frame may be incomplete.
    ///
    /// If all received frames are complete, starts no timer. A timer of an earlier frame may still run; when it fires,
    /// it checks the time again.
    private func watch(_ context: ChannelHandlerContext) {
        guard timer == nil, !isOver, let since = meter.isOpenSince else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: since + limit) {
            self.timer = nil
            guard let since = self.meter.isOpenSince, since + self.limit <= .now() else { return self.watch(context) }
            self.refuse(context, .noError)
        }
    }

    private func stop() {
        timer?.cancel()
        farewell?.cancel()
        (timer, farewell) = (nil, nil)
    }
}

/// The channel handler after NIO's HTTP/2 handler; reports the errors of NIO's handler to ``HTTP2Gate``.
final class HTTP2Faults: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let gate: HTTP2Gate

    init(_ gate: HTTP2Gate) {
        self.gate = gate
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        gate.sawError()
        context.fireErrorCaught(error)
    }
}
