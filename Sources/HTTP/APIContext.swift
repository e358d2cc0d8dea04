package import Domain
package import Hummingbird
package import NIOCore

/// The context of one request on the public listener.
package struct APIContext: HTTPContext {
    package var coreContext: CoreRequestContextStorage
    package let requestID: String
    package let remoteAddress: SocketAddress?
    package var peer: PeerAddress
    /// The API key of the request; nil if the host name alone identified the application.
    package var apiKey: APIKey?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        requestID = source.requestID
        remoteAddress = ProxiedOrigin.current?.address ?? source.channel.remoteAddress
        peer = PeerAddress(remoteAddress)
    }
}
