import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A TCP proxy on the loopback interface that disturbs its connections on demand.
///
/// If one side resets a connection, the other side sees a reset or an orderly end.
///
/// A rule takes effect at once, for live and new connections. ``heal()`` removes all rules. In this example, a
/// connection is killed between COMMIT and its response:
///
/// ```swift
/// proxy.swallow(.toClient)                                // the statement passes, its response does not
/// async let login = client.post(path, json: request)
/// try await eventually("the reply is lost") { proxy.traffic.swallowed > 0 }
/// try await proxy.cutAll(.reset)
/// try await proxy.heal()
/// ```
package final class FaultyProxy: Sendable {
    /// A direction of bytes through the proxy.
    package enum Direction: Sendable, CaseIterable {
        case toServer
        case toClient
    }

    /// The way in which a connection ends.
    package enum Cut: Sendable {
        /// An orderly end (FIN).
        case close
        /// A reset (RST).
        case reset
    }

    /// How the proxy treats new connections.
    package enum ConnectionRule: Sendable {
        /// The proxy connects a new connection to the server.
        ///
        /// If the server refuses, the client sees a reset.
        case pass
        /// The proxy stops listening, so that new connections are refused.
        case refuse
        /// The proxy accepts a new connection and then resets it (RST).
        case reset
        /// The proxy accepts a new connection, and neither sends nor reads anything.
        case hang
    }

    /// Counts the connections and the bytes since the start of the proxy.
    package struct Traffic: Sendable {
        /// The number of connections accepted.
        package var accepted = 0
        /// The number of connections open now.
        package var open = 0
        /// The number of bytes forwarded, in both directions together.
        package var delivered = 0
        /// The number of bytes read and discarded.
        package var swallowed = 0
    }

    /// The TCP port of the proxy on 127.0.0.1.
    ///
    /// The port stays the same when the proxy stops listening and later listens again.
    package let port: Int

    private let upstream: Int
    private let eventLoop: any EventLoop
    private let rules = NIOLockedValueBox(ProxyRules())
    private let listener = NIOLockedValueBox<(any Channel)?>(nil)
    private let connections = NIOLockedValueBox<[ObjectIdentifier: any Channel]>([:])

    private init(port: Int, upstream: Int) {
        self.port = port
        self.upstream = upstream
        // Both channels of a connection have the same event loop, so that they need no locks to access each other.
        eventLoop = Loopback.group.next()
    }

    /// Starts a proxy.
    ///
    /// - Parameter upstream: The server's port on 127.0.0.1.
    /// - Returns: The proxy, listening.
    /// - Throws: An error of the socket.
    package static func start(to upstream: Int) async throws -> FaultyProxy {
        let proxy = FaultyProxy(port: try freePort(), upstream: upstream)
        try await proxy.listen()
        return proxy
    }

    /// Stops listening and resets all connections.
    package func stop() async throws {
        try await stopListening()
        try await cutAll(.reset)
    }

    // MARK: Rules

    /// Sets how the proxy treats new connections.
    package func admit(_ rule: ConnectionRule) async throws {
        rules.withLockedValue { $0.connections = rule }
        if case .refuse = rule {
            try await stopListening()
        } else if listener.withLockedValue({ $0 }) == nil {
            try await listen()
        }
    }

    /// Delays all bytes that the proxy forwards in the given direction.
    package func delay(_ direction: Direction, by latency: Duration) {
        rules.withLockedValue { $0[direction].latency = .init(latency) }
    }

    /// Discards all bytes that arrive in this direction from now on.
    ///
    /// The sender does not notice this.
    package func swallow(_ direction: Direction) {
        rules.withLockedValue { $0[direction].swallows = true }
    }

    /// Ends each connection after that many further bytes have passed on it in the given direction.
    ///
    /// - Parameters:
    ///   - count: The number of bytes that still pass on each connection. With 0, the next byte ends the connection.
    ///   - direction: The direction whose bytes count.
    ///   - cut: The way in which the connection ends, for both sides.
    package func cut(after count: Int, _ direction: Direction, by cut: Cut) {
        rules.withLockedValue { rules in
            rules[direction].cut = ProxyRules.CutRule(allowance: count, cut: cut, generation: rules.nextGeneration())
        }
    }

    /// Removes all rules, so that the proxy forwards everything again.
    ///
    /// Bytes that were discarded meanwhile stay lost.
    package func heal() async throws {
        rules.withLockedValue { $0.heal() }
        try await admit(.pass)
    }

    // MARK: Live connections

    /// Ends all live connections, on both sides.
    package func cutAll(_ cut: Cut) async throws {
        let channels = connections.withLockedValue { Array($0.values) }
        try await eventLoop.submit { for channel in channels { _ = channel.end(cut) } }.get()
    }

    /// Sends FIN in one direction on all live connections and leaves the other direction open.
    package func halfClose(_ direction: Direction) async throws {
        let channels = connections.withLockedValue { Array($0.values) }
        for channel in channels {
            try await eventLoop.submit {
                // A connection that hangs by a rule has no relay.
                let relay = try? channel.pipeline.syncOperations.handler(type: ProxyRelay.self)
                if let relay, relay.direction == direction { relay.finish() }
            }.get()
        }
    }

    /// The numbers of connections and bytes so far.
    package var traffic: Traffic { rules.withLockedValue { $0.traffic } }

    // MARK: Connections

    private func listen() async throws {
        let channel = try await ServerBootstrap(group: eventLoop)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { [self] in accept($0) }
            .bind(host: "127.0.0.1", port: port)
            .get()
        listener.withLockedValue { $0 = channel }
    }

    private func stopListening() async throws {
        let channel = listener.withLockedValue { listener in
            defer { listener = nil }
            return listener
        }
        try await channel?.close().get()
    }

    private func accept(_ client: any Channel) -> EventLoopFuture<Void> {
        let rule = rules.withLockedValue { rules in
            rules.traffic.accepted += 1
            rules.traffic.open += 1
            return rules.connections
        }
        track(client)
        client.closeFuture.whenComplete { [rules] _ in rules.withLockedValue { $0.traffic.open -= 1 } }
        return client.eventLoop.makeCompletedFuture {
            switch rule {
            case .pass:
                let relay = ProxyRelay(.toServer, rules: rules)
                try client.pipeline.syncOperations.addHandler(relay)
                connect(client, relay)
            case .hang: break
            case .refuse, .reset: client.eventLoop.execute { _ = client.end(.reset) }
            }
        }
    }

    private func connect(_ client: any Channel, _ toServer: ProxyRelay) {
        let connected = ClientBootstrap(group: eventLoop)
            .connectTimeout(.seconds(60))
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { [rules] server in
                server.eventLoop.makeCompletedFuture {
                    let toClient = ProxyRelay(.toClient, rules: rules)
                    try server.pipeline.syncOperations.addHandler(toClient)
                    toClient.lead(to: client)
                }
            }
            .connect(host: "127.0.0.1", port: upstream)
        connected.assumeIsolated().whenComplete { [self] result in
            switch result {
            case .success(let server):
                track(server)
                toServer.lead(to: server)
                if !client.isActive { _ = server.end(.reset) }
            case .failure: _ = client.end(.reset)
            }
        }
    }

    private func track(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        connections.withLockedValue { $0[id] = channel }
        channel.closeFuture.whenComplete { [connections] _ in connections.withLockedValue { $0[id] = nil } }
    }
}

extension Channel {
    /// Closes or resets the connection.
    ///
    /// Does nothing if the connection has ended.
    func end(_ cut: FaultyProxy.Cut) -> EventLoopFuture<Void> {
        let prepared: EventLoopFuture<Void>
        switch (cut, self) {
        // A linger time of zero makes the kernel send RST instead of FIN.
        case (.reset, let socket as any SocketOptionProvider):
            prepared = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        default: prepared = eventLoop.makeSucceededVoidFuture()
        }
        return prepared.flatMap { self.close() }.flatMapErrorThrowing { _ in }
    }
}

/// Lends a proxy to a test and stops the proxy afterwards.
///
/// - Parameters:
///   - upstream: The server's port on 127.0.0.1.
///   - isolation: The caller's isolation. The closure runs in it, too.
///   - body: Uses the proxy.
/// - Returns: The result of the body.
/// - Throws: The body's error, or an error of the listening socket.
package func withFaultyProxy<Result>(
    to upstream: Int,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (FaultyProxy) async throws -> Result
) async throws -> Result {
    let proxy = try await FaultyProxy.start(to: upstream)
    do {
        let result = try await body(proxy)
        try await proxy.stop()
        return result
    } catch {
        try? await proxy.stop()
        throw error
    }
}
