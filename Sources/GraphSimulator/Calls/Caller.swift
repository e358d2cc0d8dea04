import NIOCore
import NIOHTTP1
import NIOPosix

/// Makes a ``Call`` on a connection of its own and waits for the reply.
final class Caller: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    struct Reply: Sendable {
        let status: Int
        let body: [UInt8]
    }

    /// No reply, and why.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let patience = TimeAmount.seconds(30)
    private static let maximumBody = 1 << 20

    private let call: Call
    private let promise: EventLoopPromise<Reply>
    private var status = 0
    private var body: [UInt8] = []
    private var timer: Scheduled<Void>?

    private init(_ call: Call, _ promise: EventLoopPromise<Reply>) {
        self.call = call
        self.promise = promise
    }

    static func make(_ call: Call, on loop: any EventLoop) -> EventLoopFuture<Reply> {
        let promise = loop.makePromise(of: Reply.self)
        ClientBootstrap(group: loop)
            .connectTimeout(.seconds(5))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(Caller(call, promise))
                }
            }
            .connect(host: call.address.host, port: call.address.port)
            .whenFailure { promise.fail(Failure(description: "cannot connect to \(call.address): \($0)")) }
        return promise.futureResult
    }

    func channelActive(context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
            self.end(.failure(Failure(description: "\(self.call.address) did not answer in 30 s")), context: context)
        }
        var head = HTTPRequestHead(
            version: .http1_1,
            method: HTTPMethod(rawValue: call.method),
            uri: call.target,
            headers: HTTPHeaders(call.headers)
        )
        head.headers.add(name: "Connection", value: "close")
        if call.method != "GET" { head.headers.add(name: "Content-Length", value: String(call.body.count)) }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: call.body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): status = Int(head.status.code)
        case .body(let part):
            guard body.count + part.readableBytes <= Self.maximumBody else {
                return end(.failure(Failure(description: "the reply is larger than 1 MiB")), context: context)
            }
            body.append(contentsOf: part.readableBytesView)
        case .end: end(.success(Reply(status: status, body: body)), context: context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(.failure(Failure(description: "no reply from \(call.address): \(error)")), context: context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.failure(Failure(description: "\(call.address) closed without a reply")), context: context)
    }

    /// Only the first end counts: the promise ignores what comes after it.
    private func end(_ result: Result<Reply, any Error>, context: ChannelHandlerContext) {
        timer?.cancel()
        promise.completeWith(result)
        context.close(promise: nil)
    }
}
