import NIOConcurrencyHelpers
import NIOCore

/// Hands what arrives on its channel on to the partner channel, as the rules say; both are on one event loop.
final class ProxyRelay: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// Whose bytes it hands on.
    let direction: FaultyProxy.Direction

    private enum Event {
        case bytes(ByteBuffer)
        case end
        case cut(FaultyProxy.Cut)
    }

    /// Where it hands on to; until the way there is open, everything is held back.
    private var partner: (any Channel)?
    private let rules: NIOLockedValueBox<ProxyRules>
    private var progress = CutProgress()
    /// What is held back, in order, each with the time at which it may go.
    private var held: CircularBuffer<(due: NIODeadline, event: Event)> = []
    private var context: ChannelHandlerContext?

    init(_ direction: FaultyProxy.Direction, rules: NIOLockedValueBox<ProxyRules>) {
        self.direction = direction
        self.rules = rules
    }

    /// Opens the way to the partner.
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

    /// Ends this direction after what is held back.
    func finish() { hand(on: .end) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { finish() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        // Not at once: who is about to reset both sides must not see the partner end in order first.
        context.eventLoop.assumeIsolated().execute { self.finish() }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        _ = partner?.end(.reset)
        context.close(promise: nil)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // Nothing piles up for a receiver that does not read.
        _ = partner?.setOption(.autoRead, value: context.channel.isWritable)
        context.fireChannelWritabilityChanged()
    }

    private func hand(on event: Event) {
        let latency = rules.withLockedValue { $0[direction].latency }
        // Never before what was held back earlier, even if the latency has become less since.
        let due = max(.now() + latency, held.last?.due ?? .distantPast)
        held.append((due, event))
        if held.count == 1 { release() }
    }

    /// Hands on what is due, and comes back for the rest.
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
            // Nobody takes these bytes any more: their sender learns it as it would without a proxy.
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
