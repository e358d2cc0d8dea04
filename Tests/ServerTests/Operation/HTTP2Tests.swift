import Testing
import TestSupport

@testable import ServerTestSupport

@Suite("HTTP/2 within the bounds of HTTP/1.1", .serialized)
struct HTTP2Tests {
    private static let limits = [
        "FEDERATION_HTTP_READ_MILLISECONDS": "1500", "FEDERATION_HTTP_WRITE_MILLISECONDS": "1500",
    ]

    /// The frames that a client sends repeatedly, made from the number of the round.
    private struct Flood: Sendable {
        let name: String
        let frames: @Sendable (UInt32) -> [Frame]
    }

    private static let floods = [
        Flood(name: "ping") { _ in [Frame(kind: .ping, payload: Array(repeating: 1, count: 8))] },
        Flood(name: "settings") { _ in [Frame(kind: .settings)] },
        Flood(name: "settings that change the table") { number in
            [Frame(kind: .settings, payload: [0, 1] + Frame.big(number % 2 * 4096))]
        },
        Flood(name: "priority") { _ in [Frame(kind: .priority, stream: 1, payload: [0, 0, 0, 0, 1])] },
        Flood(name: "window updates") { _ in [Frame(kind: .windowUpdate, payload: [0, 0, 0, 1])] },
        Flood(name: "unknown frames") { _ in [Frame(kind: .unknown, payload: [1])] },
        Flood(name: "rapid reset") { number in
            [
                Frame.request("/nothing", stream: number * 2 + 1),
                Frame(kind: .resetStream, stream: number * 2 + 1, payload: [0, 0, 0, 8]),
            ]
        },
        Flood(name: "streams that the client makes wrong") { number in
            [
                Frame.request("/nothing", stream: number * 2 + 1, ends: false),
                Frame(kind: .windowUpdate, stream: number * 2 + 1, payload: [0, 0, 0, 0]),
            ]
        },
        Flood(name: "empty frames of data") { number in
            number == 0
                ? [Frame.request("/nothing", stream: 1, method: "POST", ends: false)]
                : [Frame(kind: .data, stream: 1)]
        },
        Flood(name: "data of one byte") { number in
            number == 0
                ? [Frame.request("/nothing", stream: 1, method: "POST", ends: false)]
                : [Frame(kind: .data, stream: 1, payload: [0])]
        },
        Flood(name: "continuations") { number in
            number == 0
                ? [Frame.request("/nothing", stream: 1, isWhole: false)]
                : [Frame(kind: .continuation, stream: 1, payload: Frame.block([("x", "y")]))]
        },
        Flood(name: "empty continuations") { number in
            number == 0
                ? [Frame.request("/nothing", stream: 1, isWhole: false)] : [Frame(kind: .continuation, stream: 1)]
        },
        Flood(name: "requests without an end") { number in
            [Frame.request("/nothing", stream: number * 2 + 1, method: "POST", ends: false)]
        },
        Flood(name: "trailers again and again") { number in
            number == 0
                ? [Frame.request("/nothing", stream: 1, method: "POST", ends: false)]
                : [Frame(kind: .headers, flags: 4, stream: 1, payload: Frame.block([("connection", "close")]))]
        },
    ]

    @Test("a flood of frames ends its connection and costs no memory; the next one is served")
    func floods() async throws {
        try await SecureService.with { service in
            let before = try service.process.usage().residentBytes
            for flood in Self.floods {
                let wire = try await TLSWire.open(port: service.port)
                await wire.send(Frame.preface)
                var (number, isTaken) = (UInt32(0), true)
                // Forty times the allowed burst.
                while isTaken, number < 40_000 {
                    let batch = (0..<200).flatMap { flood.frames(number + $0).flatMap(\.bytes) }
                    number += 200
                    isTaken = await wire.send(batch)
                }
                try await eventually("\(flood.name): the connection has ended") { wire.isClosed }
                #expect(try await service.curl(["--http2"], "/openapi.json").status == 200, "\(flood.name)")
            }
            let grown = try service.process.usage().residentBytes - before
            #expect(grown < 60 << 20, "\(grown >> 20) MiB more")
        }
    }

    @Test(
        "what comes behind an error is not kept, and the connection ends although the client stays",
        arguments: [
            "a frame that is too long", "an unknown preface", "data without a stream", "a head that is no HPACK",
            "a stream of the server's",
        ]
    )
    func afterAnError(fault: String) async throws {
        try await SecureService.with { service in
            let wire = try await TLSWire.open(port: service.port)
            let bytes: [UInt8] =
                switch fault {
                case "a frame that is too long": Frame.preface + Frame.head(1 << 20, .data, 0, 1)
                case "an unknown preface": Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
                case "data without a stream": Frame.preface + Frame(kind: .data, stream: 9, payload: [1]).bytes
                case "a head that is no HPACK":
                    Frame.preface + Frame(kind: .headers, flags: 5, stream: 1, payload: [0xFF, 0xFF, 0xFF, 0xFF]).bytes
                default: Frame.preface + Frame.request("/", stream: 2).bytes
                }
            await wire.send(bytes)
            let before = try service.process.usage().residentBytes
            let rubbish = [UInt8](repeating: 0xAA, count: 1 << 20)
            var sent = 0
            // Until the end of TLS bytes are read and discarded.
            while sent < 3000, await wire.send(rubbish) { sent += 1 }
            #expect(sent < 3000, "the connection takes everything")
            try await eventually("it has ended") { wire.isClosed }
            let grown = try service.process.usage().residentBytes - before
            #expect(grown < 50 << 20, "\(grown >> 20) MiB more")
        }
    }

