import NIOCore
import NIOHTTP1
import NIOPosix

/// One client connection of the public port: takes requests one at a time, and carries out what the simulation decides
/// for each, down to the manner in which the connection ends.
final class GraphConnection: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private struct Request {
        let head: HTTPRequestHead
        var body: ByteBuffer?
    }

    private struct Exchange {
        let request: Request
        let plan: Simulation.Plan
        /// Set once the log knows how it ended.
        var isFinished = false
    }

    private static let maximumBody = 1 << 20

    private let simulation: Simulation
    private let writer: ReplyWriter
    private let number: Int

    private var incoming: Request?
    private var waiting: [Request] = []
    private var current: Exchange?
    private var readIsHeld = false
    private var timer: Scheduled<Void>?
    private var stream: BodyStream?
    private var isPumping = false
    private var isClosing = false

    init(number: Int, simulation: Simulation, writer: ReplyWriter) {
        self.number = number
        self.simulation = simulation
        self.writer = writer
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isClosing { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            incoming = Request(head: head)
            if head.headers.first(name: "expect")?.lowercased() == "100-continue" {
                context.writeAndFlush(
                    wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")),
                    promise: nil
                )
            }
        case .body(var part):
            if incoming?.body?.writeBuffer(&part) == nil { incoming?.body = part }
            if let size = incoming?.body?.readableBytes, size > Self.maximumBody {
                refuse("413 Payload Too Large", context: context)
            }
        case .end:
            guard let request = incoming else { return }
            incoming = nil
            waiting.append(request)
            beginNext(context: context)
        }
    }

    /// While an exchange goes on, nothing more is read, so that a client cannot queue requests without end.
    func read(context: ChannelHandlerContext) {
        if current == nil { context.read() } else { readIsHeld = true }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is HTTPParserError, current == nil {
            refuse("400 Bad Request", context: context)
        } else {
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        stream = nil
        finish(.abandoned)
        simulation.connectionClosed()
        context.fireChannelInactive()
    }

    private func beginNext(context: ChannelHandlerContext) {
        guard current == nil, !isClosing, !waiting.isEmpty else { return }
        let request = waiting.removeFirst()
        let plan = simulation.receive(
            head: request.head,
            body: request.body,
            connection: number,
            trace: writer.trace()
        )
        current = Exchange(request: request, plan: plan)
        if plan.verdict.delay > 0 {
            schedule(milliseconds: plan.verdict.delay, context: context) { $0.carryOut(context: $1) }
        } else {
            carryOut(context: context)
        }
    }

    // MARK: Answering

    private func carryOut(context: ChannelHandlerContext) {
        guard let exchange = current else { return }
        var reply = exchange.plan.reply
        switch exchange.plan.verdict.effect {
        case nil, .delay: send(reply, context: context)
        case .error(let error): send(replacing(reply, with: error), context: context)
        case .rateLimit(_, _, _, let retryAfter) where reply.isTwitter:
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
            send(ByteBuffer(bytes: bytes), context: context) { $0.end(.close, context: $1) }
        case .damage(let damage):
            guard case .json(let json) = reply.body else { return send(reply, context: context) }
            send(reply, text: damage.apply(to: json), context: context)
        case .interrupt(let moment, let manner): interrupt(reply, at: moment, manner, context: context)
        case .slow(let bytes, let milliseconds):
            let whole = written(reply).bytes
            drip(whole, bytes: max(bytes, 1), milliseconds: max(milliseconds, 0), context: context)
        case .huge(let bytes):
            start(.padded(bytes: bytes), length: .known(BodyStream.paddedSize(bytes)), context: context)
        case .endless: start(.endless(), length: .chunked, context: context)
        case .gzipBomb(let bytes):
            let bomb = writer.bomb(bytes: bytes)
            reply.headers.append(("Content-Encoding", "gzip"))
            start(
                .pieces(
                    first: ByteBuffer(bytes: bomb.first),
                    repeating: ByteBuffer(bytes: bomb.block),
                    count: bomb.count,
                    last: ByteBuffer(bytes: bomb.last)
                ),
                reply: reply,
                length: .known(bomb.first.count + bomb.block.count * bomb.count + bomb.last.count),
                context: context
            )
        }
    }

    private func replacing(_ reply: GraphReply, with error: GraphError) -> GraphReply {
        if reply.isTwitter { return TwitterError(fault: error).reply() }
        var replaced = GraphReply(error, trace: writer.trace())
        replaced.version = reply.version
        replaced.usage = reply.usage
        return replaced
    }

    private func written(_ reply: GraphReply, text: [UInt8]? = nil) -> (bytes: ByteBuffer, bodyIndex: Int) {
        guard let exchange = current else { return (ByteBuffer(), 0) }
        return writer.write(reply, text: text, to: exchange.request.head, now: exchange.plan.now)
    }

    private func send(_ reply: GraphReply, text: [UInt8]? = nil, context: ChannelHandlerContext) {
        let bytes = written(reply, text: text).bytes
        // Before the write: a client that has the answer must find it in the log.
        finish(.answered(status: reply.status))
        if current?.request.head.leavesOpen ?? false {
            context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
            conclude(context: context)
        } else {
            send(bytes, context: context) { $0.end(.close, context: $1) }
        }
    }

    private func send(
        _ bytes: ByteBuffer,
        context: ChannelHandlerContext,
        then next: @escaping (GraphConnection, ChannelHandlerContext) -> Void
    ) {
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenSuccess { next(self, context) }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: promise)
    }

    private func interrupt(
        _ reply: GraphReply,
        at moment: Fault.Moment,
        _ manner: Fault.Manner,
        context: ChannelHandlerContext
    ) {
        var (bytes, bodyIndex) = written(reply)
        finish(.interrupted)
        switch moment {
        case .accept, .firstBytes, .request: return end(manner, context: context)
        case .headers: bytes.moveWriterIndex(to: bodyIndex)
        case .body: bytes.moveWriterIndex(to: bodyIndex + (bytes.writerIndex - bodyIndex) / 2)
        }
        send(bytes, context: context) { connection, context in
            // A reset overtakes what the client has not read yet: give it a moment.
            connection.schedule(milliseconds: 20, context: context) { $0.end(manner, context: $1) }
        }
    }

    private func end(_ manner: Fault.Manner, context: ChannelHandlerContext) {
        if manner == .hang { return }
        isClosing = true
        ConnectionEnd.carryOut(manner, context: context)
    }

    private func conclude(context: ChannelHandlerContext) {
        current = nil
        beginNext(context: context)
        if current == nil, readIsHeld {
            readIsHeld = false
            context.read()
        }
    }

    private func finish(_ outcome: LoggedRequest.Outcome) {
        guard let exchange = current, !exchange.isFinished else { return }
        current?.isFinished = true
        simulation.finish(exchange.plan.number, outcome)
    }

    private func refuse(_ status: String, context: ChannelHandlerContext) {
        let text = "HTTP/1.1 \(status)\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        isClosing = true
        send(ByteBuffer(string: text), context: context) { $0.end(.close, context: $1) }
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

    // MARK: Slow and endless bodies

    private func drip(_ rest: ByteBuffer, bytes: Int, milliseconds: Int, context: ChannelHandlerContext) {
        var rest = rest
        guard let piece = rest.readSlice(length: min(bytes, rest.readableBytes)), piece.readableBytes > 0 else {
            return concludeStream(context: context)
        }
        context.writeAndFlush(wrapOutboundOut(piece), promise: nil)
        schedule(milliseconds: milliseconds, context: context) {
            $0.drip(rest, bytes: bytes, milliseconds: milliseconds, context: $1)
        }
    }

    private func start(
        _ stream: BodyStream,
        reply: GraphReply? = nil,
        length: ReplyWriter.Length,
        context: ChannelHandlerContext
    ) {
        guard let exchange = current else { return }
        var head = ByteBuffer()
        writer.writeHead(
            of: reply ?? exchange.plan.reply,
            length: length,
            to: exchange.request.head,
            now: exchange.plan.now,
            into: &head
        )
        context.write(wrapOutboundOut(head), promise: nil)
        self.stream = stream
        pump(context: context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        pump(context: context)
        context.fireChannelWritabilityChanged()
    }

    /// Writes while the socket takes it, but lets the event loop breathe after a megabyte.
    private func pump(context: ChannelHandlerContext) {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        for _ in 0..<16 {
            guard let stream, context.channel.isWritable else { return }
            guard let piece = stream.next() else {
                self.stream = nil
                return concludeStream(context: context)
            }
            context.writeAndFlush(wrapOutboundOut(piece), promise: nil)
        }
        context.eventLoop.assumeIsolated().execute { self.pump(context: context) }
    }

    private func concludeStream(context: ChannelHandlerContext) {
        guard let exchange = current else { return }
        finish(.answered(status: exchange.plan.reply.status))
        if exchange.request.head.leavesOpen {
            conclude(context: context)
        } else {
            // Closing drops what is still to be written, and this write comes after it.
            send(ByteBuffer(), context: context) { $0.end(.close, context: $1) }
        }
    }
}
