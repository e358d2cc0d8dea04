import Limiting
import NIOConcurrencyHelpers
import NIOCore

/// Limits the resources that the clients of a listener use, and counts how much each client uses.
///
/// The resources are connections, further requests of HTTP/2 connections, and waiting bytes. A byte waits until the
/// rest of its request arrives, or until the client reads the response. An HTTP/1.1 connection handles one request at a
/// time. An HTTP/2 connection may handle several; all but the first count as further requests. A source (a client's
/// network address) may have a quarter as many further requests as connections, and so may the whole listener.
///
/// Without these limits, clients would decide how much memory the process uses. A client can send the headers of a
/// request in some bytes, and the service needs thousands of times as many to handle the request.
final class ConnectionBudget: Sendable {
    /// The number of bytes that count for a request that is being handled: for its channel, its handlers and its task.
    static let request = 40 * 1024
    /// A network may use this many times as many connections, requests and bytes as a single source.
    ///
    /// The network of an IPv6 address is its /48, which belongs to one customer of a network provider.
    static let sourcesOfNetwork = 2
    /// The bytes that a single source uses may be at most the number of free bytes, divided by this number.
    ///
    /// A source that is alone may therefore use a quarter of all bytes. Even if some sources use as many bytes as they
    /// may, some bytes remain for the next source.
    static let partOfSource = 3
    /// The number of bytes of an incomplete request that a connection may keep without counting them.
    ///
    /// A login whose headers and body arrive separately is therefore served even if no bytes are free.
    static let uncounted = 4096

    private struct Use {
        var connections = 0
        var requests = 0
        var bytes = 0
    }

    /// A client for which used resources are counted: a source (an address), or the network that contains several
    /// sources.
    private enum Holder: Hashable {
        case source(UInt64)
        case network(UInt64)

        /// The factor by which the limits of a source are multiplied for this client; it is 1 unless the client is a
        /// network.
        var share: Int {
            switch self {
            case .source: 1
            case .network: ConnectionBudget.sourcesOfNetwork
            }
        }
    }

    private struct State {
        var requests = 0
        var bytes = 0
        var uses: [Holder: Use] = [:]
    }

    private let connectionsOfSource: Int
    private let requests: Int
    private let requestsOfSource: Int
    private let bytes: Int
    private let state = NIOLockedValueBox(State())

    /// - Parameters:
    ///   - connections: The maximum number of open connections, which the listener enforces.
    ///   - connectionsOfSource: The maximum number of open connections of one source.
    ///   - bytes: The maximum number of waiting bytes over all connections.
    init(connections: Int, connectionsOfSource: Int, bytes: Int) {
        self.connectionsOfSource = connectionsOfSource
        requests = max(connections / 4, 1)
        requestsOfSource = max(connectionsOfSource / 4, 1)
        self.bytes = bytes
    }

    /// Counts one more connection of a source, unless the source has the maximum number of connections.
    ///
    /// - Returns: Whether the connection was counted.
    func open(for source: LimitedSource) -> Bool {
        state.withLockedValue { state in
            let holders = Self.holders(source)
            let isFull = holders.contains { holder in
                state.uses[holder, default: Use()].connections >= connectionsOfSource * holder.share
            }
            guard !isFull else { return false }
            for holder in holders { state.uses[holder, default: Use()].connections += 1 }
            return true
        }
    }

    func close(for source: LimitedSource) {
        state.withLockedValue { state in
            for holder in Self.holders(source) {
                guard var use = state.uses[holder] else { continue }
                use.connections -= 1
                state.uses[holder] = use.connections > 0 ? use : nil
            }
        }
    }

    /// Counts one more request of a connection that already has a request under way, unless a maximum is reached.
    ///
    /// - Returns: Whether the request was counted.
    func begin(for source: LimitedSource?) -> Bool {
        state.withLockedValue { state in
            let holders = Self.holders(source)
            let isFull = holders.contains { holder in
                state.uses[holder, default: Use()].requests >= requestsOfSource * holder.share
            }
            guard !isFull, state.requests < requests else { return false }
            state.requests += 1
            for holder in holders { state.uses[holder, default: Use()].requests += 1 }
            return true
        }
    }

    func end(_ count: Int, for source: LimitedSource?) {
        state.withLockedValue { state in
            state.requests -= count
            for holder in Self.holders(source) { state.uses[holder]?.requests -= count }
        }
    }

    /// Counts a number of bytes as used, unless too few bytes are free.
    ///
    /// - Returns: Whether the bytes were counted.
    func take(_ count: Int, for source: LimitedSource?) -> Bool {
        state.withLockedValue { state in
            let holders = Self.holders(source)
            let free = bytes - state.bytes - count
            let isFull = holders.contains { holder in
                (state.uses[holder, default: Use()].bytes + count) * Self.partOfSource > free * holder.share
            }
            guard !isFull, free >= 0 else { return false }
            state.bytes += count
            for holder in holders { state.uses[holder, default: Use()].bytes += count }
            return true
        }
    }

