package import Hummingbird
package import NIOCore
package import Vocabulary

/// What the public listener keeps of one request.
package struct APIContext: HTTPContext {
    package var coreContext: CoreRequestContextStorage
    package let requestID: String
    package let remoteAddress: SocketAddress?
    package var peer: PeerAddress
    /// The API key by which the application was found; nil where its host was enough.
    package var apiKey: APIKey?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        requestID = source.requestID
        remoteAddress = ProxiedOrigin.current?.address ?? source.channel.remoteAddress
        peer = PeerAddress(remoteAddress)
    }
}
