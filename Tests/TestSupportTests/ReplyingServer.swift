import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A TCP server that responds to each blank line (the end of a request's header section) with fixed bytes.
struct ReplyingServer {
    let port: Int
    private let channel: any Channel

    /// Starts the server.
    ///
    /// - Parameters:
    ///   - reply: The response to each request.
    ///   - closes: Whether the server closes the connection after the first response.
    /// - Returns: The listening server.
    /// - Throws: An error of the socket.
    static func start(reply: String, closes: Bool = false) async throws -> ReplyingServer {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 4096)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Replier(reply: reply, closes: closes))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        return ReplyingServer(port: channel.localAddress?.port ?? 0, channel: channel)
    }

    func stop() async throws { try await channel.close() }
}

private final class Replier: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let reply: String
    private let closes: Bool
    private var recent = ""

    init(reply: String, closes: Bool) {
        self.reply = reply
        self.closes = closes
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        recent += String(buffer: unwrapInboundIn(data))
        while let end = recent.firstRange(of: "\r\n\r\n") {
            recent = String(recent[end.upperBound...])
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: reply)), promise: nil)
            if closes { context.close(promise: nil) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
