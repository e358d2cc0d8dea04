package import HTTP
package import Hummingbird
package import NIOCore

/// What the management listener keeps of one request.
package struct ManagementContext: HTTPContext {
    package var coreContext: CoreRequestContextStorage
    package let requestID: String
    package let remoteAddress: SocketAddress?
    package var peer: PeerAddress
    /// The operator who calls; `OperatorGate` puts it here, and nothing else does.
    var caller: Caller?
    /// Whether it waits a moment where too many requests are under way: a page is several calls at once.
    var waitsForPlace = false

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        requestID = source.requestID
        remoteAddress = ProxiedOrigin.current?.address ?? source.channel.remoteAddress
        peer = PeerAddress(remoteAddress)
    }
}
