import Testing
import TestSupport

@testable import ServerTestSupport

@Suite("What waits by HTTP/2 costs little", .serialized)
struct WaitingStreamsTests {
    private static func waiting(_ streams: Int) -> [UInt8] {
        Frame.preface
            + (0..<UInt32(streams)).flatMap {
                Frame.request("/nothing", stream: 2 * $0 + 1, method: "POST", ends: false).bytes
            }
    }

    private static func frames(_ wire: TLSWire, of stream: UInt32) -> [(kind: UInt8, flags: UInt8, payload: [UInt8])] {
        Frame.all(in: wire.received).filter { $0.stream == stream }.map { ($0.kind, $0.flags, $0.payload) }
    }

    /// Counts the streams that were reset with that error code.
    private static func resets(_ wire: TLSWire, _ reason: UInt32) -> Int {
        Frame.all(in: wire.received).count {
            $0.kind == Frame.Kind.resetStream.rawValue && $0.payload == Frame.big(reason)
        }
    }

    private static func isServed(_ stream: UInt32, _ wire: TLSWire) -> Bool {
        frames(wire, of: stream).contains { $0.kind == Frame.Kind.data.rawValue && $0.flags & 1 == 1 }
    }

    @Test("heads without bodies, 100 on each of 16 connections, cost a tenth of what requests cost")
    func memory() async throws {
        try await SecureService.with(["FEDERATION_HTTP_READ_MILLISECONDS": "60000"]) { service in
            let first = try await TLSWire.open(port: service.port)
            await first.send(Self.waiting(1) + Frame.request("/nothing", stream: 3).bytes)
            try await eventually("it serves") { Self.isServed(3, first) }
            let before = try service.process.usage().residentBytes
            var wires: [TLSWire] = []
            // The maximum that fits: 100 take some 240 KB of the 4 MiB of a source.
            for _ in 0..<16 {
                let wire = try await TLSWire.open(port: service.port)
                await wire.send(Self.waiting(100) + Frame(kind: .ping, payload: Array(repeating: 7, count: 8)).bytes)
                wires.append(wire)
            }
            for wire in wires {
                try await eventually("all has been read", within: .seconds(60)) {
                    Frame.all(in: wire.received).contains { $0.kind == Frame.Kind.ping.rawValue }
                }
            }
            let grown = try service.process.usage().residentBytes - before
            // Some 2 KiB per stream, and 60 per connection; as requests they took over 40 MiB.
            #expect(grown < 12 << 20, "\(grown >> 20) MiB more")
            for wire in wires + [first] { await wire.close() }
        }
    }

