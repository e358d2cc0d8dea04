import Testing
import TestSupport

@Suite("The HTTP client")
struct HTTPClientTests {
    private func withServer(
        _ reply: String,
        closes: Bool = false,
        _ body: (HTTPClient) async throws -> Void
    ) async throws {
        let server = try await ReplyingServer.start(reply: reply, closes: closes)
        try await body(HTTPClient(port: server.port))
        try await server.stop()
    }

    @Test(
        "reads a body however it is framed",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", false),
            ("HTTP/1.1 200 OK\r\n\r\nhello", true),
        ]
    )
    func framing(reply: String, closes: Bool) async throws {
        try await withServer(reply, closes: closes) { client in
            let reply = try await client.get("/")
            #expect(reply.status == 200)
            #expect(reply.text == "hello")
        }
    }

    @Test("shows repeated header fields, in any case of their name")
    func headers() async throws {
        try await withServer("HTTP/1.1 404 No\r\nVary: a\r\nvary: b\r\nContent-Length: 0\r\n\r\n") { client in
            let reply = try await client.post("/", json: "{}")
            #expect(reply.status == 404)
            #expect(reply.values(of: "VARY") == ["a", "b"])
            #expect(reply.header("x") == nil)
        }
    }

    @Test("sends several requests on one connection")
    func keepAlive() async throws {
        let server = try await ReplyingServer.start(reply: "HTTP/1.1 204 No Content\r\n\r\n")
        try await withFaultyProxy(to: server.port) { proxy in
            try await HTTPClient(port: proxy.port).withConnection { connection in
                for _ in 0..<3 {
                    let reply = try await connection.send("GET", "/")
                    #expect(reply.status == 204)
                }
            }
            #expect(proxy.traffic.accepted == 1)
        }
        try await server.stop()
    }

    @Test("has a thousand requests under way at a time")
    func thousand() async throws {
        try await withServer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") { client in
            let answered = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<1000 { group.addTask { try await client.get("/").text == "ok" } }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(answered == 1000)
        }
    }

    @Test(
        "tells a reply that is cut short from one that is not HTTP",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", true, HTTPFailure.closed), ("", true, .closed),
            ("nonsense\r\n\r\n", false, .malformed),
        ]
    )
    func broken(reply: String, closes: Bool, expected: HTTPFailure) async throws {
        try await withServer(reply, closes: closes) { client in
            await #expect(throws: expected) { try await client.get("/") }
        }
    }

    @Test("tells that nothing listens")
    func refused() async throws {
        let client = HTTPClient(port: try freePort())
        await #expect(throws: HTTPFailure.refused) { try await client.get("/") }
        await #expect(throws: HTTPFailure.refused) { try await client.exchange("x") }
    }

    @Test("gives up at the deadline")
    func deadline() async throws {
        try await withServer("") { client in
            await #expect(throws: DeadlinePassed.self) { try await client.get("/", within: .milliseconds(100)) }
        }
    }

    @Test("sends bytes as they are, in pieces, and tells how the connection ended")
    func raw() async throws {
        try await withServer("pong", closes: true) { client in
            let reply = try await client.exchange(
                [Array("\u{0}\r\n".utf8), Array("\r\n".utf8)],
                pause: .milliseconds(5)
            )
            #expect(reply.text == "pong")
            #expect(reply.end == .closed)
        }
        try await withServer("pong") { client in
            let reply = try await client.exchange("no blank line", within: .milliseconds(100))
            #expect(reply.end == .deadline)
        }
    }
}
