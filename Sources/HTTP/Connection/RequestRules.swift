import NIOCore
import NIOHTTP1

/// Passes on requests that conform to RFC 9112, and replaces every other request by one that names its fault.
///
/// The handler normalizes the requests that it passes on, by ``settle()``. ``RequestFault`` lists the faults.
///
/// After a fault the connection ends, since the service does not know where the next request begins, or a proxy in
/// front may disagree about this. The handler also drops bytes that follow the last request of a connection (RFC 9112
/// §9.6). If they were read as a request, nothing would respond to it, and the connection would wait for the response
/// forever.
final class RequestRules: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let arrival: RequestArrival
    /// Whether the headers of a request have arrived, but not yet its end.
    private var isUnderWay = false
    /// Whether the current request is the last one of the connection.
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
            // RFC 9110 §6.5.1: no trailer is about the connection. The parser obeys such trailers and refuses the bytes
            // after the request, which may be the request of another client. So such a trailer breaks the body, as a
            // trailer with framing does.
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
        // The handler that reads the body responds to this error, unless it has responded already. For a parser error
        // the library would respond a second time.
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
