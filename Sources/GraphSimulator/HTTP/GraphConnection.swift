import NIOCore
import NIOHTTP1

/// A client's connection to the simulated APIs.
///
/// The connection sends the responses. If a fault strikes a request, the connection carries out the fault instead, such
/// as a reset.
final class GraphConnection: ChannelInboundHandler {
    typealias InboundIn = NIOHTTPServerRequestFull
    typealias OutboundOut = HTTPServerResponsePart

    private struct Exchange {
        let request: HTTPRequestHead
        let plan: Simulation.Plan
        /// Whether the request log contains the outcome of this exchange.
        var isFinished = false
    }

    private let simulation: Simulation
    private let writer: ReplyWriter
    private let number: Int

    /// The latest request on this connection, with its response.
    private var exchange: Exchange?
    private var timer: Scheduled<Void>?
    private var stream: BodyStream?
    private var isPumping = false
    private var isClosing = false

    init(number: Int, simulation: Simulation, writer: ReplyWriter) {
        self.number = number
        self.simulation = simulation
        self.writer = writer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isClosing { return }
        let request = unwrapInboundIn(data)
        let plan = simulation.receive(
            GraphRequest(head: request.head, body: request.body?.readableBytesView),
            connection: number,
            trace: writer.trace()
        )
        exchange = Exchange(request: request.head, plan: plan)
        if plan.verdict.delay > 0 {
            schedule(milliseconds: plan.verdict.delay, context: context) { $0.carryOut(context: $1) }
        } else {
            carryOut(context: context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        isClosing = true
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        stream = nil
        finish(.abandoned)
        context.fireChannelInactive()
    }

    // MARK: Responses

    private func carryOut(context: ChannelHandlerContext) {
        guard let exchange else { return }
        var reply = exchange.plan.reply
        switch exchange.plan.verdict.effect {
        case nil, .delay: send(reply, context: context)
        case .error(let error): send(replacing(reply, with: error), context: context)
        case .rateLimit(_, _, _, let retryAfter) where reply.origin == .twitter:
            send(TwitterError.limited(resetAt: exchange.plan.now + (retryAfter ?? 900)), context: context)
        case .rateLimit(let code, let usage, let status, let retryAfter):
            var limited = replacing(reply, with: GraphError(code: code, status: status))
            limited.usage = usage
            if let retryAfter { limited.headers.append(("Retry-After", String(retryAfter))) }
            send(limited, context: context)
        case .reply(let status, let headers, let bytes):
            reply.status = status
            reply.headers = headers
            reply.body = .bytes(bytes)
            send(reply, context: context)
        case .raw(let bytes):
            finish(.interrupted)
            sendBelowCodec(ByteBuffer(bytes: bytes), context: context)
        case .damage(let damage):
            guard case .json(let json) = reply.body else { return send(reply, context: context) }
            send(reply, text: damage.apply(to: json), context: context)
        case .interrupt(let moment, let manner): interrupt(reply, at: moment, manner, context: context)
        case .slow(let bytes, let milliseconds):
            // The exchange ends when all bytes are sent. The next request is not read before.
            let drip = Drip(bytes: bytes, milliseconds: milliseconds) { self.conclude(context: context) }
            // The handler is next to the socket, where a response consists of bytes. This fails if the pipeline no
            // longer exists.
            try? context.pipeline.syncOperations.addHandler(drip, position: .first)
            write(reply, context: context)
            context.flush()
        case .huge(let bytes): start(.padded(bytes: bytes), of: reply, context: context)
        case .endless: start(.endless(), of: reply, context: context)
        case .gzipBomb(let bytes):
            reply.headers.append(("Content-Encoding", "gzip"))
            start(writer.gzip.bomb(bytes: bytes), of: reply, context: context)
        }
    }

    private func replacing(_ reply: GraphReply, with error: GraphError) -> GraphReply {
        if reply.origin == .twitter { return TwitterError(fault: error).reply() }
        var replaced = GraphReply(error, trace: writer.trace())
        replaced.version = reply.version
        replaced.usage = reply.usage
        return replaced
    }

    private func send(_ reply: GraphReply, text: [UInt8]? = nil, context: ChannelHandlerContext) {
        write(reply, text: text, context: context)
        // The outcome is logged before the last write. A client that has the response must find the outcome in the log.
        finish(.answered(status: reply.status))
        conclude(context: context)
    }

    /// Writes the headers of the response and its body, or only the first part of the body.
    ///
    /// `bodyPart` computes the size of this part from the size of the body. ``conclude(context:)`` later finishes the
    /// response.
    private func write(
        _ reply: GraphReply,
        text: [UInt8]? = nil,
        bodyPart: (Int) -> Int = { $0 },
        context: ChannelHandlerContext
    ) {
        guard let exchange else { return }
        var reply = reply
        let body = writer.render(&reply, text: text, for: exchange.request)
        write(writer.head(of: reply, length: body.count, to: exchange.request, now: exchange.plan.now), context)
        let count = exchange.request.method == .HEAD ? 0 : bodyPart(body.count)
        if count > 0 {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body[..<count])))), promise: nil)
        }
    }

    private func write(_ head: HTTPResponseHead, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(head)), promise: nil)
    }

    /// Finishes the response, and closes the connection if the connection cannot serve another request.
    ///
    /// Unless the request log contains the outcome already, the method writes the outcome to this log.
    private func conclude(context: ChannelHandlerContext) {
        guard let exchange else { return }
        let (number, status) = (exchange.plan.number, exchange.plan.reply.status)
        let (isLast, isFinished) = (!exchange.request.leavesOpen, exchange.isFinished)
        if isLast { isClosing = true }
        guard isLast || !isFinished else {
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            return
        }
        self.exchange?.isFinished = true
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { [simulation] result in
            let isWritten = (try? result.get()) != nil
            if !isFinished { simulation.finish(number, isWritten ? .answered(status: status) : .abandoned) }
            if isLast { context.close(promise: nil) }
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: promise)
    }

    private func interrupt(
        _ reply: GraphReply,
        at moment: Fault.Moment,
        _ manner: Fault.Manner,
        context: ChannelHandlerContext
    ) {
        finish(.interrupted)
        isClosing = manner != .hang
        switch moment {
        case .accept, .firstBytes, .request: return manner.end(context.channel)
        case .headers: write(reply, bodyPart: { _ in 0 }, context: context)
        case .body: write(reply, bodyPart: { $0 / 2 }, context: context)
        }
        context.flush()
        // A reset discards what the client has not read yet. The delay gives the client time to read.
        schedule(milliseconds: 20, context: context) { manner.end($1.channel) }
    }

    /// Sends raw bytes without NIO's HTTP encoder, and closes the connection.
    private func sendBelowCodec(_ bytes: ByteBuffer, context: ChannelHandlerContext) {
        isClosing = true
        guard let codec = try? context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self) else {
            return context.close(promise: nil)
        }
        codec.writeAndFlush(NIOAny(IOData.byteBuffer(bytes))).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

    private func finish(_ outcome: LoggedRequest.Outcome) {
        guard let exchange, !exchange.isFinished else { return }
        self.exchange?.isFinished = true
        simulation.finish(exchange.plan.number, outcome)
    }

    private func schedule(
        milliseconds: Int,
        context: ChannelHandlerContext,
        _ body: @escaping (GraphConnection, ChannelHandlerContext) -> Void
    ) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(milliseconds))) {
            body(self, context)
        }
    }

    // MARK: Streamed bodies

    private func start(_ stream: BodyStream, of reply: GraphReply, context: ChannelHandlerContext) {
        guard let exchange else { return }
        write(writer.head(of: reply, length: stream.size, to: exchange.request, now: exchange.plan.now), context)
        self.stream = stream
        pump(context: context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        pump(context: context)
        context.fireChannelWritabilityChanged()
    }

    /// Sends pieces of the body as long as the socket accepts data.
    ///
    /// After 16 pieces, the method schedules its next call, so that the event loop can serve other connections
    /// meanwhile.
    private func pump(context: ChannelHandlerContext) {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        for _ in 0..<16 {
            guard stream != nil, context.channel.isWritable else { return }
            guard let piece = stream?.next() else {
                stream = nil
                return conclude(context: context)
            }
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(piece))), promise: nil)
        }
        context.eventLoop.assumeIsolated().execute { self.pump(context: context) }
    }
}

