import HTTPTypes
package import HummingbirdCore
import Logging
package import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

extension HTTPServerBuilder {
    /// HTTP/1.1 as ``HTTPConnections`` has it.
    ///
    /// - Parameters:
    ///   - read: How long a request may take to arrive.
    ///   - idle: How long a connection may wait for its next request.
    /// - Returns: What makes a server of a responder.
    package static func connections(read: TimeAmount, idle: Duration) -> HTTPServerBuilder {
        HTTPServerBuilder { HTTPConnections(responder: $0, read: read, idle: idle) }
    }
}

/// The connections of a listener: HTTP/1.1 from bytes to requests, within limits, and back.
struct HTTPConnections: HTTPChannelHandler {
    typealias Value = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    let responder: HTTPChannelHandler.Responder
    private let read: TimeAmount
    private let idle: Duration

    init(responder: @escaping HTTPChannelHandler.Responder, read: TimeAmount, idle: Duration) {
        self.responder = { request, writer, channel in
            // In the order of the replies, and always: a client that is left waiting would send its body when we take
            // it for the next request.
            if request.headers[.expect] != nil {
                try await writer.writeInformationalHead(HTTPResponse(status: .continue))
            }
            try await responder(request, writer, channel)
        }
        self.read = read
        self.idle = idle
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let arrival = RequestArrival(limit: read)
            try pipeline.addHandler(arrival)
            try pipeline.configureHTTPServerPipeline(
                withPipeliningAssistance: false,
                withErrorHandling: false,
                withOutboundHeaderValidation: false,
                withEncoderConfiguration: .init(),
                withDecoderLimitConfiguration: Self.head
            )
            try pipeline.addHandler(RequestRules(arrival))
            try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
            try pipeline.addHandler(HTTPConnectionStateHandler(idleTimeout: idle, logger: logger))
            return try NIOAsyncChannel(
                wrappingChannelSynchronously: channel,
                configuration: .init(isOutboundHalfClosureEnabled: true)
            )
        }
    }

    func handle(value: Value, logger: Logger) async {
        await handleHTTP(asyncChannel: value, logger: logger)
    }

    /// Limits of the header fields.
    private static let head = {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 16_384
        limits.maxHeaderListSize = 32_768
        limits.maxHeaderFieldCount = 100
        return limits
    }()
}
