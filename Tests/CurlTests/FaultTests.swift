import Curl
import Glibc
import Testing

/// A fault of a server, and the errors that a client may report for it.
struct Fault: Sendable, CustomTestStringConvertible {
    let name: String
    let expected: [CurlError]
    let script: ScriptedServer.Script

    init(_ name: String, _ expected: CurlError..., script: @escaping ScriptedServer.Script) {
        self.name = name
        self.expected = expected
        self.script = script
    }

    var testDescription: String { name }
}

@Suite("Faults of the other side")
struct FaultTests {
    @Test(
        "F-02: a server that hangs is left at the deadline",
        arguments: [
            Fault("after accept", .timeout(.waiting)) { $0.waitForClose() },
            Fault("in the head", .timeout(.waiting)) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nContent-")
                $0.waitForClose()
            },
            Fault("after the head", .timeout(.waiting)) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
                $0.waitForClose()
            },
            Fault("in the body", .timeout(.waiting)) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
                $0.waitForClose()
            },
            Fault("dripping", .timeout(.waiting)) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                while $0.write("x") { usleep(20_000) }
            },
        ]
    )
    func hangs(_ fault: Fault) async throws {
        let server = try ScriptedServer(fault.script)
        let client = try CurlClient()
        let start = ContinuousClock.now
        let error = await client.failure(of: try request(.get, server.url(), timeout: .milliseconds(300)))
        let elapsed = ContinuousClock.now - start
        #expect(error == fault.expected.first)
        #expect(elapsed >= .milliseconds(290) && elapsed < .seconds(10))
        #expect(await eventually { server.openConnections == 0 })
    }

    @Test("F-02: a server that does not accept is left at the connect limit")
    func connectLimit() async throws {
        // A full backlog: the kernel drops further SYNs.
        let (descriptor, port) = try ScriptedServer.bindToLoopback()
        defer { close(descriptor) }
        #expect(listen(descriptor, 0) == 0)
        let client = try CurlClient()
        let start = ContinuousClock.now
        var errors: [CurlError?] = []
        let call = try request(
            .get,
            "http://127.0.0.1:\(port)/",
            timeout: .seconds(2),
            connectTimeout: .milliseconds(300)
        )
        await withTaskGroup(of: CurlError?.self) { group in
            for _ in 0..<8 { group.addTask { await client.failure(of: call) } }
            for await error in group { errors.append(error) }
        }
        #expect(errors.contains(.timeout(.connecting)))
        #expect(errors.allSatisfy { $0 == .timeout(.connecting) || $0 == .timeout(.waiting) })
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    private static let endless = [UInt8](repeating: UInt8(ascii: "x"), count: 65536)

    @Test(
        "F-06, T-100: a reply without measure is cut off and its connection closed",
        arguments: [
            Fault("200 MB", .replyTooLarge) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nContent-Length: 209715200\r\n\r\n")
                for _ in 0..<3200 { guard $0.write(endless) else { return } }
                Issue.record("the client took all of it")
            },
            Fault("endless chunks", .replyTooLarge) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in 0..<3200 { guard $0.write("10000\r\n"), $0.write(endless), $0.write("\r\n") else { return } }
                Issue.record("the client took all of it")
            },
            Fault("until close", .replyTooLarge) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\n\r\n")
                for _ in 0..<3200 { guard $0.write(endless) else { return } }
                Issue.record("the client took all of it")
            },
            Fault("gzip bomb", .replyTooLarge) {
                $0.readRequest()
                guard let bomb = gzippedZeros(megabytes: 200) else {
                    Issue.record("gzip did not run")
                    return
                }
                $0.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n")
                $0.write(bomb)
                $0.waitForClose()
            },
            Fault("one header without end", .replyTooLarge) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nX-A: ")
                for _ in 0..<3200 { guard $0.write(endless) else { return } }
                Issue.record("the client took all of it")
            },
            Fault("headers without end", .replyTooLarge) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\n")
                while $0.write("X-A: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n") {}
            },
            Fault("interim replies without end", .replyTooLarge) {
                $0.readRequest()
                while $0.write("HTTP/1.1 100 Continue\r\n\r\n") {}
            },
            Fault("trailers without end", .replyTooLarge) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
                while $0.write("X-A: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n") {}
            },
        ]
    )
    func withoutMeasure(_ fault: Fault) async throws {
        let server = try ScriptedServer(fault.script)
        let client = try CurlClient()
        let error = await client.failure(of: try request(.get, server.url()))
        #expect(error == fault.expected.first)
        #expect(await eventually { server.openConnections == 0 })
    }

    @Test("a reply of exactly the allowed size passes, one byte more does not", arguments: [false, true])
    func atTheCap(gzipped: Bool) async throws {
        let plain = [UInt8](repeating: 0, count: 1_048_576)
        let body = gzipped ? try #require(gzippedZeros(megabytes: 1)) : plain
        let encoding = gzipped ? "Content-Encoding: gzip\r\n" : ""
        let server = try ScriptedServer { connection in
            while connection.readRequest() != nil {
                connection.write("HTTP/1.1 200 OK\r\n\(encoding)Content-Length: \(body.count)\r\n\r\n")
                connection.write(body)
            }
        }
        let client = try CurlClient()
        let reply = try await client.send(request(.get, server.url(), maxReplyBytes: plain.count))
        #expect(reply.body == plain)
        #expect(
            await client.failure(of: try request(.get, server.url(), maxReplyBytes: plain.count - 1)) == .replyTooLarge
        )
        let next = try await client.send(request(.get, server.url(), maxReplyBytes: plain.count))
        #expect(next.body == plain, "nothing of it reaches the next call")
    }

    @Test(
        "F-07: a broken connection tells whether the request had gone out",
        arguments: [
            Fault(
                "RST on connect",
                .connect(errno: ECONNRESET),
                .reset(requestSent: false),
                .reset(requestSent: true)
            ) { $0.reset() },
            Fault("RST in the request", .reset(requestSent: false)) {
                _ = $0.read(atMost: 100)
                $0.reset()
            },
            Fault("RST after the request", .reset(requestSent: true)) {
                $0.readRequest()
                $0.reset()
            },
            Fault("end after the request", .reset(requestSent: true)) {
                $0.readRequest()
                $0.close()
            },
            Fault("end in the head", .reset(requestSent: true)) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nContent-Le")
            },
            Fault("end in the body", .reset(requestSent: true)) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            },
            Fault("end in a chunk", .reset(requestSent: true)) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc")
            },
        ]
    )
    func resets(_ fault: Fault) async throws {
        let server = try ScriptedServer(fault.script)
        let client = try CurlClient()
        // Larger than the buffers of both sockets, so that a server that stops reading stops the request.
        let body = [UInt8](repeating: UInt8(ascii: "a"), count: 20_000_000)
        let error = try #require(await client.failure(of: try request(.post, server.url(), body: body)))
        #expect(fault.expected.contains(error))
        #expect(server.connections == 1)
    }

    @Test("F-07: nothing listens")
    func refused() async throws {
        let client = try CurlClient()
        let port = try ScriptedServer.freePort()
        let error = await client.failure(of: try request(.get, "http://127.0.0.1:\(port)/"))
        #expect(error == .connect(errno: ECONNREFUSED))
    }

    @Test(
        "F-07: a POST that asks for its own connection arrives once, where libcurl repeats one on a reused connection"
    )
    func exactlyOnce() async throws {
        for reusesConnection in [false, true] {
            // Responds to the first request of a connection; closes the connection after the second.
            let server = try ScriptedServer { connection in
                guard let request = connection.readRequest() else { return }
                if request.hasPrefix("GET") {
                    connection.reply()
                    connection.readRequest()
                }
            }
            let client = try CurlClient()
            _ = try await client.send(request(.get, server.url("/warm")))
            let post = try request(.post, server.url("/exchange"), body: [1], reusesConnection: reusesConnection)
            #expect(await client.failure(of: post) == .reset(requestSent: true))
            #expect(server.requests.filter { $0.hasPrefix("POST") }.count == (reusesConnection ? 2 : 1))
        }
    }

    @Test("a connection that the server closed while it was idle is not used again")
    func closedWhileIdle() async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.reply()
        }
        let client = try CurlClient()
        for number in 1...20 {
            let reply = try await client.send(request(.post, server.url("/\(number)"), body: [1]))
            #expect(reply.status == 200)
            #expect(await eventually { server.openConnections == 0 })
        }
        #expect(server.requests.count == 20)
        #expect(server.connections == 20)
    }

    @Test(
        "a reply that is not HTTP is refused",
        arguments: [
            Fault("no status line", .badReply) {
                $0.readRequest()
                $0.write("hello, this is not the protocol you are looking for\r\n\r\n")
            },
            Fault("status without digits", .badReply) {
                $0.readRequest()
                $0.write("HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n")
            },
            Fault("status of two digits", .badReply) {
                $0.readRequest()
                $0.write("HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n")
            },
            Fault("an unknown version", .badReply) {
                $0.readRequest()
                $0.write("HTTP/7.3 200 OK\r\nContent-Length: 0\r\n\r\n")
            },
            Fault("a chunk size that is no number", .reset(requestSent: true)) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n")
            },
            Fault("a length that is no number", .badReply) {
                $0.readRequest()
                $0.write("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabcde")
            },
            Fault("gzip that is none", .badReply) {
                $0.readRequest()
                $0.reply("not gzip at all, just text", headers: "Content-Encoding: gzip\r\n")
            },
            Fault("an unknown encoding", .badReply) {
                $0.readRequest()
                $0.reply("abc", headers: "Content-Encoding: rot13\r\n")
            },
        ]
    )
    func notHTTP(_ fault: Fault) async throws {
        let server = try ScriptedServer(fault.script)
        let client = try CurlClient()
        #expect(await client.failure(of: try request(.get, server.url())) == fault.expected.first)
    }

    @Test("T-95: a redirect is an answer, not an order", arguments: ["301 Moved", "302 Found", "307 T", "308 P"])
    func redirect(_ status: String) async throws {
        let other = try ScriptedServer { $0.waitForClose() }
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.reply(status: status, headers: "Location: \(other.url("/stolen"))\r\n")
            connection.waitForClose()
        }
        let client = try CurlClient()
        let reply = try await client.send(request(.get, server.url("/me?access_token=x")))
        #expect(reply.status == Int(status.prefix(3)))
        #expect(reply.header("location") == other.url("/stolen"))
        #expect(server.requests.count == 1)
        #expect(other.connections == 0)
    }
}

/// Returns that many megabytes of zeros, compressed by gzip; nil when the programs are missing or fail.
func gzippedZeros(megabytes: Int) -> [UInt8]? {
    guard let result = try? Program.run("sh", ["-c", "head -c \(megabytes)M /dev/zero | gzip -1"]) else { return nil }
    return result.status == 0 ? result.output : nil
}