extension HTTPRequestHead {
    /// Whether the connection stays open for another request after this one.
    ///
    /// A request with the header `Upgrade` ends the connection, since NIO's HTTP parser stops after it. The simulator
    /// never upgrades to another protocol, but the JDK's client sends `Upgrade: h2c` in each request without TLS.
    var leavesOpen: Bool {
        isKeepAlive && !headers.contains(name: "upgrade") && method != .CONNECT
    }
}

/// A channel handler that sends the bytes of one response a few at a time.
///
/// After the last byte, the handler removes itself from the channel's pipeline.
private final class Drip: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let bytes: Int
    private let pause: TimeAmount
    private let whenEmpty: () -> Void
    private var waiting = ByteBuffer()
    private var timer: Scheduled<Void>?

    init(bytes: Int, milliseconds: Int, whenEmpty: @escaping () -> Void) {
        self.bytes = max(bytes, 1)
        pause = .milliseconds(Int64(max(milliseconds, 0)))
        self.whenEmpty = whenEmpty
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .byteBuffer(var part) = unwrapOutboundIn(data) { waiting.writeBuffer(&part) }
        // Only the write of a response's end has a promise. By then, this handler has left the pipeline.
        assert(promise == nil)
    }

    func flush(context: ChannelHandlerContext) {
        if timer == nil { next(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
    }

    private func next(_ context: ChannelHandlerContext) {
        let piece = waiting.readSlice(length: min(bytes, waiting.readableBytes)) ?? ByteBuffer()
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(piece)), promise: nil)
        if waiting.readableBytes > 0 {
            timer = context.eventLoop.assumeIsolated().scheduleTask(in: pause) { self.next(context) }
        } else {
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
            whenEmpty()
        }
    }
}
