import NIOCore
import NIOHTTP1

/// Limits how long a request may take to arrive, and how many bytes it may have in addition to its body.
///
/// The first request must end within the time limit after the connection opens (decision D9). Each later request must
/// end within the time limit after its first byte. The idle timeout limits the wait between two requests.
///
/// The handler receives the bytes before the HTTP parser, which does not report some of them: incomplete headers, chunk
/// extensions, blank lines and white space. If a request asks for a protocol upgrade, the parser also keeps all bytes
/// that follow the request.
final class RequestArrival: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The maximum size of a request without its body, in bytes.
    ///
    /// It covers the request line, the headers, and the framing of a chunked body.
    static let framing = 65_536
    /// For each byte of its body, a request may have this many more bytes of framing than `framing` allows.
    ///
    /// The number suffices even for a chunked body in which each chunk has a single byte.
    static let framingOfByte = 8
    /// The maximum number of bytes that are handled in one step; one read from a TLS connection may bring far more.
    private static let piece = 16_384

    private let limit: TimeAmount
    private var timer: Scheduled<Void>?
    private var isArriving = true
    /// The number of bytes that the request may still have in addition to its body.
    ///
    /// If the number falls below zero, the request is refused and the connection ends.
    private var left = framing
    private var isInFirstLine = true
    /// The number of bytes of the request that have arrived so far, at most `framing`.
    private var arrived = 0
    private var charge: ConnectionCharge

    /// The number of bytes of the request line that have arrived so far.
    private(set) var firstLine = 0

    /// - Parameters:
    ///   - limit: How long a request may take to arrive.
    ///   - share: Counts the memory that an incomplete request uses.
    init(limit: TimeAmount, share: ConnectionShare) {
        self.limit = limit
        charge = ConnectionCharge(share)
    }

    /// Updates the time limit and the size limit of a request after the HTTP parser has read a part of the request.
    func saw(_ part: HTTPServerRequestPart) {
        switch part {
        // The headers may have come in one piece with the end of the previous request.
        case .head: isArriving = true
        case .body(let bytes): left += bytes.readableBytes * (1 + Self.framingOfByte)
        case .end:
            // If the next request began in the same piece, it gets a timer of its own.
            stop()
            isArriving = false
            left = Self.framing
            arrived = 0
            (isInFirstLine, firstLine) = (true, 0)
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { start(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        start(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var rest = unwrapInboundIn(data)
        while rest.readableBytes > Self.piece, context.channel.isActive,
            let piece = rest.readSlice(length: Self.piece)
        {
            take(piece, context)
        }
        take(rest, context)
    }

    private func take(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        let isOver = left < 0
        left -= bytes.readableBytes
        arrived = min(arrived + bytes.readableBytes, Self.framing)
        guard !isOver else {
            // The client has time to read the response, unless it goes on sending.
            if left < -2 * Self.framing { context.close(promise: nil) }
            return
        }
        isArriving = true
        measureFirstLine(bytes.readableBytesView)
        context.fireChannelRead(wrapInboundOut(bytes))
        if left < 0 { context.fireErrorCaught(HTTPParserError.headerOverflow) }
    }

    /// Starts the timer that limits the arrival of a request, or stops it if the request is complete.
    ///
    /// A small request arrives whole in one read, and never has a timer.
    func channelReadComplete(context: ChannelHandlerContext) {
        if isArriving { start(context) } else { stop() }
        if !charge.set(isArriving ? max(arrived - ConnectionBudget.uncounted, 0) : 0) { context.close(promise: nil) }
        context.fireChannelReadComplete()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    private func measureFirstLine(_ bytes: ByteBufferView) {
        guard isInFirstLine else { return }
        let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
        firstLine += (end ?? bytes.endIndex) - bytes.startIndex
        isInFirstLine = end == nil
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