    @Test("a handshake, a preface, a first request, a frame and a head have the time of a request")
    func slow() async throws {
        try await SecureService.with(Self.limits) { service in
            let silent = try await service.exchange([], within: .seconds(20))
            #expect(silent.end != .deadline, "no handshake")
            let clientHello = [UInt8](arrayLiteral: 0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3)
            #expect(try await service.exchange(clientHello, within: .seconds(20)).end != .deadline, "half a handshake")
            let beginnings: [(String, [UInt8])] = [
                ("nothing", []), ("half a preface", Array(Frame.preface.prefix(10))), ("no request", Frame.preface),
                ("half a frame", Frame.preface + Frame.request("/nothing", stream: 1).bytes.prefix(20)),
                ("half a head", Frame.preface + Frame.request("/nothing", stream: 1, isWhole: false).bytes),
                (
                    "half a further frame",
                    Frame.preface + Frame.request("/nothing", stream: 1).bytes + Frame.head(8, .ping, 0, 0)
                ),
            ]
            for (name, bytes) in beginnings {
                let wire = try await TLSWire.open(port: service.port)
                await wire.send(bytes)
                try await eventually("\(name): it has ended", within: .seconds(20)) { wire.isClosed }
                #expect(Frame.all(in: wire.received).contains { $0.kind == Frame.Kind.goAway.rawValue }, "\(name)")
            }
        }
    }

    @Test("a body that does not end, and a reply that is not taken, end with their streams; others go on")
    func slowStreams() async throws {
        try await SecureService.with(Self.limits) { service in
            let wire = try await TLSWire.open(port: service.port)
            let closedWindow = Frame(kind: .settings, payload: [0, 4, 0, 0, 0, 0]).bytes
            await wire.send(Array(Frame.preface.prefix(24)) + closedWindow)
            await wire.send(Frame.request("/nothing", stream: 1, method: "POST", ends: false).bytes)
            await wire.send(Frame.request("/openapi.json", stream: 3).bytes)
            func isReset(_ stream: UInt32) -> Bool {
                Frame.all(in: wire.received).contains {
                    $0.kind == Frame.Kind.resetStream.rawValue && $0.stream == stream
                }
            }
            try await eventually("the slow body's stream is reset", within: .seconds(20)) { isReset(1) }
            try await eventually("the reply's stream is reset", within: .seconds(20)) { isReset(3) }
            #expect(!wire.isClosed)
            let open = Frame(kind: .settings, payload: [0, 4, 0, 1, 0, 0]).bytes
            await wire.send(open + Frame.request("/nothing", stream: 5).bytes)
            try await eventually("the connection serves") {
                Frame.all(in: wire.received).contains { $0.stream == 5 && $0.kind == 0 && $0.flags & 1 == 1 }
            }
            await wire.close()
        }
    }

    @Test("a connection that asks for nothing ends with the idle time, whatever it asked for before")
    func idle() async throws {
        let limits = Self.limits.merging(["FEDERATION_HTTP_IDLE_MILLISECONDS": "2000"]) { $1 }
        let malformed = [("connection", "close")]
        let cases: [(String, [Frame])] = [
            ("a request", [Frame.request("/nothing", stream: 1)]),
            // NIO creates no stream for it.
            ("a request that is malformed", [Frame.request("/nothing", stream: 1, fields: malformed)]),
            ("many of them", (UInt32(0)..<50).map { Frame.request("/", stream: 2 * $0 + 1, fields: malformed) }),
            (
                "requests that are reset",
                (UInt32(0)..<50).flatMap { number in
                    [
                        Frame.request("/nothing", stream: 2 * number + 1),
                        Frame(kind: .resetStream, stream: 2 * number + 1, payload: Frame.big(8)),
                    ]
                }
            ),
        ]
        try await SecureService.with(limits) { service in
            for (name, frames) in cases {
                let wire = try await TLSWire.open(port: service.port)
                await wire.send(Frame.preface + frames.flatMap(\.bytes))
                try await eventually("\(name): it has ended", within: .seconds(30)) { wire.isClosed }
            }
        }
    }

