import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Keeps a request of HTTP/1.1 until it is complete, and then passes it on in one piece.
///
/// A request that is being handled takes memory for a task. A request that waits for its body needs only memory for its
/// bytes, which ``RequestArrival`` counts. So a client that sends only headers costs little. Two kinds of requests are
/// passed on at once: those whose body is longer than `maxBytes`, and those whose client waits for 100 Continue. While
/// such a request is incomplete, it counts in ``ConnectionBudget`` like a request that is being handled.
///
/// The handler also limits how many requests a client sends without waiting for responses (RFC 9112 §9.3.2). The event
/// loop handles all requests of one read before it serves another connection. So a client that sends thousands of
/// requests at once would keep all other clients waiting for seconds.
final class WaitingRequest: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The maximum length, in bytes, of a body that the handler keeps until it is complete.
    ///
    /// Most bodies are shorter.
    static let maxBytes = 16_384
    /// The maximum number of requests of one connection that have begun and have no response yet.
    private static let maxUnanswered = 32

    private var head: HTTPRequest?
    private var body: ByteBuffer?
    /// Whether the body is a slice of the read buffer.
    ///
    /// A slice keeps the whole buffer in memory.
    private var isSlice = false
    private var hasPassed = false
    private var unanswered = 0
    private var charge: ConnectionCharge

    init(_ share: ConnectionShare) {
        charge = ConnectionCharge(share)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // The parser may still read requests from the last read of a closed connection.
        guard unanswered <= Self.maxUnanswered else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            unanswered += 1
            guard unanswered <= Self.maxUnanswered else { return context.close(promise: nil) }
            self.head = head
            hasPassed = false
            if Self.isNotKept(length: head.headerFields[.contentLength], expects: head.headerFields[.expect] != nil) {
                pass(context)
            }
        case .body(let bytes):
            guard head != nil else { return context.fireChannelRead(data) }
            append(bytes)
            if body?.readableBytes ?? 0 > Self.maxBytes { pass(context) }
        case .end:
            pass(context)
            hasPassed = false
            context.fireChannelRead(data)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data), unanswered <= Self.maxUnanswered { unanswered -= 1 }
        context.write(data, promise: promise)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isSlice, let body { (self.body, isSlice) = (ByteBuffer(bytes: body.readableBytesView), false) }
        if !charge.set(hasPassed ? ConnectionBudget.request : 0) { context.close(promise: nil) }
        context.fireChannelReadComplete()
    }

    /// Passes an incomplete request on when an error occurs.
    ///
    /// The code that reads the request's body then responds to the error.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        pass(context)
        context.fireErrorCaught(error)
    }

    /// Returns whether a request is passed on before its body is complete.
    ///
    /// True if the body is longer than `maxBytes`, or if the client waits for 100 Continue.
    static func isNotKept(length: String?, expects: Bool) -> Bool {
        guard let length else { return expects }
        return expects || (Int(length) ?? .max) > maxBytes
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
