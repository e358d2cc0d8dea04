import Federation
package import Hummingbird
import Vocabulary
import Logging
import NIOCore

/// What the API keeps of one request.
package struct APIContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Names this request in the reply, in `errorData` and in the log.
    let requestID: String
    /// The other end of the connection, whatever headers say of it.
    let remoteAddress: SocketAddress?
    /// Where the request comes from, as `PeerMiddleware` has found out.
    var peer: PeerAddress
    /// The API key by which the application was found; nil where its host was enough.
    var apiKey: APIKey?
    /// The operator who calls; `OperatorGate` puts it here, and nothing else does.
    var caller: Caller?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        // The library gives every request an id and puts it into its logger; the log handler writes it as `request`.
        requestID = source.logger[metadataKey: "hb.request.id"]?.description ?? "-"
        remoteAddress = source.channel.remoteAddress
        peer = PeerAddress(remoteAddress)
    }

    /// Where the request comes from, as far as attempts are counted for it.
    var source: RequestSource { RequestSource(name: peer.network.name) }
}
