package import Hummingbird
import Logging
package import NIOCore

/// The context of one request, on any listener.
package protocol HTTPContext: RequestContext where Source == ApplicationRequestContextSource {
    /// The id of this request, which the response, the body of a failure and the log contain.
    var requestID: String { get }
    /// The network address of the connection's peer, regardless of HTTP headers.
    var remoteAddress: SocketAddress? { get }
    /// The source of the request (the client's network address), as `PeerMiddleware` has determined it.
    var peer: PeerAddress { get set }
}

extension ApplicationRequestContextSource {
    /// The id that the HTTP library gives to every request.
    ///
    /// The library puts it into the request's logger, and the log handler writes it as `request`.
    package var requestID: String { logger[metadataKey: "hb.request.id"]?.description ?? "-" }
}
