import Glibc
import GraphSimulator
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A client that shows the bytes of a connection, and how the connection ended.
final class Wire: Sendable {
    enum End: Sendable, Equatable {
        case closed
        case reset
    }

    /// A parsed response; the body is without chunk framing.
    struct Reply: Sendable {
        var status: Int
        var headers: [(name: String, value: String)]
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }

        func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    struct Timeout: Error {}

    /// An error for a connection that ended before a complete response.
    struct Ended: Error {}

    private struct State {
        var bytes: [UInt8] = []
        var count = 0
        var end: End?
    }

    private let channel: (any Channel)?
    private let state: NIOLockedValueBox<State>

    /// Connects to a port; a connection that the server resets at once has ended with `.reset`.
    static func connect(to port: Int) async throws -> Wire {
        let state = NIOLockedValueBox(State())
        do {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Collector(state: state))
                    }
                }
                .connect(to: SocketAddress(ipAddress: "127.0.0.1", port: port))
                .get()
            return Wire(channel: channel, state: state)
        } catch let error as IOError where error.errnoCode == ECONNRESET {
            state.withLockedValue { $0.end = .reset }
            return Wire(channel: nil, state: state)
        }
    }

    private init(channel: (any Channel)?, state: NIOLockedValueBox<State>) {
        self.channel = channel
        self.state = state
    }

    /// Sends a text; a reset that the write notices before a read counts as the end of the connection, too.
    func send(_ text: String) async throws {
        do {
            try await channel?.writeAndFlush(ByteBuffer(string: text))
        } catch let error as IOError where error.errnoCode == ECONNRESET {
            state.withLockedValue { $0.end = .reset }
            throw error
        }
    }

    func close() async {
        try? await channel?.close()
    }

    /// The number of bytes received so far.
    var received: Int { state.withLockedValue { $0.count } }

    /// The received bytes that ``reply()`` has not taken.
    var text: String { state.withLockedValue { String(decoding: $0.bytes, as: UTF8.self) } }

    /// How the connection ended; nil while it is open.
    var end: End? { state.withLockedValue { $0.end } }

    /// Waits until a condition on this connection holds.
    func until(_ limit: Duration = .seconds(60), _ condition: (Wire) -> Bool) async throws {
        let deadline = ContinuousClock.now + limit
        while !condition(self) {
            guard ContinuousClock.now < deadline else { throw Timeout() }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Waits for one complete response and takes it.
    func reply(within limit: Duration = .seconds(60)) async throws -> Reply {
        let deadline = ContinuousClock.now + limit
        while true {
            // The state is read once for both: the response and the end may arrive between two reads.
            let (reply, end) = state.withLockedValue { (Self.takeReply(&$0), $0.end) }
            if let reply { return reply }
            guard end == nil else { throw Ended() }
            guard ContinuousClock.now < deadline else { throw Timeout() }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private static func takeReply(_ state: inout State) -> Reply? {
        let bytes = state.bytes
        guard
            let head = bytes.indices.first(where: { bytes[$0...].starts(with: Array("\r\n\r\n".utf8)) }),
            let text = String(validating: bytes[..<head], as: UTF8.self)
        else { return nil }
        var lines = text.split(separator: "\r\n").map(String.init)
        let status = Int(lines.removeFirst().split(separator: " ")[1]) ?? 0
        var reply = Reply(status: status, headers: [], body: [])
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { continue }
            reply.headers.append((String(line[..<colon]), String(line[line.index(after: colon)...].dropFirst())))
        }
        let start = head + 4
        let length = reply.header("content-length").flatMap { Int($0) } ?? 0
        guard bytes.count >= start + length else { return nil }
        reply.body = Array(bytes[start..<start + length])
        state.bytes = Array(bytes[(start + length)...])
        return reply
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private static let kept = 4 << 20

        private let state: NIOLockedValueBox<State>

        init(state: NIOLockedValueBox<State>) {
            self.state = state
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = unwrapInboundIn(data)
            state.withLockedValue { state in
                state.count += buffer.readableBytes
                if state.bytes.count < Self.kept { state.bytes.append(contentsOf: buffer.readableBytesView) }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            state.withLockedValue { $0.end = $0.end ?? .reset }
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            state.withLockedValue { $0.end = $0.end ?? .closed }
        }
    }
}

extension Wire {
    /// Sends a GET on a new connection.
    static func get(
        _ simulator: GraphSimulator,
        _ target: String,
        headers: [String] = []
    ) async throws -> Reply {
        let wire = try await connect(to: simulator.port)
        try await wire.send(request("GET", target, headers: headers))
        let reply = try await wire.reply()
        await wire.close()
        return reply
    }

    /// Sends a POST of a form on a new connection.
    static func post(
        _ simulator: GraphSimulator,
        _ target: String,
        form: String,
        headers: [String] = []
    ) async throws -> Reply {
        try await post(
            simulator,
            target,
            body: form,
            headers: headers + ["Content-Type: application/x-www-form-urlencoded"]
        )
    }

    /// Sends a POST on a new connection.
    static func post(
        _ simulator: GraphSimulator,
        _ target: String,
        body: String,
        headers: [String]
    ) async throws -> Reply {
        let wire = try await connect(to: simulator.port)
        try await wire.send(
            request("POST", target, headers: headers + ["Content-Length: \(body.utf8.count)"]) + body
        )
        let reply = try await wire.reply()
        await wire.close()
        return reply
    }

    static func request(_ method: String, _ target: String, headers: [String] = []) -> String {
        (["\(method) \(target) HTTP/1.1", "Host: graph.facebook.com"] + headers).joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// Percent-encodes all characters except letters and digits.
    static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let scalar = Character(Unicode.Scalar(byte))
            if byte < 0x80, scalar.isLetter || scalar.isNumber { return String(scalar) }
            return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}
