import HummingbirdCore
import Logging
import NIOConcurrencyHelpers
package import NIOCore

/// The source of a connection: the client's network address, as a proxy in front of the service reports it.
///
/// The proxy sends the address in the header of the PROXY protocol.
package final class ProxiedOrigin: Sendable {
    /// The source of the current request's connection; nil if the listener does not use the PROXY protocol.
    @TaskLocal package static var current: ProxiedOrigin?

    private let source = NIOLockedValueBox<SocketAddress?>(nil)

    /// The source's address; nil for a connection that the proxy opened for itself, such as a health check.
    package var address: SocketAddress? { source.withLockedValue { $0 } }

    func set(_ address: SocketAddress?) { source.withLockedValue { $0 = address } }
}

/// The connections of a listener behind a proxy that names each source by the PROXY protocol.
///
/// Connections from untrusted peers are refused. A peer that could omit or forge the header could pose as any source.
struct ProxiedConnections<Base: ServerChildChannel>: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let base: Base.Value
        let origin: ProxiedOrigin
        var channel: any Channel { base.channel }
    }

    let base: Base
    let trusted: TrustedPeers

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let origin = ProxiedOrigin()
        return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(
                ProxyProtocol(trusted: trusted, origin: origin, logger: logger)
            )
        }.flatMap {
            base.setup(channel: channel, logger: logger)
        }.map {
            Value(base: $0, origin: origin)
        }
    }

    func handle(value: Value, logger: Logger) async {
        await ProxiedOrigin.$current.withValue(value.origin) {
            await base.handle(value: value.base, logger: logger)
        }
    }
}

/// Reads the header of the PROXY protocol at the beginning of a connection, and removes it.
///
/// The bytes after the header are passed on. Until the header is complete, no byte is passed on.
final class ProxyProtocol: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let trusted: TrustedPeers
    private let origin: ProxiedOrigin
    private let logger: Logger
    private var begun: ByteBuffer?
    private var isOver = false

    init(trusted: TrustedPeers, origin: ProxiedOrigin, logger: Logger) {
        self.trusted = trusted
        self.origin = origin
        self.logger = logger
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        guard trusted.contains(context.remoteAddress) else {
            return refuse("the connection comes from where no proxy is trusted", context)
        }
        var bytes = unwrapInboundIn(data)
        if var begun {
            begun.writeBuffer(&bytes)
            bytes = begun
        }
        switch ProxyHeader.read(bytes) {
        case .incomplete: begun = bytes
        case .faulty(let fault): refuse(fault.rawValue, context)
        case .whole(let length, let source):
            origin.set(source)
            context.fireUserInboundEventTriggered(SourceGate.Header(address: source))
            begun = nil
            bytes.moveReaderIndex(forwardBy: length)
            if bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        }
    }

    private func refuse(_ cause: String, _ context: ChannelHandlerContext) {
        isOver = true
        logger.notice(
            "connection refused",
            metadata: ["cause": "\(cause)", "source": "\(PeerAddress(context.remoteAddress).text)"]
        )
        context.close(promise: nil)
    }
}

extension ServerChildChannel {
    /// Wraps these connections, so that they accept only trusted proxies that use the PROXY protocol.
    func behind(_ proxies: TrustedPeers) -> any ServerChildChannel {
        ProxiedConnections(base: self, trusted: proxies)
    }
}
