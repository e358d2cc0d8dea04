import Limiting
import NIOConcurrencyHelpers
import NIOCore

/// The resources that a listener reserves for its clients: connections per source, and waiting bytes.
///
/// Bytes wait for the rest of a request, or for a client to read a response. A connection of HTTP/1.1 has one request
/// under way. A connection of HTTP/2 may have more: those beside the first are counted, and may be a quarter as many as
/// connections, for a source and in all.
///
/// Without the budget a client decides how much memory the process has: the headers of a request cost the client some
/// bytes, and the request made of them costs thousands of times as many.
final class ConnectionBudget: Sendable {
    /// Bytes of a request once it is made of its headers: its channel, its handlers and its task.
    static let request = 40 * 1024
    /// How many sources a network counts as; the /48 of an IPv6 address is one customer's.
    static let sourcesOfNetwork = 2
    /// The part of the free bytes that a source may hold: a third, and so a quarter of all when it is alone.
    ///
    /// So a few sources that hold all they may leave room for the next one.
    static let partOfSource = 3
    /// Bytes of a request that a connection may always keep.
    ///
    /// A login whose headers and body arrive apart is served even where nothing is free.
    static let uncounted = 4096

    private struct Use {
        var connections = 0
        var requests = 0
        var bytes = 0
    }

    /// A source, or the network of several sources.
    private enum Holder: Hashable {
        case source(UInt64)
        case network(UInt64)

        /// How many sources the holder counts as.
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

    /// Counts one more connection of a source.
    ///
    /// - Returns: Whether there is room; if not, nothing is counted.
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

    /// Counts one more request on a connection that already has one under way.
    ///
    /// - Returns: Whether there is room; if not, nothing is counted.
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

    /// Reserves bytes.
    ///
    /// - Returns: Whether there is room; if not, nothing is reserved.
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

/// One connection's share of the budget.
///
/// The share belongs to the connection's event loop.
final class ConnectionShare {
    private let budget: ConnectionBudget
    private var source: LimitedSource?
    private var bytes = 0
    /// Requests of HTTP/2 under way; the connection itself counts for one of them.
    private var requests = 0
    private var isOver = false

    init(_ budget: ConnectionBudget) {
        self.budget = budget
    }

    /// Counts the connection for its source.
    ///
    /// - Returns: Whether the connection may stay.
    func open(from address: SocketAddress?) -> Bool {
        guard source == nil, !isOver, let source = PeerAddress(address).limitedSource else { return true }
        guard budget.open(for: source) else { return false }
        // What the connection already holds is counted for the source from now on.
        let bytes = bytes
        give(bytes)
        self.source = source
        return take(bytes)
    }

    /// Counts one more request of HTTP/2; `end` must follow when it is done.
    ///
    /// - Returns: Whether there is room for the request.
    func begin() -> Bool {
        guard isOver || requests == 0 || budget.begin(for: source) else { return false }
        requests += 1
        return true
    }

    /// Ends the count of a request.
    func end() {
        guard !isOver, requests > 0 else { return }
        requests -= 1
        if requests > 0 { budget.end(1, for: source) }
    }

    /// Reserves bytes until they are given back.
    ///
    /// - Returns: Whether there is room for the bytes.
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

/// The bytes that a handler reserves of its connection's share.
struct ConnectionCharge {
    private let share: ConnectionShare
    private(set) var bytes = 0

    init(_ share: ConnectionShare) {
        self.share = share
    }

    /// Reserves missing bytes, or gives back surplus ones.
    ///
    /// - Returns: Whether there is room; if not, nothing has changed.
    mutating func set(_ count: Int) -> Bool {
        if count < bytes { share.give(bytes - count) } else if !share.take(count - bytes) { return false }
        bytes = count
        return true
    }
}

/// The source that a connection is counted for.
enum ConnectionSource {
    /// The address of the peer.
    case peer
    /// The address in the header of the PROXY protocol.
    case header
    /// No source: proxies send the requests of many clients by one connection, and their addresses are no source.
    case proxies
}

/// The first handler of a connection: counts the connection for its source, and closes it when there are too many.
final class SourceGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The event with the address from the PROXY protocol.
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
