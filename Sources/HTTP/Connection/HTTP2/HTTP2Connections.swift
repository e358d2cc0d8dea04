import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOHTTPTypes
import NIOHTTPTypesHTTP2

/// Serves the HTTP/2 connections of a listener, within the same limits as HTTP/1.1; each stream is a request.
struct HTTP2Connections: Sendable {
    struct Value {
        let channel: any Channel
        let streams: AsyncStream<HTTPConnections.Value>
    }

    private let http1: HTTPConnections

    /// - Parameter http1: Has the function that handles requests, and the limits.
    init(_ http1: HTTPConnections) {
        self.http1 = http1
    }

    func configure(_ channel: any Channel, share: ConnectionShare, logger: Logger) throws -> Value {
        let pipeline = channel.pipeline.syncOperations
        let gate = HTTP2Gate(limit: http1.limits.read)
        let manager = NIOHTTP2ServerConnectionManagementHandler(
            eventLoop: channel.eventLoop,
            configuration: .init(
                maxIdleTime: TimeAmount(http1.limits.idle),
                maxAge: nil,
                maxGraceTime: http1.limits.read,
                keepalive: nil
            )
        )
        try pipeline.addHandler(gate)
        try pipeline.addHandler(
            NIOHTTP2Handler(mode: .server, frameDelegate: gate, connectionConfiguration: Self.bounds)
        )
        let (streams, continuation) = AsyncStream.makeStream(of: HTTPConnections.Value.self)
        try pipeline.addHandler(
            WaitingStreams(limit: http1.limits.read, share: share, gate: gate) { continuation.finish() }
        )
        // The share stays on the connection's event loop, as its streams do.
        let boundShare = NIOLoopBound(share, eventLoop: channel.eventLoop)
        try pipeline.addHandler(
            HTTP2StreamMultiplexer(mode: .server, channel: channel) { stream in
                stream.eventLoop.makeCompletedFuture {
                    continuation.yield(try configure(stream: stream, share: boundShare.value))
                }
            }
        )
        try pipeline.addHandler(HTTP2Faults(gate))
        try pipeline.addHandler(manager)
        // The handler starts the idle timeout when a connection becomes active, or when its last stream ends. This
        // connection became active before the handshake. A stream may never end, since NIO may refuse each stream
        // before it exists.
        manager.channelActive(context: try pipeline.context(handler: manager))
        return Value(channel: channel, streams: streams)
    }

    func handle(_ value: Value, logger: Logger) async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                for await stream in value.streams {
                    group.addTask { await http1.handle(value: stream, logger: logger) }
                }
            }
        } onCancel: {
            value.channel.close(promise: nil)
        }
    }

    private func configure(stream: any Channel, share: ConnectionShare) throws -> HTTPConnections.Value {
        let pipeline = stream.pipeline.syncOperations
        try pipeline.addHandler(StreamEnd())
        try pipeline.addHandler(HTTP2FramePayloadToHTTPServerCodec())
        try pipeline.addHandler(ReplyTimes(limit: http1.limits.write, share: share))
        try pipeline.addHandler(StreamRules())
        try http1.addHeaders(to: pipeline)
        return try HTTPConnections.Value(wrappingChannelSynchronously: stream)
    }

    private static let bounds = {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 100),
            HTTP2Setting(parameter: .maxHeaderListSize, value: HTTPConnections.headSize),
            HTTP2Setting(parameter: .enablePush, value: 0),
        ]
        // Responses to pings and settings, and ends of streams, that a client does not read.
        connection.maximumBufferedControlFrames = 200
        // Frames that a client sent on a stream before it learned of the refusal are no error.
        connection.maximumRecentlyResetStreams = 200
        return connection
    }()
}
