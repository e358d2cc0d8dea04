import Curl
import Testing

@Suite("Requests and replies")
struct RequestTests {
    @Test(
        "a header that would break out of its line is refused",
        arguments: [
            ("X-A", "b\r\nX-C: d", CurlError.InvalidRequest.headerValue), ("X-A", "b\n", .headerValue),
            ("X-A", "b\u{0}", .headerValue), ("X-A", "é", .headerValue), ("X-A\r\nX-B", "c", .headerName),
            ("X A", "b", .headerName), ("X:A", "b", .headerName), ("", "b", .headerName), ("Host", "b", .headerName),
            ("CONTENT-length", "1", .headerName), ("Transfer-Encoding", "chunked", .headerName),
            ("X-A", String(repeating: "a", count: HTTPRequest.maxHeaderBytes), .headersTooLarge),
        ]
    )
    func refusedHeaders(_ name: String, _ value: String, _ reason: CurlError.InvalidRequest) throws {
        #expect(throws: CurlError.invalidRequest(reason)) {
            try request(.get, "https://a.example/", headers: [(name: name, value: value)])
        }
    }

    @Test("limits must be positive and a GET has no body")
    func limits() {
        #expect(throws: CurlError.invalidRequest(.limitNotPositive)) {
            try request(.get, "https://a.example/", timeout: .zero)
        }
        #expect(throws: CurlError.invalidRequest(.limitNotPositive)) {
            try request(.get, "https://a.example/", connectTimeout: .seconds(-1))
        }
        #expect(throws: CurlError.invalidRequest(.limitNotPositive)) {
            try request(.get, "https://a.example/", maxReplyBytes: 0)
        }
        #expect(throws: CurlError.invalidRequest(.bodyNotAllowed)) {
            try request(.get, "https://a.example/", body: [1])
        }
    }

    @Test("T-15: path, query, headers and body arrive byte for byte")
    func verbatim() async throws {
        let server = try ScriptedServer { connection in
            while connection.readRequest() != nil { connection.reply() }
        }
        let client = try CurlClient()
        let target = "/a/../b//c;d?access_token=x%26fields%3Did%2Cemail%26y+z&e=%0d%0a&e"
        _ = try await client.send(request(.get, server.url(target), headers: [("X-Empty", ""), ("x-Two", "a  b")]))
        _ = try await client.send(request(.post, server.url("/p"), body: Array("a=1&b=\u{e9}".utf8)))
        _ = try await client.send(request(.post, server.url("/q")))
        _ = try await client.send(request(.delete, server.url("/r")))
        _ = try await client.send(request(.delete, server.url("/s"), body: Array("x".utf8)))
        _ = try await client.send(request(.get, server.url("/t")))
        let seen = server.requests
        try #require(seen.count == 6)
        #expect(seen[0].hasPrefix("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"))
        #expect(seen[0].contains("\r\nX-Empty:\r\n") && seen[0].contains("\r\nx-Two: a  b\r\n"))
        #expect(seen[0].contains("\r\nAccept-Encoding: gzip\r\n") && seen[0].contains("\r\nUser-Agent: federation\r\n"))
        #expect(seen[1].hasPrefix("POST /p HTTP/1.1\r\n") && seen[1].hasSuffix("\r\n\r\na=1&b=\u{e9}"))
        #expect(!seen[1].contains("X-Empty") && !seen[1].contains("Expect"))
        #expect(seen[2].hasPrefix("POST /q HTTP/1.1\r\n") && seen[2].contains("\r\nContent-Length: 0\r\n"))
        #expect(seen[3].hasPrefix("DELETE /r HTTP/1.1\r\n") && !seen[3].contains("Content-Length"))
        #expect(seen[4].hasPrefix("DELETE /s HTTP/1.1\r\n") && seen[4].hasSuffix("\r\n\r\nx"))
        #expect(seen[5].hasPrefix("GET /t HTTP/1.1\r\n") && !seen[5].contains("Content-Length"))
        #expect(server.connections == 1)
    }

    @Test("headers are found in either case, the first of a name, without trailers or interim replies")
    func headers() async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.write(
                "HTTP/1.1 103 Early\r\nETag: early\r\n\r\nHTTP/1.1 404 Not Found\r\nx-app-usage: \t{} \r\n"
            )
            connection.write(
                "X-App-Usage: second\r\nEmpty:\r\nTransfer-Encoding: chunked\r\nTrailer: ETag, Empty\r\n\r\n"
            )
            connection.write("3\r\nabc\r\n0\r\nETag: late\r\nX-Late: 1\r\n\r\n")
            connection.waitForClose()
        }
        let client = try CurlClient()
        let reply = try await client.send(request(.get, server.url()))
        #expect(reply.status == 404)
        #expect(reply.body == Array("abc".utf8))
        #expect(reply.header("X-APP-Usage") == "{}")
        #expect(reply.header("empty") == "")
        #expect(reply.header("ETag") == nil)
        #expect(reply.header("X-Late") == nil)
        #expect(reply.header("HTTP/1.1 404 Not Found") == nil)
    }

    @Test("T-110: nothing of a query, a header or a body is in what the types print")
    func canaries() async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.reply("canary-reply", headers: "X-A: canary-reply-header\r\n")
            connection.waitForClose()
        }
        let client = try CurlClient()
        let request = try request(
            .post,
            server.url("/canary-path?access_token=canary-query"),
            headers: [(name: "Authorization", value: "canary-header")],
            body: Array("canary-body".utf8)
        )
        let reply = try await client.send(request)
        #expect(String(decoding: reply.body, as: UTF8.self) == "canary-reply")
        let canaries = ["canary", "\(Array("canary".utf8))".dropFirst().dropLast().description]
        for value: Any in [request, request.url, reply, [request], [reply]] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                for canary in canaries { #expect(!text.contains(canary)) }
            }
        }
    }
}
