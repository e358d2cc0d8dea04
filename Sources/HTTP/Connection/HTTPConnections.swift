import HTTPTypes
package import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

extension HTTPServerBuilder {
    /// Returns a builder of servers for HTTP/1.1, or for HTTP/2 and HTTP/1.1 over TLS if there is a certificate.
    ///
    /// - Parameters:
    ///   - limits: The timeouts and resources of connections.
    ///   - certificate: The listener's certificate; nil for plain HTTP.
    ///   - strictTransport: How many seconds browsers shall use only TLS (RFC 6797); nil to send no such header.
    ///   - proxies: The proxies that name each connection's source by the PROXY protocol; nil for connections without
    ///     it.
    ///   - areProxied: Whether connections come from proxies that send the requests of many clients.
    ///   - aliases: The addresses that are served under another path.
    /// - Returns: A builder that makes a server from a responder.
    package static func connections(
        _ limits: ConnectionLimits,
        certificate: ListenerCertificate? = nil,
        strictTransport: Int? = nil,
        proxies: TrustedPeers? = nil,
        areProxied: Bool = false,
        aliases: PathAliases = PathAliases()
    ) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            let plain = HTTPConnections(
                responder: responder,
                limits: limits,
                source: proxies != nil ? .header : areProxied ? .proxies : .peer,
                isSecure: certificate != nil,
                strictTransport: strictTransport,
                aliases: aliases
            )
            let connections: any ServerChildChannel =
                if let certificate { TLSConnections(plain, certificate: certificate) } else { plain }
            return if let proxies { connections.behind(proxies) } else { connections }
        }
    }
}

/// Serves the HTTP/1.1 connections of a listener, within limits: turns bytes into requests, and responses into bytes.
struct HTTPConnections: HTTPChannelHandler {
    typealias Value = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    let responder: HTTPChannelHandler.Responder
    let limits: ConnectionLimits
    private let budget: ConnectionBudget
    private let source: ConnectionSource
    private let isSecure: Bool
    private let strictTransport: Int?

    init(
        responder: @escaping HTTPChannelHandler.Responder,
        limits: ConnectionLimits,
        source: ConnectionSource,
        isSecure: Bool = false,
        strictTransport: Int? = nil,
        aliases: PathAliases = PathAliases()
    ) {
        self.responder = { request, writer, channel in
            // 100 Continue is sent in the order of the responses, and always. A client that waited in vain would send
            // its body later, and the service would read the body as the next request.
            if request.headers[.expect] != nil {
                try await writer.writeInformationalHead(HTTPResponse(status: .continue))
            }
            // A further responder would keep more memory of each request under way, for one more asynchronous call.
            try await responder(aliases.resolved(request), writer, channel)
        }
        self.limits = limits
        self.source = source
        budget = ConnectionBudget(
            connections: limits.connections,
            connectionsOfSource: limits.connectionsOfSource,
            bytes: limits.waitingBytes
        )
        self.isSecure = isSecure
        self.strictTransport = strictTransport
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let share = try open(channel)
            return try configure(channel, share: share, logger: logger)
        }
    }

    /// Adds the first handlers to the pipeline of every connection, whatever its protocol.
    ///
    /// - Returns: The object that counts the resources of the connection.
    func open(_ channel: any Channel) throws -> ConnectionShare {
        let share = ConnectionShare(budget)
        try channel.pipeline.syncOperations.addHandlers(
            SourceGate(share, source: source),
            WriteStall(limit: limits.write)
        )
        return share
    }

    /// Adds the handlers that turn bytes into HTTP/1.1 requests, and responses into bytes.
    func configure(_ channel: any Channel, share: ConnectionShare, logger: Logger) throws -> Value {
        let pipeline = channel.pipeline.syncOperations
        let arrival = RequestArrival(limit: limits.read, share: share)
        try pipeline.addHandler(arrival)
        try pipeline.configureHTTPServerPipeline(
            withPipeliningAssistance: false,
            withErrorHandling: false,
            withOutboundHeaderValidation: false,
            withEncoderConfiguration: .init(),
            withDecoderLimitConfiguration: Self.head
        )
        try pipeline.addHandler(RequestRules(arrival))
        try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: isSecure))
        try pipeline.addHandler(ReplyTimes(limit: nil, share: share))
        try addHeaders(to: pipeline)
        try pipeline.addHandler(HTTPConnectionStateHandler(idleTimeout: limits.idle, logger: logger))
        try pipeline.addHandler(WaitingRequest(share))
        return try NIOAsyncChannel(
            wrappingChannelSynchronously: channel,
            configuration: .init(isOutboundHalfClosureEnabled: true)
        )
    }

    /// Adds the handler that adds `Strict-Transport-Security` to responses, if this header is configured.
    func addHeaders(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        if let strictTransport { try pipeline.addHandler(StrictTransportSecurity(seconds: strictTransport)) }
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
            await handleHTTP(asyncChannel: value, logger: logger)
        }
    }

    /// The maximum total size of the header fields of a request, in bytes.
    static let headSize = 32_768

    /// The limits of header fields that the HTTP parser enforces.
    private static let head = {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = RequestFault.longestField
        limits.maxHeaderListSize = headSize
        limits.maxHeaderFieldCount = RequestFault.maxFields
        return limits
    }()
}
