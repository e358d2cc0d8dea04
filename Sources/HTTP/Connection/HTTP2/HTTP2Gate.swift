import NIOCore
import NIOHTTP2
import NIOSSL

/// A gate between the received bytes and NIO's HTTP/2 that closes a connection after an error.
///
/// NIO responds to a connection error with GOAWAY but still accepts bytes. Its parser keeps the bytes, and the
/// connection stays open until the client closes it. The gate lets no further bytes pass and closes the connection. It
/// also bounds how long a frame, or the frames of a header block, may take to arrive, and how many frames may come in
/// addition to requests.
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
    /// Whether a RST_STREAM frame was written since the last read; the next error then concerns only that stream.
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

    /// Handles NIO's report of an error in the connection's bytes; see ``HTTP2Faults``.
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

    /// Ends the connection of a client that repeats refused requests.
    func calm() {
        guard !isOver, let context else { return }
        refuse(context, .enhanceYourCalm)
    }

    // MARK: Ends

    /// Lets no further bytes pass, and closes the connection once the current writes have been handed on.
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

    /// Closes the connection after a delay, since the client was sent a GOAWAY or has closed its side of the
    /// connection.
    ///
    /// A client that sends nothing any more also sends no WINDOW_UPDATE. Responses that need one would wait forever.
    func leave() {
        guard farewell == nil, let context else { return }
        let time = min(limit, Self.maxFarewellBytes)
        farewell = context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
    }

    /// The longest delay before the connection closes: longer than any request under way takes.
    private static let maxFarewellBytes = TimeAmount.seconds(10)

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

    /// Closes without the closure alert of TLS (RFC 8446 §6.1), since the service would wait for the client's alert.
    ///
    /// While it waits, a connection with refused streams keeps some 100 KiB, and attackers never send the alert.
    private func closeAtOnce(_ context: ChannelHandlerContext) {
        let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        context.eventLoop.assumeIsolated().execute { (tls ?? context).close(promise: nil) }
    }

    // MARK: Time

    /// Starts the timer of an incomplete frame.
    ///
    /// A request that arrives whole starts no timer. A timer left from an earlier request checks again when it fires.
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
