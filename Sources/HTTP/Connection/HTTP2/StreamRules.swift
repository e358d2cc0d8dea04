import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import Vocabulary

/// Lets pass what is a request by the letter of RFC 9113 §8, and hands on a fault in place of anything else.
///
/// NIO has refused what is malformed for the protocol: pseudo fields, names, and fields of a connection. These are the
/// rules that a request of HTTP/1.1 is held to as well.
final class StreamRules: ChannelInboundHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            if let fault = head.settle() {
                isRefused = true
                let method: HTTPRequest.Method = head.method == .head ? .head : .get
                head = HTTPRequest(method: method, scheme: nil, authority: nil, path: fault.rawValue)
            }
            context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body: if !isRefused { context.fireChannelRead(data) }
        // Nobody reads trailers.
        case .end: context.fireChannelRead(wrapInboundOut(.end(nil)))
        }
    }
}

extension HTTPRequest {
    /// Brings the head to the one form that everything behind it reads, or says what is wrong with it.
    ///
    /// Afterwards the target is a path, or `*`; the authority is what the request calls; and `Expect` is there only
    /// when the client waits to be told to go on.
    mutating func settle() -> RequestFault? {
        guard headerFields.count <= RequestFault.mostFields,
            headerFields.allSatisfy({ $0.value.utf8.count <= RequestFault.longestField })
        else { return .largeHead }
        guard let path, path.utf8.count <= HTTPRequestHead.longestTarget else { return .longTarget }
        // RFC 9113 §8.3.1: the one field or the other, or both alike.
        var hosts = headerFields[values: .hostField]
        if let authority { hosts.append(authority) }
        guard let host = hosts.first, hosts.allSatisfy({ $0.utf8.elementsEqual(host.utf8) }),
            HTTPRequestHead.isHost(host.utf8)
        else { return .host }
        authority = host
        headerFields[.hostField] = nil
        guard let scheme, scheme.utf8.elementsEqual("https".utf8) || scheme.utf8.elementsEqual("http".utf8) else {
            return .target
        }
        guard method != .connect, !path.utf8.contains(UInt8(ascii: "#")),
            path.utf8.first == UInt8(ascii: "/") || path.utf8.elementsEqual("*".utf8) && method == .options
        else { return .target }
        let lengths = headerFields[values: .contentLength]
        guard lengths.count <= 1, lengths.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isASCIIDigit) }) else {
            return .length
        }
        let isWaiting = headerFields[.expect]?.utf8.map(\.asciiLowercased).elementsEqual("100-continue".utf8)
        if isWaiting == false { headerFields[.expect] = nil }
        return nil
    }
}

extension HTTPField.Name {
    /// Of HTTP/1.1; a request of HTTP/2 may have it in the place of `:authority`, or beside it.
    fileprivate static let hostField = HTTPField.Name(known: "Host")
}
