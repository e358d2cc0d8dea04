import Encodings
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Passes on requests that conform to RFC 9113 §8, and replaces every other request by one that names its fault.
///
/// NIO has already refused requests that HTTP/2 itself forbids: with wrong pseudo-header fields, with invalid field
/// names, or with fields that only HTTP/1.1 has, such as `Connection`. The rules here are those that hold for HTTP/1.1,
/// too.
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
        // Trailers are not used.
        case .end: context.fireChannelRead(wrapInboundOut(.end(nil)))
        }
    }
}

extension HTTPRequest {
    /// Normalizes the target and the headers for the later handlers; or returns the fault of an invalid request.
    ///
    /// Afterwards the target is a path, or `*`. The authority is the host that the request names. `Expect` is present
    /// only if the client waits for 100 Continue.
    mutating func settle() -> RequestFault? {
        guard headerFields.count <= RequestFault.maxFields,
            headerFields.allSatisfy({ $0.value.utf8.count <= RequestFault.longestField })
        else { return .largeHead }
        guard let path, path.utf8.count <= HTTPRequestHead.longestTarget else { return .longTarget }
        // RFC 9113 §8.3.1: one of the two fields, or both with the same value.
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
    /// `Host` of HTTP/1.1; a request of HTTP/2 may have it in place of `:authority`, or beside it.
    fileprivate static let hostField = HTTPField.Name(known: "Host")
}
