import NIOCore
import NIOHTTP1
import NIOPosix

/// An HTTP request that the simulator sends to an app, as Facebook would.
struct OutgoingCall: Sendable {
    let address: GraphSimulator.Address
    let head: HTTPRequestHead
    let body: ByteBuffer

    private init(
        _ method: HTTPMethod,
        _ url: String,
        headers: [(String, String?)] = [],
        body: String = ""
    ) throws(DataError) {
        let wrong = DataError(path: "url", reason: "expected http://host:port/path in ASCII")
        let scheme = "http://"
        guard url.utf8.starts(with: scheme.utf8), url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw wrong
        }
        let rest = url.dropFirst(scheme.count)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let host = String(rest[..<end])
        guard let address = GraphSimulator.Address(host) ?? GraphSimulator.Address(host + ":80") else { throw wrong }
        self.address = address
        self.body = ByteBuffer(string: body)
        let length = method == .GET ? nil : String(body.utf8.count)
        let all =
            [("Host", host), ("User-Agent", "facebookexternalua"), ("Accept", "*/*")] + headers
            + [("Connection", "close"), ("Content-Length", length)]
        head = HTTPRequestHead(
            version: .http1_1,
            method: method,
            uri: (rest[end...].hasPrefix("/") ? "" : "/") + rest[end...],
            headers: HTTPHeaders(all.compactMap { name, value in value.map { (name, $0) } })
        )
    }

    /// Makes a callback to an app: a `POST` of a form with Facebook's parameter `signed_request`.
    static func signedRequest(_ text: String, to url: String) throws(DataError) -> OutgoingCall {
        let headers: [(String, String?)] = [("Content-Type", "application/x-www-form-urlencoded")]
        return try OutgoingCall(.POST, url, headers: headers, body: FormEncoding.encode([("signed_request", text)]))
    }

    /// Makes the `POST` request with which Facebook delivers a webhook's event to an app.
    static func webhook(_ webhook: GraphSimulator.Webhook, to url: String) throws(DataError) -> OutgoingCall {
        let headers: [(String, String?)] = [
            ("Content-Type", "application/json"), ("X-Hub-Signature", webhook.legacySignature),
            ("X-Hub-Signature-256", webhook.signature),
        ]
        return try OutgoingCall(.POST, url, headers: headers, body: webhook.body)
    }

    /// Makes the `GET` request with which Facebook checks that a webhook's URL belongs to the app.
    static func handshake(verifyToken: String, challenge: String, to url: String) throws(DataError) -> OutgoingCall {
        let query = FormEncoding.encode([
            ("hub.mode", "subscribe"), ("hub.challenge", challenge), ("hub.verify_token", verifyToken),
        ])
        return try OutgoingCall(.GET, url + (url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query)
    }
}

/// A handler that sends an ``OutgoingCall`` on a new connection and waits for the response.
final class Caller: ChannelInboundHandler {
    typealias InboundIn = NIOHTTPClientResponseFull
    typealias OutboundOut = HTTPClientRequestPart

    /// An error: a request of the simulator to an app got no response, for the given reason.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let call: OutgoingCall
    private let promise: EventLoopPromise<NIOHTTPClientResponseFull>
    private var timer: Scheduled<Void>?

    private init(_ call: OutgoingCall, _ promise: EventLoopPromise<NIOHTTPClientResponseFull>) {
        self.call = call
        self.promise = promise
    }

    static func make(_ call: OutgoingCall, on loop: any EventLoop) -> EventLoopFuture<NIOHTTPClientResponseFull> {
        let promise = loop.makePromise(of: NIOHTTPClientResponseFull.self)
        ClientBootstrap(group: loop)
            .connectTimeout(.seconds(5))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    let replies = NIOHTTPClientResponseAggregator(maxContentLength: 1 << 20)
                    try channel.pipeline.syncOperations.addHandlers(replies, Caller(call, promise))
                }
            }
            .connect(host: call.address.host, port: call.address.port)
            .whenFailure { promise.fail(Failure(description: "cannot connect to \(call.address): \($0)")) }
        return promise.futureResult
    }

    func channelActive(context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(30)) {
            self.fail("\(self.call.address) did not answer in 30 s", context)
        }
        context.write(wrapOutboundOut(.head(call.head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(call.body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        promise.succeed(unwrapInboundIn(data))
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail("no reply from \(call.address): \(error)", context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        fail("\(call.address) closed without a reply", context)
    }

    /// Reports a failure.
    ///
    /// If there is a result already, the promise ignores the failure.
    private func fail(_ reason: String, _ context: ChannelHandlerContext) {
        promise.fail(Failure(description: reason))
        context.close(promise: nil)
    }
}
