import HummingbirdCore
import Logging
import NIOCore
import NIOSSL

/// The TLS connections of a listener: HTTP/2 for clients that ask for it by ALPN, otherwise HTTP/1.1.
///
/// Each connection keeps the certificate that was current when it was opened.
struct TLSConnections: ServerChildChannel {
    enum Negotiated {
        case http1(HTTPConnections.Value)
        case http2(HTTP2Connections.Value)
    }

    struct Value: ServerChildChannelValue {
        let channel: any Channel
        let negotiated: EventLoopFuture<Negotiated>
    }

    /// The configuration of the TLS buffers.
    ///
    /// A buffer that a long response has made large is freed, not kept for the next response.
    private static let buffers = {
        var buffers = NIOSSLHandler.Configuration()
        buffers.maximumPreservedOutboundBufferCapacity = 32_768
        return buffers
    }()

    let certificate: ListenerCertificate
    let http1: HTTPConnections
    let http2: HTTP2Connections

    init(_ http1: HTTPConnections, certificate: ListenerCertificate) {
        self.certificate = certificate
        self.http1 = http1
        http2 = HTTP2Connections(http1)
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let share = try http1.open(channel)
            let pipeline = channel.pipeline.syncOperations
            let promise = channel.eventLoop.makePromise(of: Negotiated.self)
            let negotiation = TLSNegotiation(limit: http1.limits.read, promise: promise) { name in
                name == "h2"
                    ? .http2(try http2.configure(channel, share: share, logger: logger))
                    : .http1(try http1.configure(channel, share: share, logger: logger))
            }
            do {
                try pipeline.addHandler(
                    NIOSSLServerHandler(context: certificate.context, configuration: Self.buffers)
                )
                try pipeline.addHandler(negotiation)
            } catch {
                promise.fail(error)
                throw error
            }
            return Value(channel: channel, negotiated: promise.futureResult)
        }
    }

    func handle(value: Value, logger: Logger) async {
        let negotiated: Negotiated
        do {
            negotiated = try await withTaskCancellationHandler {
                try await value.negotiated.get()
            } onCancel: {
                value.channel.close(promise: nil)
            }
        } catch {
            // Such errors come from scanners, and from clients that do not trust the certificate. No operator can
            // change that.
            return logger.debug("no TLS", metadata: ["cause": "\(type(of: error))"])
        }
        switch negotiated {
        case .http1(let value): await http1.handle(value: value, logger: logger)
        case .http2(let value): await http2.handle(value, logger: logger)
        }
    }
}
