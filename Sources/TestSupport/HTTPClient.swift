import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix

/// A plain HTTP/1.1 client for tests.
///
/// It sends requests and returns responses unchanged. The client does not follow redirects, retry, decompress or
/// normalize paths. Unless the caller gives them, it adds `Host` and, for a body, `Content-Length`.
package struct HTTPClient: Sendable {
    /// The server's port on 127.0.0.1.
    package let port: Int
    /// The source address of the connections, which may be any of 127.0.0.0/8.
    package let source: String

    /// Makes a client for the server that listens on this port of 127.0.0.1.
    package init(port: Int, source: String = "127.0.0.1") {
        self.port = port
        self.source = source
    }

    /// Sends a request on a connection of its own.
    ///
    /// Thousands of requests may run concurrently. Each needs a file descriptor.
    ///
    /// - Parameters:
    ///   - method: The method, such as `POST`.
    ///   - path: Path and query, sent unchanged.
    ///   - headers: The headers, sent in this order.
    ///   - body: The body, sent unchanged.
    ///   - limit: The deadline of the whole exchange.
    /// - Returns: The response.
    /// - Throws: ``HTTPFailure``; ``DeadlinePassed``.
    package func send(
        _ method: String,
        _ path: String,
        headers: [(String, String)] = [],
        body: [UInt8] = [],
        within limit: Duration = .seconds(60)
    ) async throws -> HTTPReply {
        try await withDeadline(limit, "reply to \(method) from port \(port)") {
            try await withConnection { try await $0.send(method, path, headers: headers, body: body) }
        }
    }

    /// Sends a `GET` as ``send(_:_:headers:body:within:)`` does.
    package func get(
        _ path: String,
        headers: [(String, String)] = [],
        within limit: Duration = .seconds(60)
    ) async throws -> HTTPReply {
        try await send("GET", path, headers: headers, within: limit)
    }

    /// Sends a `POST` of JSON as ``send(_:_:headers:body:within:)`` does.
    package func post(
        _ path: String,
        json: String,
        headers: [(String, String)] = [],
        within limit: Duration = .seconds(60)
    ) async throws -> HTTPReply {
        let headers = [("Content-Type", "application/json")] + headers
        return try await send("POST", path, headers: headers, body: Array(json.utf8), within: limit)
    }

    /// Opens a connection, calls a closure that sends several consecutive requests on it, and closes the connection.
    package func withConnection<Result: Sendable>(
        _ body: @Sendable (HTTPConnection) async throws -> Result
    ) async throws -> Result {
        try await HTTPFailure.translating {
            let channel = try await Loopback.connect(to: port, from: source) { channel in
                try channel.pipeline.syncOperations.addHTTPClientHandlers(
                    leftOverBytesStrategy: .dropBytes,
                    enableOutboundHeaderValidation: false
                )
                return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
                    wrappingChannelSynchronously: channel
                )
            }
            return try await channel.executeThenClose { inbound, outbound in
                try await body(HTTPConnection(inbound: inbound, outbound: outbound, authority: "127.0.0.1:\(port)"))
            }
        }
    }
}

/// A connection lent by ``HTTPClient/withConnection(_:)``.
package final class HTTPConnection {
    private var replies: NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator
    private let outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
    private let authority: String

    init(
        inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>,
        outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>,
        authority: String
    ) {
        replies = inbound.makeAsyncIterator()
        self.outbound = outbound
        self.authority = authority
    }

    /// Sends a request and reads its whole response.
    package func send(
        _ method: String,
        _ path: String,
        headers: [(String, String)] = [],
        body: [UInt8] = []
    ) async throws -> HTTPReply {
        var fields = HTTPHeaders(headers)
        if !fields.contains(name: "Host") { fields.add(name: "Host", value: authority) }
        let isFramed = fields.contains(name: "Content-Length") || fields.contains(name: "Transfer-Encoding")
        if !isFramed, !body.isEmpty || ["POST", "PUT", "PATCH"].contains(method) {
            fields.add(name: "Content-Length", value: "\(body.count)")
        }
        let head = HTTPRequestHead(version: .http1_1, method: .init(rawValue: method), uri: path, headers: fields)
        return try await HTTPFailure.translating {
            do {
                try await outbound.write(.head(head))
                if !body.isEmpty { try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: body)))) }
                try await outbound.write(.end(nil))
            } catch {
                // A server may respond and close the connection before it has read the whole request. This response
                // counts.
                if let reply = try? await readReply() { return reply }
                throw error
            }
            return try await readReply()
        }
    }

    private func readReply() async throws -> HTTPReply {
        var head: HTTPResponseHead?
        var body: [UInt8] = []
        while let part = try await replies.next(isolation: #isolation) {
            switch part {
            case .head(let received): head = received
            case .body(let bytes): body += bytes.readableBytesView
            case .end:
                guard let head else { throw HTTPFailure.malformed }
                let headers = head.headers.map { (name: $0.name, value: $0.value) }
                return HTTPReply(status: Int(head.status.code), headers: headers, body: body)
            }
        }
        try Task.checkCancellation()
        throw HTTPFailure.closed
    }
}

extension HTTPFailure {
    /// Runs an exchange and translates its errors to ``HTTPFailure``.
    static func translating<Result>(_ exchange: () async throws -> Result) async throws -> Result {
        do {
            return try await exchange()
        } catch let error as IOError where error.errnoCode == ECONNREFUSED {
            throw HTTPFailure.refused
        } catch let error as IOError where error.errnoCode == ECONNRESET || error.errnoCode == EPIPE {
            throw HTTPFailure.reset
        } catch HTTPParserError.invalidEOFState {
            throw HTTPFailure.closed
        } catch is HTTPParserError {
            throw HTTPFailure.malformed
        } catch ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed, ChannelError.eof {
            throw HTTPFailure.closed
        }
    }
}
