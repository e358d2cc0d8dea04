import NIOConcurrencyHelpers
import NIOCore

/// Forwards data from its channel to another channel, the partner.
///
/// The rules of the proxy may delay or discard the data, or end the connection. Both channels have the same event loop.
final class ProxyRelay: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The direction of the forwarded bytes.
    let direction: FaultyProxy.Direction

    private enum Event {
        case bytes(ByteBuffer)
        case end
        case cut(FaultyProxy.Cut)
    }

    /// The channel to which the data is forwarded; `nil` until it is connected.
    ///
    /// Until then, all data is held back.
    private var partner: (any Channel)?
    private let rules: NIOLockedValueBox<ProxyRules>
    private var progress = CutProgress()
    /// The events that are held back, in their order, each with the time at which it must be forwarded.
    ///
    /// An event is a piece of data, an orderly end of the connection, or a cut.
    private var held: CircularBuffer<(due: NIODeadline, event: Event)> = []
    private var context: ChannelHandlerContext?

    init(_ direction: FaultyProxy.Direction, rules: NIOLockedValueBox<ProxyRules>) {
        self.direction = direction
        self.rules = rules
    }

    /// Sets the partner channel, and forwards the held-back data whose time has come.
    func lead(to partner: any Channel) {
        self.partner = partner
        release()
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        let (passing, cut) = rules.withLockedValue { rules in
            let (allowed, cut) = progress.pass(bytes.readableBytes, under: rules[direction].cut)
            let passing = rules[direction].swallows ? 0 : allowed
            rules.traffic.swallowed += bytes.readableBytes - passing
            return (passing, cut)
        }
        if passing > 0, let head = bytes.readSlice(length: passing) { hand(on: .bytes(head)) }
        if let cut { hand(on: .cut(cut)) }
    }

    /// Closes the partner channel for output, after all held-back data has been forwarded.
    func finish() { hand(on: .end) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { finish() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        // The end is deferred. If a caller is about to reset both sides, the partner must not see an orderly end
        // before.
        context.eventLoop.assumeIsolated().execute { self.finish() }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        _ = partner?.end(.reset)
        context.close(promise: nil)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // While the receiver does not read, this side stops reading, so that no data accumulates.
        _ = partner?.setOption(.autoRead, value: context.channel.isWritable)
        context.fireChannelWritabilityChanged()
    }

    private func hand(on event: Event) {
        let latency = rules.withLockedValue { $0[direction].latency }
        // An event is never due before an earlier event, even if the latency was reduced meanwhile.
        let due = max(.now() + latency, held.last?.due ?? .distantPast)
        held.append((due, event))
        if held.count == 1 { release() }
    }

    /// Forwards the held-back data whose time has come, and schedules the next call for the rest.
    private func release() {
        guard let partner else { return }
        while let next = held.first {
            guard next.due <= .now() else {
                partner.eventLoop.assumeIsolated().scheduleTask(deadline: next.due) { self.release() }
                return
            }
            perform(held.removeFirst().event, on: partner)
        }
    }

    private func perform(_ event: Event, on partner: any Channel) {
        switch event {
        case .bytes(let bytes):
            rules.withLockedValue { $0.traffic.delivered += bytes.readableBytes }
            // The receiver has ended. The sender then sees a reset, as it would without a proxy.
            partner.writeAndFlush(bytes).assumeIsolated().whenFailure { _ in
                if let context = self.context { _ = context.channel.end(.reset) }
            }
        case .end: partner.close(mode: .output, promise: nil)
        case .cut(let cut):
            _ = partner.end(cut)
            if let context { _ = context.channel.end(cut) }
        }
    }
}