    @Test("the end of a reply is in its last frame, so that no client is ahead of it")
    func lastFrame() async throws {
        try await SecureService.with { service in
            let wire = try await TLSWire.open(port: service.port)
            await wire.send(Frame.preface + Frame.request("/nothing", stream: 1).bytes)
            await wire.send(Frame.request("/nothing", stream: 3, method: "HEAD").bytes)
            for stream in [UInt32(1), 3] {
                func frames() -> [(kind: UInt8, flags: UInt8, payload: [UInt8])] {
                    Frame.all(in: wire.received).filter { $0.stream == stream }.map { ($0.kind, $0.flags, $0.payload) }
                }
                try await eventually("an end") { frames().contains { $0.flags & 1 == 1 } }
                #expect(frames().allSatisfy { !$0.payload.isEmpty }, "an empty frame")
                #expect(frames().map(\.kind) == (stream == 1 ? [1, 0] : [1]))
            }
            await wire.close()
        }
    }

    @Test("a reader who takes nothing is ended, by either protocol, and little is kept for it")
    func stalled() async throws {
        // Only the stalled reader may end the connection: not the time of a request, of which the last one read may be
        // a part, nor a pause, nor resets of more streams than are kept for such a reader.
        let limits = [
            "FEDERATION_HTTP_READ_MILLISECONDS": "60000", "FEDERATION_HTTP_IDLE_MILLISECONDS": "60000",
            "FEDERATION_HTTP_WRITE_MILLISECONDS": "1500",
        ]
        try await SecureService.with(limits) { service in
            for isHTTP2 in [true, false] {
                let before = try service.process.usage().residentBytes
                let wire = try await TLSWire.open(port: service.port, protocols: [isHTTP2 ? "h2" : "http/1.1"])
                let get = Array("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
                await wire.send(isHTTP2 ? Frame.preface + Self.openWindows : get)
                try await wire.stopReading()
                for number in UInt32(0)..<100 {
                    let request = isHTTP2 ? Frame.request("/openapi.json", stream: number * 2 + 1).bytes : get
                    guard await wire.send(request) else { break }
                }
                try await eventually("it has ended", within: .seconds(30)) { try wire.isLeft }
                let grown = try service.process.usage().residentBytes - before
                #expect(grown < 60 << 20, "\(grown >> 20) MiB more")
                await wire.close()
            }
        }
    }

    @Test("what HTTP/1.1 refuses is refused here, and the connection goes on")
    func rules() async throws {
        try await SecureService.with { service in
            let wire = try await TLSWire.open(port: service.port)
            await wire.send(Frame.preface)
            let wrong: [(String, String, [(String, String)])] = [
                ("GET", "nothing", []), ("GET", "host", []), ("GET", "*", []), ("GET", "/a#b", []),
                ("GET", "/" + String(repeating: "a", count: 8000), []),
                ("POST", "/nothing", [("content-length", "+0")]),
                ("POST", "/nothing", [("content-length", "0"), ("content-length", "0")]),
                ("GET", "/nothing", [("host", "other.example")]),
                ("GET", "/nothing", (0...100).map { ("x-\($0)", "y") }),
            ]
            for (number, (method, path, fields)) in wrong.enumerated() {
                let stream = UInt32(number * 2 + 1)
                let head = Frame.request(path, stream: stream, method: method, fields: fields)
                // The head is longer than a frame may be.
                let (first, rest) = (head.payload.prefix(16_000), head.payload.dropFirst(16_000))
                await wire.send(
                    Frame(kind: .headers, flags: rest.isEmpty ? 5 : 1, stream: stream, payload: Array(first)).bytes
                )
                if !rest.isEmpty {
                    await wire.send(Frame(kind: .continuation, flags: 4, stream: stream, payload: Array(rest)).bytes)
                }
                let comment = "\(method) \(path.prefix(20)) \(fields.first.map { "\($0)".prefix(40) } ?? "")"
                try await eventually("\(comment): an answer") {
                    Frame.all(in: wire.received).contains { $0.stream == stream && $0.kind == 0 && $0.flags & 1 == 1 }
                }
                let frames = Frame.all(in: wire.received).filter { $0.stream == stream && $0.kind == 0 }
                let text = String(decoding: frames.flatMap(\.payload), as: UTF8.self)
                let reason = path.count > 8000 ? "target_too_long" : "malformed_request"
                #expect(text.contains(reason), "\(comment): \(text)")
            }
            await wire.send(Frame.request("/nothing", stream: 1001).bytes)
            try await eventually("the connection serves") {
                Frame.all(in: wire.received).contains { $0.stream == 1001 && $0.kind == 0 && $0.flags & 1 == 1 }
            }
            await wire.close()
        }
    }

    /// The frames that open the windows of the connection and of each stream to the maximum.
    private static let openWindows =
        Frame(kind: .settings, payload: [0, 4] + Frame.big(0x7FFF_FFFF)).bytes
        + Frame(kind: .windowUpdate, payload: Frame.big(0x7FFE_FFFF)).bytes
}
