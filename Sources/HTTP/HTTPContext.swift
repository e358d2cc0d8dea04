package import Hummingbird
import Logging
package import NIOCore

/// What is kept of one request, whichever listener it came to.
package protocol HTTPContext: RequestContext where Source == ApplicationRequestContextSource {
    /// Names this request in the reply, in the body of a failure and in the log.
    var requestID: String { get }
    /// The other end of the connection, whatever headers say of it.
    var remoteAddress: SocketAddress? { get }
    /// Where the request comes from, as `PeerMiddleware` has found out.
    var peer: PeerAddress { get set }
}

extension ApplicationRequestContextSource {
    /// The id that the library gives every request and puts into its logger; the log handler writes it as `request`.
    package var requestID: String { logger[metadataKey: "hb.request.id"]?.description ?? "-" }
}
