import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

/// The two listening sockets and the threads behind them.
final class Listener: Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let channels: NIOLockedValueBox<[any Channel]>
    private let connections = NIOLockedValueBox<[ObjectIdentifier: any Channel]>([:])
    private let simulation: Simulation
    private let writers: [ObjectIdentifier: NIOLoopBoundBox<ReplyWriter>]

    init(simulation: Simulation, threads: Int) {
        self.simulation = simulation
        group = MultiThreadedEventLoopGroup(numberOfThreads: max(threads, 1))
        channels = NIOLockedValueBox([])
        var writers: [ObjectIdentifier: NIOLoopBoundBox<ReplyWriter>] = [:]
        for loop in group.makeIterator() {
            writers[ObjectIdentifier(loop)] = .makeBoxSendingValue(ReplyWriter(), eventLoop: loop)
        }
        self.writers = writers
    }

    /// Opens the public port.
    func listen(_ address: GraphSimulator.Address) async throws -> GraphSimulator.Address {
        try await bind(address) { [self] channel in
            let (number, fault) = simulation.accept()
            remember(channel)
            guard let writer = writers[ObjectIdentifier(channel.eventLoop)]?.value else { return }
            if let fault {
                let end = ConnectionEnd(at: fault.moment, fault.manner, simulation: simulation)
                try channel.pipeline.syncOperations.addHandler(end)
                return
            }
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderFieldCount = 200
            try channel.pipeline.syncOperations.addHandlers(
                ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)),
                GraphConnection(number: number, simulation: simulation, writer: writer)
            )
        }
    }

    /// Opens the control port.
    func listenForControl(_ address: GraphSimulator.Address) async throws -> GraphSimulator.Address {
        try await bind(address) { [self] channel in
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
            try channel.pipeline.syncOperations.addHandler(
                ControlConnection(
                    control: ControlAPI(
                        simulation: simulation,
                        closeConnections: { [self] in closeConnections() }
                    )
                )
            )
        }
    }

    /// Closes the clients' connections; the ports stay open.
    func closeConnections() {
        for channel in connections.withLockedValue({ Array($0.values) }) { channel.close(promise: nil) }
    }

    func stop() async {
        for channel in channels.withLockedValue({ $0 }) { channel.close(promise: nil) }
        // Fails only when asked twice, which leaves nothing to do.
        try? await group.shutdownGracefully()
    }

    private func remember(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        connections.withLockedValue { $0[id] = channel }
        channel.closeFuture.whenComplete { [connections] _ in
            connections.withLockedValue { $0[id] = nil }
        }
    }

    private func bind(
        _ address: GraphSimulator.Address,
        prepare: @escaping @Sendable (any Channel) throws -> Void
    ) async throws -> GraphSimulator.Address {
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in channel.eventLoop.makeCompletedFuture { try prepare(channel) } }
            .bind(host: address.host, port: address.port)
            .get()
        channels.withLockedValue { $0.append(channel) }
        return GraphSimulator.Address(host: address.host, port: channel.localAddress?.port ?? address.port)
    }
}