    @Test("a source has a quarter of the bytes: more streams are refused, whole ones are served, and room comes back")
    func refused() async throws {
        let limits = ["FEDERATION_HTTP_READ_MILLISECONDS": "60000", "FEDERATION_HTTP_WAITING_MEBIBYTES": "1"]
        try await SecureService.with(limits) { service in
            let first = try await TLSWire.open(port: service.port)
            await first.send(Self.waiting(80))
            await first.send(Frame.request("/nothing", stream: 1001).bytes)
            try await eventually("it serves") { Self.isServed(1001, first) }
            #expect(Self.resets(first, 7) == 0)
            let second = try await TLSWire.open(port: service.port)
            await second.send(Self.waiting(44))
            try await eventually("streams are refused") { Self.resets(second, 7) > 4 }
            #expect(Self.frames(second, of: 1).isEmpty, "the latest are refused, not the first")
            // Further frames of refused streams are no error.
            await second.send(Frame(kind: .data, flags: 1, stream: 87, payload: [1]).bytes)
            await second.send(Frame.request("/nothing", stream: 1001).bytes)
            try await eventually("a whole request is served") { Self.isServed(1001, second) }
            await first.close()
            var third = try await TLSWire.open(port: service.port)
            try await eventually("there is room again") {
                await third.close()
                third = try await TLSWire.open(port: service.port)
                await third.send(Self.waiting(20) + Frame.request("/nothing", stream: 1001).bytes)
                try await eventually("it serves") { Self.isServed(1001, third) }
                return Self.resets(third, 7) == 0
            }
            await third.send(Frame(kind: .data, flags: 1, stream: 39, payload: [1]).bytes)
            try await eventually("the last of them is served") { Self.isServed(39, third) }
            let fourth = try await TLSWire.open(port: service.port)
            await fourth.send(Self.waiting(80))
            var number = UInt32(80)
            while number < 600, !fourth.isClosed {
                let refused = Self.resets(fourth, 7)
                let requests = (number..<number + 5).flatMap { number in
                    Frame.request("/nothing", stream: 2 * number + 1, method: "POST", ends: false).bytes
                }
                await fourth.send(requests)
                // Sending to an ended connection discards data that was not read yet.
                try await eventually("some are refused") { fourth.isClosed || Self.resets(fourth, 7) > refused }
                number += 5
            }
            try await eventually("who goes on is told to calm down, and ended") { fourth.isClosed }
            #expect(fourth.isCut, "a crowd that reads nothing would keep what its connections cost")
            #expect(
                Frame.all(in: fourth.received).contains {
                    $0.kind == Frame.Kind.goAway.rawValue && $0.payload.suffix(4).elementsEqual(Frame.big(11))
                }
            )
            for wire in [second, third] { await wire.close() }
        }
    }

    @Test("a body is whole however it comes: in pieces, long, with trailers, empty, and told to go on")
    func whole() async throws {
        try await SecureService.with { service in
            let wire = try await TLSWire.open(port: service.port)
            await wire.send(Frame.preface)
            func begin(_ stream: UInt32, _ fields: [(String, String)] = []) async {
                await wire.send(
                    Frame.request("/nothing", stream: stream, method: "POST", fields: fields, ends: false).bytes
                )
            }
            await begin(1)
            for _ in 0..<3 { await wire.send(Frame(kind: .data, stream: 1, payload: [1, 2]).bytes) }
            #expect(Self.frames(wire, of: 1).isEmpty)
            await wire.send(Frame(kind: .data, flags: 1, stream: 1, payload: [3]).bytes)
            await begin(3)
            await wire.send(Frame(kind: .data, flags: 1, stream: 3).bytes)
            await begin(5)
            await wire.send(Frame(kind: .headers, flags: 5, stream: 5, payload: Frame.block([("x", "y")])).bytes)
            await begin(7)
            // Longer than the bytes kept for a waiting stream: the response comes before the end of the body.
            for _ in 0..<2 {
                await wire.send(Frame(kind: .data, stream: 7, payload: Array(repeating: 0, count: 12_000)).bytes)
            }
            await begin(9, [("expect", "100-continue")])
            for stream in [UInt32(1), 3, 5, 7] {
                try await eventually("\(stream): an answer") { Self.isServed(stream, wire) }
            }
            try await eventually("it is told to go on") { !Self.frames(wire, of: 9).isEmpty }
            await wire.send(Frame(kind: .data, flags: 1, stream: 9, payload: [1]).bytes)
            try await eventually("9: an answer") { Self.isServed(9, wire) }
            // Frames about a waiting stream are no error.
            await begin(11)
            await wire.send(Frame(kind: .windowUpdate, stream: 11, payload: Frame.big(7)).bytes)
            await wire.send(Frame(kind: .resetStream, stream: 11, payload: Frame.big(8)).bytes)
            await wire.send(Frame.request("/nothing", stream: 13).bytes)
            try await eventually("13: an answer") { Self.isServed(13, wire) }
            await wire.close()
        }
    }

    @Test("replies that nobody takes count, and further ones of the source end with their streams")
    func unread() async throws {
        let limits = ["FEDERATION_HTTP_WRITE_MILLISECONDS": "60000", "FEDERATION_HTTP_WAITING_MEBIBYTES": "1"]
        try await SecureService.with(limits) { service in
            let wire = try await TLSWire.open(port: service.port)
            let closedWindow = Frame(kind: .settings, payload: [0, 4, 0, 0, 0, 0]).bytes
            let requests = (0..<UInt32(20)).flatMap { Frame.request("/nothing", stream: 2 * $0 + 1).bytes }
            await wire.send(Array(Frame.preface.prefix(24)) + closedWindow + requests)
            // Six responses of 40 KiB are a quarter of 1 MiB.
            try await eventually("the others have ended") { Self.resets(wire, 8) == 14 }
            await wire.send(Frame(kind: .settings, payload: [0, 4, 0, 1, 0, 0]).bytes)
            try await eventually("six are taken") { (0..<UInt32(20)).count { Self.isServed(2 * $0 + 1, wire) } == 6 }
            await wire.close()
        }
    }

    @Test("whole requests under way beside one are a quarter of a source's connections: more are refused")
    func underWay() async throws {
        let limits = ["FEDERATION_HTTP_CONNECTIONS_SOURCE": "8", "FEDERATION_HTTP_WRITE_MILLISECONDS": "60000"]
        try await SecureService.with(limits) { service in
            let wire = try await TLSWire.open(port: service.port)
            let closedWindow = Frame(kind: .settings, payload: [0, 4, 0, 0, 0, 0]).bytes
            let requests = (0..<UInt32(10)).flatMap { Frame.request("/nothing", stream: 2 * $0 + 1).bytes }
            await wire.send(Array(Frame.preface.prefix(24)) + closedWindow + requests)
            try await eventually("seven are refused") { Self.resets(wire, 7) == 7 }
            #expect(try await service.curl(["--http2"], "/openapi.json").status == 200, "a connection has one")
            await wire.send(Frame(kind: .settings, payload: [0, 4, 0, 1, 0, 0]).bytes)
            try await eventually("three are taken") { (0..<UInt32(3)).allSatisfy { Self.isServed(2 * $0 + 1, wire) } }
            await wire.send(Frame.request("/nothing", stream: 1001).bytes)
            try await eventually("another is served") { Self.isServed(1001, wire) }
            await wire.close()
        }
    }

    @Test("a source has so many connections; one more is closed, and served when another has gone")
    func connections() async throws {
        try await SecureService.with(["FEDERATION_HTTP_CONNECTIONS_SOURCE": "3"]) { service in
            var wires: [TLSWire] = []
            for _ in 0..<3 { wires.append(try await TLSWire.open(port: service.port)) }
            for wire in wires {
                await wire.send(Frame.preface + Frame.request("/nothing", stream: 1).bytes)
                try await eventually("it is served") { Self.isServed(1, wire) }
            }
            #expect(try await service.curl(["--http2"], "/openapi.json").status == 0)
            await wires[0].close()
            try await eventually("another is served") {
                try await service.curl(["--http2"], "/openapi.json").status == 200
            }
            for wire in wires { await wire.close() }
        }
    }
}