    func give(_ count: Int, for source: LimitedSource?) {
        state.withLockedValue { state in
            state.bytes -= count
            for holder in Self.holders(source) { state.uses[holder]?.bytes -= count }
        }
    }

    private static func holders(_ source: LimitedSource?) -> [Holder] {
        guard let source else { return [] }
        return [.source(source.address)] + (source.network.map { [.network($0)] } ?? [])
    }
}

/// The resources that one connection uses, counted in the ``ConnectionBudget`` of its listener.
///
/// Only the connection's event loop accesses this object.
final class ConnectionShare {
    private let budget: ConnectionBudget
    private var source: LimitedSource?
    private var bytes = 0
    /// The number of HTTP/2 requests under way.
    ///
    /// The listener's budget counts all of them but one, since the first is included in the connection.
    private var requests = 0
    private var isOver = false

    init(_ budget: ConnectionBudget) {
        self.budget = budget
    }

    /// Counts the connection for the network address that it comes from.
    ///
    /// - Returns: Whether the connection may stay open.
    func open(from address: SocketAddress?) -> Bool {
        guard source == nil, !isOver, let source = PeerAddress(address).limitedSource else { return true }
        guard budget.open(for: source) else { return false }
        // What the connection already holds is counted for the source from now on.
        let bytes = bytes
        give(bytes)
        self.source = source
        return take(bytes)
    }

    /// Counts one more HTTP/2 request, unless the maximum number of requests is reached.
    ///
    /// `end` must be called when the request is done.
    ///
    /// - Returns: Whether the request was counted.
    func begin() -> Bool {
        guard isOver || requests == 0 || budget.begin(for: source) else { return false }
        requests += 1
        return true
    }

    /// Stops counting a request that `begin` has counted.
    func end() {
        guard !isOver, requests > 0 else { return }
        requests -= 1
        if requests > 0 { budget.end(1, for: source) }
    }

    /// Reserves memory for a number of bytes; `give` frees it again.
    ///
    /// - Returns: Whether enough bytes were free.
    func take(_ count: Int) -> Bool {
        guard count > 0, !isOver else { return true }
        guard budget.take(count, for: source) else { return false }
        bytes += count
        return true
    }

    func give(_ count: Int) {
        let count = min(count, bytes)
        guard count > 0 else { return }
        bytes -= count
        budget.give(count, for: source)
    }

    /// Frees all resources that are counted for the connection.
    ///
    /// Nothing is counted for the connection after that.
    func close() {
        guard !isOver else { return }
        give(bytes)
        isOver = true
        if requests > 1 { budget.end(requests - 1, for: source) }
        if let source { budget.close(for: source) }
    }

    deinit { close() }
}

/// The number of bytes that one channel handler of a connection has reserved in its listener's ``ConnectionBudget``.
struct ConnectionCharge {
    private let share: ConnectionShare
    private(set) var bytes = 0

    init(_ share: ConnectionShare) {
        self.share = share
    }

    /// Changes the number of reserved bytes to `count`.
    ///
    /// - Returns: Whether enough bytes were free; if not, nothing has changed.
    mutating func set(_ count: Int) -> Bool {
        if count < bytes { share.give(bytes - count) } else if !share.take(count - bytes) { return false }
        bytes = count
        return true
    }
}

/// How a listener finds the source of a connection (the client's network address).
///
/// The listener counts the connection for this source.
enum ConnectionSource {
    /// The address of the peer.
    case peer
    /// The address in the header of the PROXY protocol.
    case header
    /// The connection is counted for no source, since proxies send the requests of many clients over one connection.
    case proxies
}

/// The first handler of a connection: counts the connection for its source, which is a network address.
///
/// If the source already has the maximum number of connections, the handler closes the new one.
final class SourceGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The pipeline event that carries the source's address from the header of the PROXY protocol.
    struct Header: Sendable {
        let address: SocketAddress?
    }

    private let share: ConnectionShare
    private let source: ConnectionSource

    init(_ share: ConnectionShare, source: ConnectionSource) {
        self.share = share
        self.source = source
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if source == .peer, context.channel.isActive { open(context, from: context.remoteAddress) }
    }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        if source == .peer { open(context, from: context.remoteAddress) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let header = event as? Header else { return context.fireUserInboundEventTriggered(event) }
        if source == .header { open(context, from: header.address) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        share.close()
        context.fireChannelInactive()
    }

    private func open(_ context: ChannelHandlerContext, from address: SocketAddress?) {
        if !share.open(from: address) { context.close(promise: nil) }
    }
}
