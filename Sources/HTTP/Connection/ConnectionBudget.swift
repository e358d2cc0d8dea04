import Limiting
import NIOConcurrencyHelpers
import NIOCore

/// How much a listener keeps for the other ends of its connections: connections of one source, and bytes that wait for
/// the rest of a request or for somebody to take a reply.
///
/// A connection of HTTP/1.1 has one request under way. A connection of HTTP/2 may have more: those beside the first are
/// counted, and may be a quarter as many as connections, for a source and in all.
///
/// Without it a client decides how much memory the process has: a head costs the client some bytes, and the request
/// that is made of it costs thousands of times as many.
final class ConnectionBudget: Sendable {
    /// What a request costs from the moment in which it is made of its head: its channel, its handlers, its task.
    static let request = 40 * 1024
    /// How many sources a network counts as: the /48 of an IPv6 address is one customer's.
    static let sourcesOfNetwork = 2
    /// A source may hold a third of what is free beside it, so a quarter of all where it is alone: a few that hold what
    /// they may leave room for whoever comes next.
    static let partOfSource = 3
    /// What a connection may keep of a request in any case: a login whose head and body come apart is served even where
    /// nothing is free.
    static let uncounted = 4096

    private struct Use {
        var connections = 0
        var requests = 0
        var bytes = 0
    }

    /// A source, or the network of some.
    private enum Holder: Hashable {
        case source(UInt64)
        case network(UInt64)

        /// How many sources it counts as.
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
    ///   - connections: Connections at once, which the listener bounds.
    ///   - connectionsOfSource: Connections that one source may have at once.
    ///   - bytes: Bytes that may wait over all connections.
    init(connections: Int, connectionsOfSource: Int, bytes: Int) {
        self.connectionsOfSource = connectionsOfSource
        requests = max(connections / 4, 1)
        requestsOfSource = max(connectionsOfSource / 4, 1)
        self.bytes = bytes
    }

    /// - Returns: Whether the source may have one connection more, which then counts.
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

    /// - Returns: Whether there is room for one request more on a connection that has one under way.
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

    /// - Returns: Whether there is room for the bytes, which are then taken.
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

/// What one connection has of the budget.
///
/// It belongs to the connection's event loop.
final class ConnectionShare {
    private let budget: ConnectionBudget
    private var source: LimitedSource?
    private var bytes = 0
    /// Requests of HTTP/2 under way; the connection counts as one of them.
    private var requests = 0
    private var isOver = false

    init(_ budget: ConnectionBudget) {
        self.budget = budget
    }

    /// Counts the connection for where it comes from.
    ///
    /// - Returns: Whether it may stay.
    func open(from address: SocketAddress?) -> Bool {
        guard source == nil, !isOver, let source = PeerAddress(address).limitedSource else { return true }
        guard budget.open(for: source) else { return false }
        // What it has is counted for the source from now on.
        let bytes = bytes
        give(bytes)
        self.source = source
        return take(bytes)
    }

    /// Counts one more request of HTTP/2 that is under way; `end` must follow then.
    ///
    /// - Returns: Whether there is room for it.
    func begin() -> Bool {
        guard isOver || requests == 0 || budget.begin(for: source) else { return false }
        requests += 1
        return true
    }

    /// A request that was begun is over.
    func end() {
        guard !isOver, requests > 0 else { return }
        requests -= 1
        if requests > 0 { budget.end(1, for: source) }
    }

    /// - Returns: Whether there is room for so many bytes more, which then count until they are given back.
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

    /// Gives everything back, for good.
    func close() {
        guard !isOver else { return }
        give(bytes)
        isOver = true
        if requests > 1 { budget.end(requests - 1, for: source) }
        if let source { budget.close(for: source) }
    }

    deinit { close() }
}

/// What a handler has of its connection's share, which follows what the handler needs.
struct ConnectionCharge {
    private let share: ConnectionShare
    private(set) var bytes = 0

    init(_ share: ConnectionShare) {
        self.share = share
    }

    /// Takes what is missing, or gives back what is too much.
    ///
    /// - Returns: Whether there is room; if not, nothing has changed.
    mutating func set(_ count: Int) -> Bool {
        if count < bytes { share.give(bytes - count) } else if !share.take(count - bytes) { return false }
        bytes = count
        return true
    }
}

/// Where a connection is counted for.
enum ConnectionSource {
    /// Its other end.
    case peer
    /// Whom the header of the PROXY protocol names.
    case header
    /// Nobody: proxies in front send the requests of many by one connection, and their addresses are no source.
    case proxies
}

/// Stands first in a connection: counts it for its source, and ends it when that has too many.
final class SourceGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// What the PROXY protocol has said.
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
