import Glibc

/// The bytes that a server sent in response to raw bytes, and how the connection ended.
package struct RawReply: Sendable {
    /// The way in which the exchange ended.
    package enum End: Sendable, Equatable {
        /// The server closed the connection.
        case closed
        /// The server reset the connection.
        case reset
        /// The deadline passed while the connection was open.
        case deadline
    }

    /// All bytes that the server sent.
    package let bytes: [UInt8]
    /// The way in which the exchange ended.
    package let end: End

    /// The bytes as text, with invalid UTF-8 replaced.
    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension HTTPClient {
    /// Sends raw bytes and collects the response until the server closes the connection or the deadline passes.
    ///
    /// - Parameters:
    ///   - pieces: The pieces, which are written one by one. A server that closes early gets only some of them.
    ///   - pause: The time between two pieces.
    ///   - limit: The deadline of the whole exchange.
    /// - Returns: The received bytes, even if the deadline has passed.
    /// - Throws: ``HTTPFailure/refused``.
    package func exchange(
        _ pieces: [[UInt8]],
        pause: Duration = .zero,
        within limit: Duration = .seconds(60)
    ) async throws -> RawReply {
        // This is a plain socket, since NIO sometimes reports a reset as an orderly end. The socket blocks, so it needs
        // a thread.
        try await withCheckedThrowingContinuation { continuation in
            startThread { [port] in
                continuation.resume(
                    with: Result {
                        var exchange = try RawExchange(port: port, deadline: .now + limit)
                        return exchange.run(pieces, pause: pause)
                    }
                )
            }
        }
    }

    /// Sends raw text and collects the response until the server closes the connection or the deadline passes.
    ///
    /// - Parameters:
    ///   - text: The text, sent in one piece.
    ///   - limit: The deadline of the whole exchange.
    /// - Returns: The received bytes, even if the deadline has passed.
    /// - Throws: ``HTTPFailure/refused``.
    package func exchange(_ text: String, within limit: Duration = .seconds(60)) async throws -> RawReply {
        try await exchange([Array(text.utf8)], within: limit)
    }
}

/// A TCP connection of the test that sends and receives raw bytes with blocking calls.
private struct RawExchange: ~Copyable {
    private let descriptor: Int32
    private let deadline: ContinuousClock.Instant
    private var received: [UInt8] = []
    private var wasReset = false
    private var chunk = [UInt8](repeating: 0, count: 1 << 16)

    init(port: Int, deadline: ContinuousClock.Instant) throws {
        descriptor = loopbackSocket()
        self.deadline = deadline
        // If a server does not read, `send` must not block beyond the deadline.
        let left = ContinuousClock.now.duration(to: deadline).components
        var timeout = timeval(tv_sec: Int(left.seconds), tv_usec: Int(left.attoseconds / 1_000_000_000_000))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let status = withLoopbackAddress(UInt16(clamping: port)) { connect(descriptor, $0, $1) }
        guard status == 0 || errno == ECONNRESET else { throw HTTPFailure.refused }
    }

    deinit { close(descriptor) }

    mutating func run(_ pieces: [[UInt8]], pause: Duration) -> RawReply {
        for (index, piece) in pieces.enumerated() {
            // Without MSG_NOSIGNAL, a write to a closed connection would end the test process.
            let sent = send(descriptor, piece, piece.count, Int32(MSG_NOSIGNAL))
            // The kernel reports a reset only once. Responses that arrived before can still be read.
            if sent < 0, errno == ECONNRESET || errno == EPIPE { wasReset = true }
            guard index < pieces.count - 1 else { break }
            if let end = read(until: min(deadline, .now + pause)) { return RawReply(bytes: received, end: end) }
        }
        let end = read(until: deadline) ?? .deadline
        return RawReply(bytes: received, end: end)
    }

    /// Reads until the connection ends or the given time has come.
    ///
    /// Returns how the connection ended; `nil` if it is still open at that time.
    private mutating func read(until instant: ContinuousClock.Instant) -> RawReply.End? {
        while true {
            let left = ContinuousClock.now.duration(to: instant)
            guard left > .zero else { return nil }
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, Int32(clamping: Int(left / .milliseconds(1)) + 1)) > 0 else { continue }
            let count = recv(descriptor, &chunk, chunk.count, 0)
            switch count {
            case 0: return wasReset ? .reset : .closed
            case ..<0 where errno != EINTR: return .reset
            case 1...: received += chunk[..<count]
            default: continue
            }
        }
    }
}

/// A connection on which a request was sent and no response is read.
///
/// Its receive buffer is the smallest that the kernel allows.
package struct UnreadConnection: Sendable {
    private let descriptor: Int32

    /// Connects, and sends as much of a text as the socket accepts at once.
    package init(to client: HTTPClient, sending text: String) {
        descriptor = loopbackSocket()
        var room: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
        _ = withLoopbackAddress(UInt16(clamping: client.port)) { connect(descriptor, $0, $1) }
        let bytes = Array(text.utf8)
        _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }

    /// Closes the connection.
    ///
    /// Received data is lost.
    package func close() { _ = Glibc.close(descriptor) }
}
