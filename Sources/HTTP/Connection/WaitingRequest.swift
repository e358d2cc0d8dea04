import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Keeps a request of HTTP/1.1 until it is whole, and lets it pass then in one piece.
///
/// A request that is being answered has a task, with all that this takes; one that only waits for its body needs its
/// bytes alone, which ``RequestArrival`` counts. So a client that sends a head and nothing more keeps little. What has
/// a longer body, or waits to be told to go on, passes at once, and counts as a request until it is whole.
final class WaitingRequest: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    /// Bytes of a body that are kept: more than what most requests have.
    static let mostBytes = 16_384

    private var head: HTTPRequest?
    private var body: ByteBuffer?
    /// Whether the body is a piece of what was read, all of which the memory of the piece keeps.
    private var isSlice = false
    private var hasPassed = false
    private var charge: ConnectionCharge

    init(_ share: ConnectionShare) {
        charge = ConnectionCharge(share)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
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
