package import HTTP
package import Hummingbird
package import NIOCore

/// The context of a request to the management listener.
package struct ManagementContext: HTTPContext {
    package var coreContext: CoreRequestContextStorage
    package let requestID: String
    package let remoteAddress: SocketAddress?
    package var peer: PeerAddress
    /// The authenticated operator; nil before authentication.
    ///
    /// Only `OperatorGate` sets it.
    var caller: Caller?
    /// Whether the request waits for its turn if too many administrative requests are running.
    ///
    /// Otherwise it is refused. Requests of the console wait, since a page makes several at once.
    var waitsForPlace = false

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        requestID = source.requestID
        remoteAddress = ProxiedOrigin.current?.address ?? source.channel.remoteAddress
        peer = PeerAddress(remoteAddress)
    }
}
