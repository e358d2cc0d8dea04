import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

import Glibc

/// The two listening sockets of the simulator, for the simulated APIs and for control requests, and their event loops.
///
/// The simulator reads and writes HTTP with NIO's codec and without the service's HTTP library. The header types of
/// that library refuse the malformed names and values that a fault may send. They also lose the position and the
/// spelling of `Host`, and the request log shows both.
final class Listener: Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let channels = NIOLockedValueBox<[any Channel]>([])
    private let connections = NIOLockedValueBox<[ObjectIdentifier: any Channel]>([:])
    private let simulation: Simulation
    private let writers: [ObjectIdentifier: NIOLoopBoundBox<ReplyWriter>]

    init(simulation: Simulation, threads: Int) {
        self.simulation = simulation
        group = MultiThreadedEventLoopGroup(numberOfThreads: max(threads, 1))
        var writers: [ObjectIdentifier: NIOLoopBoundBox<ReplyWriter>] = [:]
        for loop in group.makeIterator() {
            writers[ObjectIdentifier(loop)] = .makeBoxSendingValue(ReplyWriter(), eventLoop: loop)
        }
        self.writers = writers
    }

    /// Opens the port that serves the simulated APIs, and returns its actual address.
    func listen(_ address: GraphSimulator.Address) async throws -> GraphSimulator.Address {
        try await bind(address) { [self] channel in
            let (number, fault) = simulation.accept()
            remember(channel)
            guard let writer = writers[ObjectIdentifier(channel.eventLoop)]?.value else { return }
            if let fault {
                try channel.pipeline.syncOperations.addHandler(EarlyEnd(at: fault.moment, fault.manner))
            } else {
                let connection = GraphConnection(number: number, simulation: simulation, writer: writer)
                try Self.serve(channel, bodiesUpTo: 1 << 20, by: connection)
            }
        }
    }

    /// Opens the port at which tests configure the simulator, and returns its actual address.
    ///
    /// This port accepts larger bodies than the other one, since a fault may contain a raw response.
    func listenForControl(_ address: GraphSimulator.Address) async throws -> GraphSimulator.Address {
        try await bind(address) { [self] channel in
            let control = ControlAPI(simulation: simulation, closeConnections: { [self] in closeConnections() })
            try Self.serve(channel, bodiesUpTo: 16 << 20, by: ControlConnection(control: control))
        }
    }

    /// Closes the clients' connections.
    ///
    /// The ports stay open.
    func closeConnections() {
        for channel in connections.withLockedValue({ Array($0.values) }) { channel.close(promise: nil) }
    }

    func stop() async {
        for channel in channels.withLockedValue({ $0 }) { channel.close(promise: nil) }
        // An error occurs only at a second call, when nothing is left to stop.
        try? await group.shutdownGracefully()
    }

    /// Adds handlers to a new channel: the HTTP codec, and `handler` for complete requests.
    ///
    /// Pipelined requests are served one after the other.
    private static func serve(_ channel: any Channel, bodiesUpTo limit: Int, by handler: some ChannelHandler) throws {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldCount = 200
        let pipeline = channel.pipeline.syncOperations
        try pipeline.configureHTTPServerPipeline(
            withOutboundHeaderValidation: false,
            withEncoderConfiguration: .init(),
            withDecoderLimitConfiguration: limits
        )
        try pipeline.addHandlers(Continue(), NIOHTTPServerRequestAggregator(maxContentLength: limit), handler)
    }

    private func remember(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        connections.withLockedValue { $0[id] = channel }
        channel.closeFuture.whenComplete { [connections, simulation] _ in
            connections.withLockedValue { $0[id] = nil }
            simulation.connectionClosed()
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

/// Sends `100 Continue` to clients that expect it.
private final class Continue: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data),
            head.headers.first(name: "expect")?.lowercased() == "100-continue"
        {
            let reply = HTTPResponseHead(version: .http1_1, status: .continue)
            context.writeAndFlush(wrapOutboundOut(.head(reply)), promise: nil)
        }
        context.fireChannelRead(data)
    }
}

/// Carries out a fault that interrupts a new connection before a request has been read.
///
/// The handler closes or resets the connection, or leaves it open and ignores its bytes.
private final class EarlyEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let moment: Fault.Moment
    private let manner: Fault.Manner

    init(at moment: Fault.Moment, _ manner: Fault.Manner) {
        self.moment = moment
        self.manner = manner
    }

    func channelActive(context: ChannelHandlerContext) {
        if moment == .accept { manner.end(context.channel) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if moment == .firstBytes { manner.end(context.channel) }
    }
}

extension Fault.Manner {
    func end(_ channel: any Channel) {
        switch self {
        case .hang: return
        case .reset:
            // With a linger time of zero, close(2) discards unsent data and sends RST. On the event loop, the option
            // takes effect at once. A socket that refuses the option is already closed.
            _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        case .close: break
        }
        channel.close(promise: nil)
    }
}

extension GraphSimulator {
    /// A host and a port to listen on.
    public struct Address: Sendable, Equatable, CustomStringConvertible {
        /// A name or an IP address, without brackets.
        public var host: String
        /// The port.
        ///
        /// With 0, the system chooses the port.
        public var port: Int

        /// Makes an address, by default a free port on the loopback interface.
        public init(host: String = "127.0.0.1", port: Int = 0) {
            self.host = host
            self.port = port
        }

        /// Parses an address such as `127.0.0.1:9090` or `[::1]:9090`; `nil` for any other text.
        public init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
                return nil
            }
            var host = text[..<colon]
            if host.hasPrefix("["), host.hasSuffix("]") {
                host = host.dropFirst().dropLast()
            } else if host.contains(":") {
                return nil
            }
            guard !host.isEmpty else { return nil }
            self.init(host: String(host), port: Int(port))
        }

        /// The form that ``init(_:)`` parses.
        public var description: String {
            host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }
}
