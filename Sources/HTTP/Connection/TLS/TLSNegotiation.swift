import NIOCore
import NIOTLS

/// Waits for the end of a TLS handshake, and then adds the handlers of the negotiated protocol.
///
/// The wait has a time limit.
final class TLSNegotiation<Negotiated: Sendable>: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let limit: TimeAmount
    private let promise: EventLoopPromise<Negotiated>
    private let configure: (String?) throws -> Negotiated
    private var timer: Scheduled<Void>?
    private var isOver = false

    /// - Parameters:
    ///   - limit: How long the handshake may take.
    ///   - promise: Receives the result of `configure`, or the error.
    ///   - configure: Adds the handlers of a protocol by its ALPN name; nil when the client named none.
    init(
        limit: TimeAmount,
        promise: EventLoopPromise<Negotiated>,
        configure: @escaping (String?) throws -> Negotiated
    ) {
        self.limit = limit
        self.promise = promise
        self.configure = configure
    }

    func handlerAdded(context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { context.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted(let name):
            do {
                finish(.success(try configure(name)))
                context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
            } catch {
                finish(.failure(error))
                context.close(promise: nil)
            }
        // The process ends, and no request has come.
        case is ChannelShouldQuiesceEvent: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.failure(error))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(ChannelError.eof))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish(.failure(ChannelError.eof))
    }

    private func finish(_ result: Result<Negotiated, any Error>) {
        guard !isOver else { return }
        isOver = true
        timer?.cancel()
        promise.completeWith(result)
    }
}
