import NIOCore
import NIOHTTP1

/// Bounds how a request arrives: how long it takes, and how many bytes it needs beside its body.
///
/// The first request of a connection has to begin, and every request that has begun has to end, within the limit
/// (decision D9); a request begins with its first byte. Waiting for the next one on a connection that has served one is
/// the idle limit's matter.
///
/// It stands where the bytes come in: the parser tells nothing of a head that is not whole, of chunk extensions, blank
/// lines and white space, and it keeps what follows a request to upgrade.
final class RequestArrival: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Bytes of a request beside its body: the head, and the framing of a body in chunks.
    static let framing = 65_536
    /// As many more for each byte of the body: enough for chunks of a single byte.
    static let framingOfByte = 8
    /// Bytes that are looked at in one go: a read of TLS may bring several hundred thousand.
    private static let piece = 16_384

    private let limit: TimeAmount
    private var timer: Scheduled<Void>?
    private var isArriving = true
    /// How many bytes may still come; less than none ends the connection.
    private var left = framing
    private var isInFirstLine = true
    /// Bytes of the request that have come, as far as they are kept.
    private var arrived = 0
    private var charge: ConnectionCharge

    /// Bytes of the request line, as far as it has come.
    private(set) var firstLine = 0

    /// - Parameters:
    ///   - limit: How long a request may take to arrive.
    ///   - share: What it may cost until it is whole.
    init(limit: TimeAmount, share: ConnectionShare) {
        self.limit = limit
        charge = ConnectionCharge(share)
    }

    /// Takes note of what the parser has made of the bytes.
    func saw(_ part: HTTPServerRequestPart) {
        switch part {
        // It may have come in one piece with the end of the request before.
        case .head: isArriving = true
        case .body(let bytes): left += bytes.readableBytes * (1 + Self.framingOfByte)
        case .end:
            // What has begun behind it in the same piece has a time of its own.
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
            // The reply has its time; whoever goes on all the same gets none.
            if left < -2 * Self.framing { context.close(promise: nil) }
            return
        }
        isArriving = true
        measureFirstLine(bytes.readableBytesView)
        context.fireChannelRead(wrapInboundOut(bytes))
        if left < 0 { context.fireErrorCaught(HTTPParserError.headerOverflow) }
    }

    /// A small request arrives whole in one read, and then no timer is ever made for it.
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
