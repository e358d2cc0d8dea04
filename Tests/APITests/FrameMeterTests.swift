import HTTPTypes
import NIOCore
import Testing

@testable import HTTP

@Suite("How frames of HTTP/2 arrive")
struct FrameMeterTests {
    private static let begin = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private static func frame(_ type: UInt8, _ flags: UInt8 = 0, _ length: Int = 0) -> [UInt8] {
        [0, UInt8(length >> 8), UInt8(length & 0xFF), type, flags, 0, 0, 0, 1] + [UInt8](repeating: 0, count: length)
    }

    private static let preface = [UInt8](repeating: 0x50, count: 24) + frame(4)
    private static let request = frame(1, 5, 20)

    /// Returns a meter that has taken these bytes.
    private static func meter(_ bytes: [UInt8], now: NIODeadline = begin) -> FrameMeter {
        var meter = FrameMeter(now: begin)
        let isAllowed = meter.take(ByteBuffer(bytes: bytes).readableBytesView, now: now)
        #expect(isAllowed)
        return meter
    }

    @Test("the preface, the first request, a frame and a head are what has to end")
    func time() {
        #expect(FrameMeter(now: Self.begin).isOpenSince == Self.begin)
        let later = Self.begin + .seconds(1)
        #expect(Self.meter(Self.preface, now: later).isOpenSince == Self.begin, "no request yet")
        #expect(Self.meter(Self.preface + Self.request, now: later).isOpenSince == nil)
        let halves = [
            Self.preface + Self.request + [0], Self.preface + Self.request + Self.frame(6, 0, 8).dropLast(),
            Self.preface + Self.request + Self.frame(1, 1, 20),
            Self.preface + Self.request + Self.frame(1, 1, 20) + Self.frame(9, 0, 20),
        ]
        for half in halves { #expect(Self.meter(half, now: later).isOpenSince == later) }
        let wholes = [
            Self.preface + Self.request + Self.frame(6, 0, 8),
            Self.preface + Self.request + Self.frame(1, 1, 20) + Self.frame(9, 4),
        ]
        for whole in wholes { #expect(Self.meter(whole, now: later).isOpenSince == nil) }
    }

    @Test("bytes count alike however they are cut")
    func pieces() {
        let bytes = Self.preface + Self.request + Self.frame(0, 1, 300) + Self.frame(1, 1, 20) + Self.frame(9, 4, 5)
        for size in 1...40 {
            var meter = FrameMeter(now: Self.begin)
            for start in stride(from: 0, to: bytes.count, by: size) {
                let piece = ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)])
                let isAllowed = meter.take(piece.readableBytesView, now: Self.begin)
                #expect(isAllowed)
            }
            #expect(meter.isOpenSince == nil, "\(size)")
        }
    }

    @Test("frames without requests run out; requests and time bring more")
    func allowance() {
        let pings = [[UInt8]](repeating: Self.frame(6, 0, 8), count: FrameMeter.burst - 1).flatMap { $0 }
        var meter = Self.meter(Self.preface + pings)
        let isAllowed = meter.take(ByteBuffer(bytes: Self.frame(6, 0, 8)).readableBytesView, now: Self.begin)
        #expect(!isAllowed)

        var served = Self.meter(Self.preface)
        let round = Self.request + (0..<FrameMeter.perRequest - 1).flatMap { _ in Self.frame(8, 0, 4) }
        for _ in 0..<1000 {
            let isAllowed = served.take(ByteBuffer(bytes: round).readableBytesView, now: Self.begin)
            #expect(isAllowed)
        }

        var slow = Self.meter(Self.preface)
        for second in 1...100 {
            let pings = (0..<FrameMeter.perSecond).flatMap { _ in Self.frame(6, 0, 8) }
            let now = Self.begin + .seconds(Int64(second))
            let isAllowed = slow.take(ByteBuffer(bytes: pings).readableBytesView, now: now)
            #expect(isAllowed)
        }
    }

    private static func head(
        _ path: String?,
        _ fields: [(String, String)] = [],
        method: HTTPRequest.Method = .get,
        authority: String? = "a.example",
        scheme: String? = "https"
    ) -> HTTPRequest {
        var request = HTTPRequest(method: method, scheme: scheme, authority: authority, path: path)
        for (name, value) in fields { request.headerFields.append(HTTPField(name: .init(known: name), value: value)) }
        return request
    }

    @Test("a request of HTTP/2 is held to the rules of HTTP/1.1")
    func rules() {
        let cases: [(HTTPRequest, RequestFault?)] = [
            (Self.head("/a"), nil), (Self.head("/a", [("Host", "a.example")]), nil),
            (Self.head("/a", [("Host", "a.example")], authority: nil), nil), (Self.head("*", method: .options), nil),
            (Self.head("/a", authority: nil), .host), (Self.head("/a", [("Host", "b.example")]), .host),
            (Self.head("/a", authority: "a@b"), .host), (Self.head("/a", authority: "a/b"), .host),
            (Self.head(nil), .longTarget), (Self.head("/" + String(repeating: "a", count: 8000)), .longTarget),
            (Self.head("*"), .target), (Self.head("a"), .target), (Self.head("/a#b"), .target),
            (Self.head(""), .target), (Self.head("/a", scheme: "http"), nil), (Self.head("/a", scheme: nil), .target),
            (Self.head("/a", scheme: "javascript"), .target), (Self.head("/a", scheme: ""), .target),
            (Self.head("/a", method: .connect), .target), (Self.head("host"), .target),
            (Self.head("/a", [("Content-Length", "12")]), nil), (Self.head("/a", [("Content-Length", "+12")]), .length),
            (Self.head("/a", [("Content-Length", "")]), .length),
            (Self.head("/a", [("Content-Length", "-0")]), .length),
            (Self.head("/a", [("Content-Length", "1"), ("Content-Length", "1")]), .length),
            (Self.head("/a", (0..<101).map { ("X\($0)", "y") }), .largeHead),
            (Self.head("/a", [("X", String(repeating: "y", count: 16_385))]), .largeHead),
        ]
        for (head, fault) in cases {
            var settled = head
            #expect(settled.settle() == fault, "\(head)")
        }
        var expecting = Self.head("/a", [("Expect", "100-Continue")])
        #expect(expecting.settle() == nil && expecting.headerFields[.expect] != nil)
        var wanting = Self.head("/a", [("Expect", "more")])
        #expect(wanting.settle() == nil && wanting.headerFields[.expect] == nil)
    }
}
