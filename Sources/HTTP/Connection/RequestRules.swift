import NIOCore
import NIOHTTP1

/// Passes on requests that conform to RFC 9112, in the form of ``settle()``, and a fault in place of any other.
///
/// After a fault the connection ends: the beginning of the next request is unknown, or not where a proxy in front sees
/// it. After a request that ends the connection no bytes are a request either (RFC 9112 §9.6): nobody would respond to
/// it, and the connection would wait for that response for good.
final class RequestRules: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let arrival: RequestArrival
    /// Whether a request's headers have come but not its end.
    private var isUnderWay = false
    /// Whether that request is the last one of the connection.
    private var isLast = false
    private var isOver = false

    init(_ arrival: RequestArrival) {
        self.arrival = arrival
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        arrival.saw(part)
        guard !isOver else { return }
        switch part {
        case .head(var head):
            if let fault = head.settle() { return refuse(fault, method: head.method, context) }
            isUnderWay = true
            isLast = head.headers.first(name: "connection") == "close"
            context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body:
            context.fireChannelRead(data)
        case .end(let trailers):
            // RFC 9110 §6.5.1: no trailer is about the connection. The parser obeys these and refuses the bytes behind,
            // which may be another client's request; so they break the body, as framing in a trailer does.
            if let trailers, trailers.contains(name: "connection") || trailers.contains(name: "proxy-connection") {
                isOver = true
                return context.fireErrorCaught(BrokenBody())
            }
            isUnderWay = false
            isOver = isLast
            context.fireChannelRead(data)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isOver else { return }
        guard let fault = error as? HTTPParserError else { return context.fireErrorCaught(error) }
        // The reader of the body responds. A handler that has already responded must not do so twice, as the library
        // does for a parser error.
        guard !isUnderWay else { return context.fireErrorCaught(BrokenBody()) }
        let isLong = fault == .headerOverflow && arrival.firstLine > HTTPRequestHead.longestTarget
        refuse(isLong ? .longTarget : .unreadable, method: .GET, context)
    }

    private func refuse(_ fault: RequestFault, method: HTTPMethod, _ context: ChannelHandlerContext) {
        isOver = true
        let head = HTTPRequestHead(
            version: .http1_1,
            method: method,
            uri: fault.rawValue,
            headers: ["Connection": "close"]
        )
        context.fireChannelRead(wrapInboundOut(.head(head)))
        context.fireChannelRead(wrapInboundOut(.end(nil)))
    }
}

/// The error of a body that cannot be read to its end.
private struct BrokenBody: Error {}
