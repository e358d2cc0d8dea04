import NIOCore
import NIOPosix

import Glibc

/// A connection that a fault meets before there is a request: it ends, or swallows what comes.
final class ConnectionEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let moment: Fault.Moment
    private let manner: Fault.Manner
    private let simulation: Simulation

    init(at moment: Fault.Moment, _ manner: Fault.Manner, simulation: Simulation) {
        self.moment = moment
        self.manner = manner
        self.simulation = simulation
    }

    func channelActive(context: ChannelHandlerContext) {
        if moment == .accept { Self.carryOut(manner, context: context) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if moment == .firstBytes { Self.carryOut(manner, context: context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        simulation.connectionClosed()
        context.fireChannelInactive()
    }

    static func carryOut(_ manner: Fault.Manner, context: ChannelHandlerContext) {
        switch manner {
        case .hang: return
        case .reset:
            // Without lingering time, close(2) discards what is unsent and sends RST. On the event loop the option is
            // set at once; a socket that refuses it is gone already.
            _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        case .close: break
        }
        context.close(promise: nil)
    }
}
