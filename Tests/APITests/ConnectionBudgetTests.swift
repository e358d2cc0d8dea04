import HTTPTypes
import Limiting
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import HTTP

@Suite("What is kept for the other ends of connections")
struct ConnectionBudgetTests {
    private static let one = LimitedSource(address: 1, network: nil)
    private static let mebibyte = 1 << 20

    @Test("a source has so many connections at once, a network those of two, and each that ends makes room")
    func connections() {
        let budget = ConnectionBudget(connections: 99, connectionsOfSource: 2, bytes: Self.mebibyte)
        #expect(budget.open(for: Self.one) && budget.open(for: Self.one))
        #expect(!budget.open(for: Self.one))
        #expect(budget.open(for: LimitedSource(address: 2, network: nil)), "another source")
        budget.close(for: Self.one)
        #expect(budget.open(for: Self.one))
        let ofNetwork = (10..<15).map { budget.open(for: LimitedSource(address: $0, network: 7)) }
        #expect(ofNetwork == [true, true, true, true, false])
    }

    @Test("requests beside one of their connection are a quarter of the connections, of a source and of all")
    func requests() throws {
        let budget = ConnectionBudget(connections: 16, connectionsOfSource: 8, bytes: Self.mebibyte)
        let shares = try (1...3).map { number in
            let share = ConnectionShare(budget)
            let address = try SocketAddress(ipAddress: "192.0.2.\(number == 3 ? 2 : 1)", port: number)
            #expect(share.open(from: address))
            return share
        }
        #expect((0..<4).map { _ in shares[0].begin() } == [true, true, true, false], "one is the connection's")
        #expect([shares[1].begin(), shares[1].begin()] == [true, false], "of the same source")
        shares[0].end()
        #expect(shares[1].begin())
        #expect((0..<4).map { _ in shares[2].begin() } == [true, true, true, false], "of another source")
        let proxy = ConnectionShare(budget)
        #expect([proxy.begin(), proxy.begin()] == [true, false], "there are four in all")
        for share in shares { share.close() }
        #expect((0..<5).map { _ in proxy.begin() } == [true, true, true, true, false], "of no source")
        for _ in 0..<5 { proxy.end() }
        proxy.end()
        #expect((0..<6).map { _ in proxy.begin() } == [true, true, true, true, true, false])
    }

    @Test("a source has a third of what is free beside it, so several that hold what they may leave room for others")
    func bytes() {
        let budget = ConnectionBudget(connections: 99, connectionsOfSource: 9, bytes: 800)
        #expect(budget.take(200, for: Self.one), "alone it has a quarter")
        #expect(!budget.take(1, for: Self.one))
        let network = (10..<13).map { budget.take(100, for: LimitedSource(address: $0, network: 7)) }
        #expect(network == [true, true, false], "two thirds of what is free")
        #expect(budget.take(400, for: nil), "whose source is not known has what is left")
        #expect(!budget.take(1, for: nil))
        budget.give(200, for: Self.one)
        #expect(budget.take(200, for: nil))
        #expect(!budget.take(1, for: Self.one))
        let crowd = ConnectionBudget(connections: 99, connectionsOfSource: 9, bytes: 80_000)
        for address in 1...8 {
            let source = LimitedSource(address: UInt64(address), network: nil)
            while crowd.take(40, for: source) {}
        }
        #expect(crowd.take(1000, for: LimitedSource(address: 9, network: nil)), "eight sources keep nobody out")
    }

    @Test("a connection gives everything back at its end, whatever its handlers still hold")
    func share() throws {
        let budget = ConnectionBudget(connections: 99, connectionsOfSource: 1, bytes: 400)
        let address = try SocketAddress(ipAddress: "192.0.2.1", port: 1)
        let share = ConnectionShare(budget)
        #expect(share.take(50))
        #expect(share.open(from: address))
        var charge = ConnectionCharge(share)
        let fits = charge.set(50)
        #expect(fits)
        let isTooMuch = charge.set(51)
        #expect(!isTooMuch)
        #expect(charge.bytes == 50, "what is refused changes nothing")
        #expect(!ConnectionShare(budget).open(from: address))
        share.close()
        let isGiven = charge.set(0)
        #expect(isGiven)
        #expect(ConnectionShare(budget).open(from: address))
        #expect(budget.take(400, for: nil))
    }

