import NIOCore
import NIOHTTP1

/// One connection of the control port.
final class ControlConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// Raw replies for faults may be large.
    private static let maximumBody = 16 << 20

    private let control: ControlAPI
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(control: ControlAPI) {
        self.control = control
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            if head.headers.first(name: "expect")?.lowercased() == "100-continue" {
                context.writeAndFlush(
                    wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))),
                    promise: nil
                )
            }
        case .body(let part):
            guard body.count + part.readableBytes <= Self.maximumBody else {
                context.close(promise: nil)
                return
            }
            body.append(contentsOf: part.readableBytesView)
        case .end:
            guard let head else { return }
            let request = GraphRequest(head: head, body: nil)
            let answer = control.answer(
                method: head.method.rawValue,
                path: request.components,
                query: request.parameters.map { ($0.name, $0.value) },
                body: body,
                on: context.eventLoop
            )
            body = []
            answer.assumeIsolated().whenSuccess { self.write($0, context: context) }
        }
    }

    private func write(_ answer: ControlAPI.Answer, context: ChannelHandlerContext) {
        let text = answer.json.plainBytes + [0x0A]
        let headers: HTTPHeaders = [
            "Content-Type": "application/json", "Content-Length": String(text.count), "Cache-Control": "no-store",
        ]
        let reply = HTTPResponseHead(
            version: .http1_1,
            status: HTTPResponseStatus(statusCode: answer.status),
            headers: headers
        )
        context.write(wrapOutboundOut(.head(reply)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: text)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
