import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

/// An HTTP server of another party, whose answers a test decides.
///
/// It keeps every request. A connection serves one request, and is closed after the answer.
package final class AnsweringServer: Sendable {
    /// A request as it arrived.
    package struct Request: Sendable {
        package let method: String
        /// Path and query.
        package let target: String
        package let headers: [(name: String, value: String)]
        package let body: String

        /// Returns the first header with this name, in any case.
        package func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    /// What the server does with a request.
    package enum Answer: Sendable {
        case reply(Int, String = "{}", headers: [(String, String)] = [])
        /// Closes the connection without a response.
        case hangUp
        /// Keeps the connection open without a response, until the client or the test closes it.
        case silence
    }

    package typealias Answering = @Sendable (Request) async -> Answer

    package let port: Int
    private let listener: any Channel
    private let received: NIOLockedValueBox<[Request]>

    /// All requests so far.
    package var requests: [Request] { received.withLockedValue { $0 } }
    /// The base URL of the server.
    package var url: String { "http://127.0.0.1:\(port)" }

    private init(listener: any Channel, port: Int, received: NIOLockedValueBox<[Request]>) {
        (self.listener, self.port, self.received) = (listener, port, received)
    }

    /// Runs a server while a closure runs.
    package static func running<Result: Sendable>(
        _ answering: @escaping Answering,
        _ body: (AnsweringServer) async throws -> Result
    ) async throws -> Result {
        let received = NIOLockedValueBox<[Request]>([])
        let listener = try await ServerBootstrap(group: Loopback.group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Answerer(answering, received))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let port = listener.localAddress?.port ?? 0
        let server = AnsweringServer(listener: listener, port: port, received: received)
        do {
            let result = try await body(server)
            try await listener.close()
            return result
        } catch {
            try? await listener.close()
            throw error
        }
    }
}

private final class Answerer: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answering: AnsweringServer.Answering
    private let received: NIOLockedValueBox<[AnsweringServer.Request]>
    private var head: HTTPRequestHead?
    private var body = ""

    init(_ answering: @escaping AnsweringServer.Answering, _ received: NIOLockedValueBox<[AnsweringServer.Request]>) {
        (self.answering, self.received) = (answering, received)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(let bytes): body += String(buffer: bytes)
        case .end: answer(context.channel)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func answer(_ channel: any Channel) {
        guard let head else { return }
        let request = AnsweringServer.Request(
            method: head.method.rawValue,
            target: head.uri,
            headers: head.headers.map { ($0.name, $0.value) },
            body: body
        )
        received.withLockedValue { $0.append(request) }
        Task { [answering] in
            switch await answering(request) {
            case .silence: break
            case .hangUp: channel.close(promise: nil)
            case .reply(let status, let text, let headers):
                var fields = HTTPHeaders(headers)
                fields.add(name: "Content-Length", value: String(text.utf8.count))
                fields.add(name: "Connection", value: "close")
                let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: fields)
                channel.write(HTTPServerResponsePart.head(head), promise: nil)
                channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: text))), promise: nil)
                channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in channel.close(promise: nil) }
            }
        }
    }
}
