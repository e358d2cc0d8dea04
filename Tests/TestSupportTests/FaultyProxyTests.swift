import Testing
import TestSupport

@Suite("The faulty proxy")
struct FaultyProxyTests {
    private static let reply = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"

    private func withProxy(_ body: (FaultyProxy, HTTPClient) async throws -> Void) async throws {
        let server = try await ReplyingServer.start(reply: Self.reply)
        try await withFaultyProxy(to: server.port) { try await body($0, HTTPClient(port: $0.port)) }
        try await server.stop()
    }

    @Test("hands everything on as long as it has no rule, and counts it")
    func passes() async throws {
        try await withProxy { proxy, client in
            #expect(try await client.get("/").text == "0123456789")
            #expect(proxy.traffic.accepted == 1)
            #expect(proxy.traffic.swallowed == 0)
            #expect(proxy.traffic.delivered > Self.reply.utf8.count)
            try await eventually("the connection is closed on both sides") { proxy.traffic.open == 0 }
        }
    }

    @Test("holds bytes back, in each direction")
    func delays() async throws {
        try await withProxy { proxy, client in
            proxy.delay(.toServer, by: .milliseconds(60))
            proxy.delay(.toClient, by: .milliseconds(60))
            let time = try await ContinuousClock().measure { _ = try await client.get("/") }
            #expect(time >= .milliseconds(120))
        }
    }

    @Test("lets a request pass and its reply vanish, then resets the connection")
    func swallowsReply() async throws {
        try await withProxy { proxy, client in
            proxy.swallow(.toClient)
            async let lost = client.exchange("\r\n\r\n")
            try await eventually("the reply is swallowed") { proxy.traffic.swallowed == Self.reply.utf8.count }
            try await proxy.cutAll(.reset)
            let reply = try await lost
            #expect(reply.bytes.isEmpty)
            #expect(reply.end == .reset)

            try await proxy.heal()
            #expect(try await client.get("/").status == 200)
        }
    }

    @Test("swallows a request, so that the server never sees it")
    func swallowsRequest() async throws {
        try await withProxy { proxy, client in
            proxy.swallow(.toServer)
            async let unanswered = client.exchange("\r\n\r\n", within: .seconds(1))
            try await eventually("the request is swallowed") { proxy.traffic.swallowed == 4 }
            #expect(try await unanswered.end == .deadline)
            #expect(proxy.traffic.delivered == 0)
        }
    }

    @Test(
        "cuts each connection after that many bytes",
        arguments: [(FaultyProxy.Cut.close, RawReply.End.closed), (.reset, .reset)]
    )
    func cutsAfter(cut: FaultyProxy.Cut, end: RawReply.End) async throws {
        try await withProxy { proxy, client in
            proxy.cut(after: 17, .toClient, by: cut)
            for _ in 0..<2 {
                let reply = try await client.exchange("\r\n\r\n")
                #expect(reply.text == "HTTP/1.1 200 OK\r\n")
                #expect(reply.end == end)
            }
            try await proxy.heal()
            #expect(try await client.get("/").status == 200)
        }
    }

    @Test("begins to count anew with a new rule, on a live connection too")
    func cutsAnew() async throws {
        try await withProxy { proxy, client in
            proxy.cut(after: Self.reply.utf8.count + 1, .toClient, by: .close)
            try await client.withConnection { connection in
                let first = try await connection.send("GET", "/")
                proxy.cut(after: Self.reply.utf8.count + 1, .toClient, by: .close)
                let second = try await connection.send("GET", "/")
                #expect([first.status, second.status] == [200, 200])
                await #expect(throws: HTTPFailure.self) { try await connection.send("GET", "/") }
            }
        }
    }

    @Test("refuses, resets and strands new connections, and lets them pass again")
    func newConnections() async throws {
        try await withProxy { proxy, client in
            try await proxy.admit(.refuse)
            await #expect(throws: HTTPFailure.refused) { try await client.get("/") }
            try await proxy.admit(.reset)
            #expect(try await client.exchange("\r\n\r\n").end == .reset)
            try await proxy.admit(.hang)
            await #expect(throws: DeadlinePassed.self) { try await client.get("/", within: .milliseconds(100)) }
            try await proxy.heal()
            #expect(try await client.get("/").status == 200)
        }
    }

    @Test("keeps live connections while it refuses new ones")
    func keepsLive() async throws {
        try await withProxy { proxy, client in
            try await client.withConnection { connection in
                #expect(try await connection.send("GET", "/").status == 200)
                try await proxy.admit(.refuse)
                #expect(try await connection.send("GET", "/").status == 200)
            }
        }
    }

    @Test("ends either direction in order, and the side behind it notices", arguments: FaultyProxy.Direction.allCases)
    func halfCloses(direction: FaultyProxy.Direction) async throws {
        try await withProxy { proxy, client in
            async let ended = client.exchange("x")
            try await eventually("the connection is through") { proxy.traffic.delivered == 1 }
            try await proxy.halfClose(direction)
            // The server closes the connection when it sees the end of its stream.
            #expect(try await ended.end == .closed)
        }
    }

    @Test("resets the client when the server refuses")
    func upstreamRefuses() async throws {
        try await withFaultyProxy(to: try freePort()) { proxy in
            let reply = try await HTTPClient(port: proxy.port).exchange("\r\n\r\n")
            #expect(reply.end == .reset)
        }
    }
}
