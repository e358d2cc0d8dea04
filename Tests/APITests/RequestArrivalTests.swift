import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTP

@Suite("How a request arrives")
struct RequestArrivalTests {
    /// A connection with the channel handlers that turn bytes into whole requests.
    private struct Connection {
        let channel = EmbeddedChannel()

        init() throws {
            let arrival = RequestArrival(
                limit: .seconds(10),
                share: ConnectionShare(ConnectionBudget(connections: 99, connectionsOfSource: 1, bytes: 1 << 20))
            )
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(arrival)
            try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false, withErrorHandling: false)
            try pipeline.addHandler(RequestRules(arrival))
            try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        }

        /// Writes bytes and returns the decoded parts: the target of a head, the bytes of a body, `.` for an end.
        ///
        /// `!` stands for an error.
        func send(_ text: String) throws -> String {
            var parts = ""
            do { try channel.writeInbound(ByteBuffer(string: text)) } catch { parts = "!" }
            while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
                switch part {
                case .head(let head): parts += head.uri
                case .body(let bytes): parts += String(buffer: bytes)
                case .end: parts += "."
                }
            }
            return parts
        }

        /// Returns whether the connection is still open after that many further seconds.
        func stands(after seconds: Int64) -> Bool {
            channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
            return channel.isActive
        }
    }

    private static let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
    private static let post = "POST /b HTTP/1.1\r\nHost: x\r\n"

    @Test("a connection without a request, and a request without an end, end with the limit")
    func first() throws {
        let silent = try Connection()
        #expect(silent.stands(after: 9))
        #expect(!silent.stands(after: 1))
        let slow = try Connection()
        #expect(try slow.send("GET /a HT") == "")
        #expect(slow.stands(after: 9))
        #expect(try slow.send("TP/1.1\r\nHost:") == "")
        #expect(!slow.stands(after: 1))
        let body = try Connection()
        #expect(try body.send(Self.post + "Content-Length: 9\r\n\r\nabc") == "/babc")
        #expect(body.stands(after: 9))
        #expect(try body.send("d") == "d")
        #expect(!body.stands(after: 1))
    }

    @Test("the next request of a connection may wait for longer, and has no longer to arrive")
    func second() throws {
        let connection = try Connection()
        #expect(try connection.send(Self.get) == "/a.")
        #expect(connection.stands(after: 50))
        for byte in ["G", "E", "T", " ", "/"] {
            #expect(try connection.send(byte) == "")
            #expect(connection.stands(after: byte == "G" ? 5 : 1))
        }
        #expect(!connection.stands(after: 1), "ten seconds from the first byte")

        let blank = try Connection()
        #expect(try blank.send(Self.get) == "/a.")
        #expect(try blank.send("\r\n") == "")
        #expect(!blank.stands(after: 10))

        let kept = try Connection()
        #expect(try kept.send(Self.get) == "/a.")
        #expect(try kept.send("GET /c HTTP/1.1\r\n") == "")
        #expect(kept.stands(after: 9))
        #expect(try kept.send("Host: x\r\n\r\n") == "/c.")
        #expect(kept.stands(after: 50))

        #expect(try kept.send(Self.get + Self.post + "Content-Length: 9\r\n\r\nabc") == "/a./babc")
        #expect(kept.stands(after: 9))
        #expect(!kept.stands(after: 1), "a body that begins in one piece with the end of another request")

        let behind = try Connection()
        #expect(try behind.send("GET /a HT") == "")
        #expect(behind.stands(after: 9))
        #expect(try behind.send("TP/1.1\r\nHost: x\r\n\r\n\(Self.post)Content-Length: 9\r\n\r\nabc") == "/a./babc")
        #expect(behind.stands(after: 9), "it has a time of its own")
        #expect(!behind.stands(after: 1))
    }

    @Test("behind a request that ends the connection nothing is read, and nothing is refused")
    func last() throws {
        let close = "Connection: close\r\n\r\n"
        for last in [
            "GET /z HTTP/1.1\r\nHost: x\r\n\(close)", "GET /z HTTP/1.0\r\n\r\n",
            "GET /z HTTP/1.1\r\nHost: x\r\nConnection: X, Close\r\n\r\n",
            Self.post.replacing("/b", with: "/z") + "Content-Length: 0\r\n\(close)",
        ] {
            for behind in [Self.get, Self.get + Self.get, "GET /a HT", "rubbish\r\n\r\n"] {
                let connection = try Connection()
                #expect(try connection.send(Self.get + last + behind) == "/a./z.", "\(last)\(behind)")
                #expect(try connection.send(Self.get) == "", "\(last)\(behind)")
            }
        }
    }

    @Test("trailers are not heeded, and those that would be break the body, behind which nothing is read")
    func trailers() throws {
        let chunked = Self.post + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
        for field in ["X: y", "Host: z", "Authorization: z", "Upgrade: h2c", "Expect: 100-continue"] {
            let connection = try Connection()
            #expect(try connection.send(chunked + "\(field)\r\n\r\n" + Self.get) == "/bx./a.", "\(field)")
        }
        for field in ["Connection: close", "connection: x", "Proxy-Connection: close", "Transfer-Encoding: chunked"]
            + ["Content-Length: 1", "Content-Length: +50"]
        {
            let connection = try Connection()
            #expect(try connection.send(chunked + "\(field)\r\n\r\n") == "!/bx", "\(field)")
            #expect(try !connection.send(Self.get).contains("/a"), "\(field)")
        }
    }

    @Test("extensions of chunks are bounded, chunks of one byte are not")
    func chunks() throws {
        let bytes = try Connection()
        #expect(try bytes.send(Self.post + "Transfer-Encoding: chunked\r\n\r\n") == "/b")
        for _ in 0..<40 {
            let chunks = String(repeating: "1\r\nx\r\n", count: 1000)
            #expect(try bytes.send(chunks) == String(repeating: "x", count: 1000))
        }
        #expect(try bytes.send("0\r\n\r\n") == ".")

        let extended = try Connection()
        #expect(try extended.send(Self.post + "Transfer-Encoding: chunked\r\n\r\n1;a=") == "/b")
        let filler = String(repeating: "b", count: 8192)
        for _ in 0..<7 { #expect(try extended.send(filler) == "") }
        #expect(try extended.send(filler) == "!")
        #expect(try extended.send("\r\nx\r\n0\r\n\r\n") == "", "nothing more is read")
        #expect(extended.stands(after: 0), "who is told so can read it")
        var heard: [String] = []
        while heard.count < 20, extended.stands(after: 0) { heard.append(try extended.send(filler)) }
        #expect(!extended.stands(after: 0), "who goes on is cut off")
        #expect(heard.dropLast().joined() == "", "nothing more is read")
        #expect(heard.last == "!", "the body breaks off with the connection")

        let many = try Connection()
        #expect(try many.send(Self.post + "Transfer-Encoding: chunked\r\n\r\n") == "/b")
        let chunk = "1;a=\(String(repeating: "b", count: 100))\r\nx\r\n"
        let read = try (0..<1000).map { _ in try many.send(chunk) }
        #expect(read.contains("x!") || read.contains("!x"), "extensions of many chunks count together")
    }

    @Test("what the parser skips in front of a head is bounded, and so is what follows a request to upgrade")
    func skipped() throws {
        for start in ["", "GET /a HTTP/1.1\r\nHost: "] {
            let connection = try Connection()
            #expect(try connection.send(start) == "")
            let filler = String(repeating: start.isEmpty ? "\r\n" : "  ", count: 4096)
            for _ in 0..<7 { #expect(try connection.send(filler) == "") }
            #expect(try connection.send(filler + filler) == "unreadable.")
            #expect(try connection.send("x\r\n\r\n" + Self.get) == "")
        }
        let upgrade = try Connection()
        #expect(try upgrade.send("GET /u HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n") == "/u.")
        let filler = String(repeating: "x\n", count: 4096)
        for _ in 0..<9 { #expect(try upgrade.send(filler) == "", "it was the last request") }
        for _ in 0..<30 where upgrade.stands(after: 0) { _ = try upgrade.send(filler) }
        #expect(!upgrade.stands(after: 0), "who goes on is cut off")
    }

    @Test("a target that is too long is told from a head that is, whatever of it has come")
    func tooLong() throws {
        let long = String(repeating: "x", count: 20_000)
        #expect(try Connection().send("GET /\(long) HTTP/1.1\r\nHost: x\r\n\r\n") == "longTarget.")
        let parts = try Connection()
        #expect(try parts.send("GET /\(long.prefix(5000))") == "")
        #expect(try (0..<20).map { _ in try parts.send(String(long.prefix(5000))) }.joined() == "longTarget.")
        #expect(
            try Connection().send("GET /a HTTP/1.1\r\nHost: x\r\nA: \(long)\(long)\(long)\(long)\(long)")
                == "unreadable."
        )
        let later = try Connection()
        #expect(try later.send("GET /\(long.prefix(7900)) HTTP/1.1\r\nHost: x\r\n\r\n").hasSuffix("x."))
        #expect(try later.send("nonsense\r\n\r\n") == "unreadable.")
    }

    @Test("behind a fault nothing is read, and a body that breaks off is nobody's request")
    func faults() throws {
        let hosts = try Connection()
        #expect(
            try hosts.send("POST /a HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 30\r\n\r\n" + Self.get) == "host."
        )
        #expect(try hosts.send(Self.get) == "")
        let broken = try Connection()
        #expect(try broken.send(Self.post + "Transfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n" + Self.get) == "!/bx")
    }
}