    @Test("a connection beyond its source's, and one whose header names such a source, end")
    func gate() throws {
        let budget = ConnectionBudget(connections: 99, connectionsOfSource: 1, bytes: 400)
        func connection(_ source: ConnectionSource) throws -> EmbeddedChannel {
            let channel = EmbeddedChannel(handler: SourceGate(ConnectionShare(budget), source: source))
            try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
            return channel
        }
        let first = try connection(.header)
        #expect(first.isActive)
        let header = SourceGate.Header(address: try SocketAddress(ipAddress: "192.0.2.7", port: 1))
        first.pipeline.fireUserInboundEventTriggered(header)
        #expect(first.isActive)
        let second = try connection(.header)
        second.pipeline.fireUserInboundEventTriggered(header)
        #expect(!second.isActive)
        try first.close().wait()
        let third = try connection(.header)
        third.pipeline.fireUserInboundEventTriggered(header)
        #expect(third.isActive, "the first has made room")
        for _ in 0..<3 { #expect(try connection(.proxies).isActive) }
    }

    @Test("a request waits until it is whole; a long one, and one that waits to be told to go on, do not")
    func waiting() throws {
        let budget = ConnectionBudget(connections: 99, connectionsOfSource: 9, bytes: 400_000)
        func parts(_ sent: [HTTPRequestPart]) throws -> [String] {
            let channel = EmbeddedChannel(handler: WaitingRequest(ConnectionShare(budget)))
            for part in sent { try channel.writeInbound(part) }
            var found: [String] = []
            while let part = try channel.readInbound(as: HTTPRequestPart.self) {
                switch part {
                case .head: found.append("head")
                case .body(let bytes): found.append("\(bytes.readableBytes)")
                case .end: found.append("end")
                }
            }
            return found
        }
        func head(_ fields: HTTPFields = [:]) -> HTTPRequestPart {
            .head(HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/", headerFields: fields))
        }
        func body(_ count: Int) -> HTTPRequestPart { .body(ByteBuffer(repeating: 0, count: count)) }
        #expect(try parts([head()]) == [])
        #expect(try parts([head(), body(10), body(20)]) == [])
        #expect(try parts([head(), body(10), body(20), .end(nil)]) == ["head", "30", "end"])
        #expect(try parts([head(), .end(nil), head()]) == ["head", "end"])
        #expect(try parts([head(), body(16_385), body(7)]) == ["head", "16385", "7"])
        #expect(try parts([head([.expect: "100-continue"]), body(7)]) == ["head", "7"])
    }

    @Test("a client that sends more than 32 requests without waiting for a reply is let go; each reply makes room")
    func unanswered() throws {
        let budget = ConnectionBudget(connections: 99, connectionsOfSource: 9, bytes: 400_000)
        let channel = EmbeddedChannel(handler: WaitingRequest(ConnectionShare(budget)))
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/a")).wait()
        func send() throws {
            let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
            try channel.writeInbound(HTTPRequestPart.head(head))
            try channel.writeInbound(HTTPRequestPart.end(nil))
        }
        for _ in 0..<32 { try send() }
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        try send()
        #expect(channel.isActive)
        try send()
        #expect(!channel.isActive)
    }

    @Test("what has passed and is not whole counts as a request, and ends where there is no room")
    func passed() throws {
        let budget = ConnectionBudget(connections: 99, connectionsOfSource: 9, bytes: ConnectionBudget.request * 2)
        let head = HTTPRequestPart.head(
            HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/", headerFields: [.expect: "100-continue"])
        )
        func connection() throws -> EmbeddedChannel {
            let channel = EmbeddedChannel(handler: WaitingRequest(ConnectionShare(budget)))
            try channel.connect(to: SocketAddress(unixDomainSocketPath: "/a")).wait()
            try channel.writeInbound(head)
            return channel
        }
        let channels = try (0..<3).map { _ in try connection() }
        #expect(channels.map(\.isActive) == [true, true, false])
        try channels[0].writeInbound(HTTPRequestPart.end(nil))
        #expect(try connection().isActive, "the first is whole, and costs nothing that waits")
    }
}
