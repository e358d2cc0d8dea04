import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import TestSupport

/// A TLS connection on which a test sends and receives raw bytes.
final class TLSWire: Sendable {
    private struct State {
        var received: [UInt8] = []
        var isClosed = false
        var isCut = false
    }

    private let state: NIOLockedValueBox<State>
    private let channel: any Channel

    private init(channel: any Channel, state: NIOLockedValueBox<State>) {
        self.channel = channel
        self.state = state
    }

    /// Opens a connection to a server on this machine, without verifying its certificate.
    static func open(port: Int, protocols: [String] = ["h2"]) async throws -> TLSWire {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.applicationProtocols = protocols
        let context = try NIOSSLContext(configuration: configuration)
        let state = NIOLockedValueBox(State())
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: context, serverHostname: nil)
                    )
                    try channel.pipeline.syncOperations.addHandler(Listener(state: state))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return TLSWire(channel: channel, state: state)
    }

    /// The bytes received so far.
    var received: [UInt8] { state.withLockedValue { $0.received } }

    /// Whether the server has ended the connection.
    var isClosed: Bool { state.withLockedValue { $0.isClosed } }

    /// Whether the server closed the connection without TLS' end (RFC 8446 §6.1), and so waits for none.
    var isCut: Bool { state.withLockedValue { $0.isCut } }

    /// Whether the server has released the connection, according to the kernel.
    ///
    /// A client that does not read is not notified of that.
    var isLeft: Bool {
        get throws {
            // Both ports are high enough that their hexadecimal numbers have four digits.
            guard let client = channel.localAddress?.port, let server = channel.remoteAddress?.port else { return true }
            let ends = [server, client].map { ":" + String($0, radix: 16, uppercase: true) }
            // The table is not read atomically, so a row may be missed once; and it may be longer than its first page.
            return try (0..<3).allSatisfy { _ in
                let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/net/tcp"))
                let table = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
                return !table.split(separator: "\n").contains { line in
                    let row = line.split(separator: " ")
                    // Local and remote address, and the inode, which is 0 when no process has the socket open.
                    return row.count > 9 && row[1].hasSuffix(ends[0]) && row[2].hasSuffix(ends[1]) && row[9] != "0"
                }
            }
        }
    }

    /// Sends bytes and waits until the kernel has accepted them.
    ///
    /// - Returns: Whether the kernel has; false for a connection that has ended.
    @discardableResult
    func send(_ bytes: [UInt8]) async -> Bool {
        do {
            try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
            return true
        } catch {
            return false
        }
    }

    /// Stops reading after the first bytes.
    ///
    /// An incomplete handshake has a timeout of its own, so HTTP/1.1 needs a request first.
    func stopReading() async throws {
        try await eventually("something has come") { !received.isEmpty }
        try await channel.setOption(.autoRead, value: false).get()
    }

    func close() async { try? await channel.close().get() }

    private final class Listener: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let state: NIOLockedValueBox<State>

        init(state: NIOLockedValueBox<State>) { self.state = state }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data).readableBytesView
            state.withLockedValue { $0.received += bytes }
        }

        func channelInactive(context: ChannelHandlerContext) {
            state.withLockedValue { $0.isClosed = true }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if error as? NIOSSLError == .uncleanShutdown { state.withLockedValue { $0.isCut = true } }
            context.close(promise: nil)
        }
    }
}

/// An HTTP/2 frame (RFC 9113 §4.1), valid or not.
struct Frame {
    enum Kind: UInt8 {
        case data = 0
        case headers, priority, resetStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
        case unknown = 0xEE
    }

    var kind: Kind
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Frame(kind: .settings).bytes

    var bytes: [UInt8] { Self.head(payload.count, kind, flags, stream) + payload }

    static func head(_ length: Int, _ kind: Kind, _ flags: UInt8, _ stream: UInt32) -> [UInt8] {
        Array(big(UInt32(length)).dropFirst()) + [kind.rawValue, flags] + big(stream)
    }

    static func big(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    /// Returns the head of a request, in one frame and without compression.
    static func request(
        _ path: String,
        stream: UInt32,
        method: String = "GET",
        fields: [(String, String)] = [],
        ends: Bool = true,
        isWhole: Bool = true
    ) -> Frame {
        Frame(
            kind: .headers,
            flags: (ends ? 1 : 0) | (isWhole ? 4 : 0),
            stream: stream,
            payload: block(
                [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)] + fields
            )
        )
    }

    /// Encodes fields in HPACK without indexing (RFC 7541 §6.2.2).
    static func block(_ fields: [(String, String)]) -> [UInt8] {
        func text(_ text: String) -> [UInt8] {
            let count = text.utf8.count
            guard count >= 127 else { return [UInt8(count)] + text.utf8 }
            var (bytes, rest) = ([UInt8](arrayLiteral: 127), count - 127)
            while rest >= 128 {
                bytes.append(UInt8(rest % 128 + 128))
                rest /= 128
            }
            return bytes + [UInt8(rest)] + text.utf8
        }
        return fields.flatMap { [0] + text($0.0) + text($0.1) }
    }

    /// Parses the complete frames that a server has sent.
    static func all(in bytes: [UInt8]) -> [(kind: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8])] {
        var (frames, rest) = ([(kind: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8])](), bytes[...])
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = head[0..<3].reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 9 + length else { break }
            let stream = head[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
            frames.append((head[3], head[4], stream, Array(rest.dropFirst(9).prefix(length))))
            rest = rest.dropFirst(9 + length)
        }
        return frames
    }
}
