import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Keeps a request of HTTP/1.1 until it is whole, and lets it pass then in one piece.
///
/// A request that is being answered has a task, with all that this takes; one that only waits for its body needs its
/// bytes alone, which ``RequestArrival`` counts. So a client that sends a head and nothing more keeps little. What has
/// a longer body, or waits to be told to go on, passes at once, and counts as a request until it is whole.
///
/// The handler also bounds how many requests a client has sent without waiting for replies (RFC 9112 §9.3.2). The event
/// loop does all that one read has brought before it looks at another connection, so a client with thousands of them
/// would keep everybody else waiting for seconds.
final class WaitingRequest: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Bytes of a body that are kept: more than what most requests have.
    static let mostBytes = 16_384
    /// Requests of one connection that have begun and are not answered.
    private static let mostUnanswered = 32

    private var head: HTTPRequest?
    private var body: ByteBuffer?
    /// Whether the body is a piece of what was read, all of which the memory of the piece keeps.
    private var isSlice = false
    private var hasPassed = false
    private var unanswered = 0
    private var charge: ConnectionCharge

    init(_ share: ConnectionShare) {
        charge = ConnectionCharge(share)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What the parser still makes of the last read of a connection that was closed.
        guard unanswered <= Self.mostUnanswered else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            unanswered += 1
            guard unanswered <= Self.mostUnanswered else { return context.close(promise: nil) }
            self.head = head
            hasPassed = false
            if Self.isNotKept(length: head.headerFields[.contentLength], expects: head.headerFields[.expect] != nil) {
                pass(context)
            }
        case .body(let bytes):
            guard head != nil else { return context.fireChannelRead(data) }
            append(bytes)
            if body?.readableBytes ?? 0 > Self.mostBytes { pass(context) }
        case .end:
            pass(context)
            hasPassed = false
            context.fireChannelRead(data)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data), unanswered <= Self.mostUnanswered { unanswered -= 1 }
        context.write(data, promise: promise)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isSlice, let body { (self.body, isSlice) = (ByteBuffer(bytes: body.readableBytesView), false) }
        if !charge.set(hasPassed ? ConnectionBudget.request : 0) { context.close(promise: nil) }
        context.fireChannelReadComplete()
    }

    /// Whoever reads the body answers.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        pass(context)
        context.fireErrorCaught(error)
    }

    /// Whether the head of a request says that its body is longer than what is kept, or that its client waits to be
    /// told to go on: it is answered without waiting for the body.
    static func isNotKept(length: String?, expects: Bool) -> Bool {
        guard let length else { return expects }
        return expects || (Int(length) ?? .max) > mostBytes
    }

    private func append(_ bytes: ByteBuffer) {
        guard var body else {
            (body, isSlice) = (bytes, true)
            return
        }
        self.body = nil
        body.writeImmutableBuffer(bytes)
        (self.body, isSlice) = (body, false)
    }

    private func pass(_ context: ChannelHandlerContext) {
        guard let head else { return }
        self.head = nil
        hasPassed = true
        context.fireChannelRead(wrapInboundOut(.head(head)))
        guard let body else { return }
        self.body = nil
        context.fireChannelRead(wrapInboundOut(.body(body)))
    }
}
