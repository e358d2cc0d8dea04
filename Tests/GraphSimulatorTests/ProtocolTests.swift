import CZlib
import GraphSimulator
import Testing

@Suite("the public port speaks HTTP as Graph does")
struct ProtocolTests {
    @Test("headers of a success")
    func headers() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let reply = try await Wire.get(simulator, "/v25.0/me?access_token=\(token)")
            let expected = [
                ("Content-Type", "application/json; charset=UTF-8"), ("facebook-api-version", "v25.0"),
                ("Strict-Transport-Security", "max-age=15552000; preload"), ("Pragma", "no-cache"),
                ("Cache-Control", "private, no-cache, no-store, must-revalidate"),
                ("Expires", "Sat, 01 Jan 2000 00:00:00 GMT"), ("Access-Control-Allow-Origin", "*"),
                ("Vary", "Accept-Encoding"), ("Connection", "keep-alive"),
                ("Date", "Fri, 18 Nov 2022 05:30:03 GMT"),
                ("x-app-usage", #"{"call_count":0,"total_time":0,"total_cputime":0}"#),
            ]
            for (name, value) in expected { #expect(reply.header(name) == value, "\(name)") }
            #expect(reply.header("ETag")?.utf8.count == 42)
            #expect(reply.header("x-fb-trace-id")?.utf8.count == 11)
            #expect(reply.header("x-fb-request-id")?.utf8.count == 23)
            #expect(reply.header("x-fb-request-id")?.hasPrefix("A") == true)
            #expect(reply.header("X-FB-Debug")?.utf8.count == 88)
            #expect(reply.header("x-fb-rev") != nil)
            #expect(reply.header("Alt-Svc") != nil)
        }
    }

    @Test("the app's usage is what the app's setting says, or not sent")
    func usage() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            simulator.update(app: SampleWorld.app) { app in
                app.usage = GraphSimulator.AppUsage(callCount: 28, totalTime: 25, totalCPUTime: 26)
            }
            let told = try await Wire.get(simulator, "/me?access_token=\(token)")
            #expect(told.header("x-app-usage") == #"{"call_count":28,"total_time":25,"total_cputime":26}"#)
            simulator.update(app: SampleWorld.app) { $0.usage = nil }
            let silent = try await Wire.get(simulator, "/me?access_token=\(token)")
            #expect(silent.header("x-app-usage") == nil)
        }
    }

    /// The path's prefix, days after the sample's time, and the version in the response; `nil` for an unknown path.
    static let versions: [(String, Int, String?)] = [
        ("/v25.0", 0, "v25.0"), ("/v26.0", 0, "v26.0"), ("/v7.0", 0, "v21.0"), ("", 0, "v21.0"),
        ("/v21.0", 1600, "v22.0"), ("", 1600, "v22.0"), ("/v27.0", 0, nil), ("/v23.5", 0, nil),
    ]

    @Test("versions: the one asked for, or the oldest usable", arguments: versions)
    func version(_ prefix: String, _ days: Int, _ version: String?) async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.never, person: "ann").text
            simulator.advanceClock(bySeconds: days * 86400)
            let reply = try await Wire.get(simulator, "\(prefix)/me?fields=id&access_token=\(token)")
            #expect(reply.header("facebook-api-version") == version)
            #expect(reply.status == (version == nil ? 400 : 200))
        }
    }

    @Test("the token travels in the query, a form, or the Authorization header; POST with method=get is a GET")
    func parameters() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let expected = #"{"email":"ann\u0040example.com","id":"123"}"#
            for scheme in ["OAuth", "Bearer", "bearer"] {
                let reply = try await Wire.get(
                    simulator,
                    "/me?fields=email",
                    headers: ["Authorization: \(scheme) \(token)"]
                )
                #expect(reply.text == expected)
            }
            let post = try await Wire.post(simulator, "/me", form: "method=get&fields=email&access_token=\(token)")
            #expect(post.text == expected)
            let mixed = try await Wire.post(
                simulator,
                "/me?method=GET&fields=name",
                form: "fields=email&access_token=\(token)"
            )
            #expect(mixed.text == expected)
            let keycloak = try await Wire.get(
                simulator,
                "/debug_token?input_token=\(token)",
                headers: ["Authorization: Bearer \(SampleWorld.appToken)"]
            )
            #expect(keycloak.text.contains(#""is_valid":true"#))
        }
    }

    @Test("parameters are logged as decoded and as received")
    func log() async throws {
        try await SampleWorld.run { simulator in
            _ = try await Wire.get(
                simulator,
                "/v25.0/me?access_token=x%26fields%3Did+y%2B&fields=%C3%A9&%zz=1",
                headers: ["X-Test: 1", "x-test: 2"]
            )
            _ = try await Wire.post(simulator, "/debug_token?a=1", form: "a=2&b")
            let requests = simulator.requests()
            try #require(requests.count == 2)
            #expect(requests[0].uri == "/v25.0/me?access_token=x%26fields%3Did+y%2B&fields=%C3%A9&%zz=1")
            #expect(requests[0].path == "me")
            #expect(requests[0].parameters.map(\.name) == ["access_token", "fields", "%zz"])
            #expect(requests[0].parameters.map(\.value) == ["x&fields=id y+", "é", "1"])
            #expect(requests[0].headers.filter { $0.name.lowercased() == "x-test" }.map(\.value) == ["1", "2"])
            #expect(requests[0].header("host") == "graph.facebook.com")
            #expect(requests[0].status == 400)
            #expect(requests[0].time == SampleWorld.now)
            #expect(requests[1].method == "POST")
            #expect(requests[1].body == Array("a=2&b".utf8))
            #expect(requests[1].parameters.map(\.value) == ["1", "2", ""])
            #expect(requests[1].parameter("a") == "2")
            #expect(requests[0].connection != requests[1].connection)
            #expect(simulator.requests(path: "me").count == 1)
            #expect(simulator.counters.requestsByPath == ["me": 1, "debug_token": 1])
            #expect(simulator.counters.repliesByStatus == [400: 2])
            simulator.clearRequests()
            #expect(simulator.requests().isEmpty)
            #expect(simulator.counters.requests == 0)
        }
    }

    @Test("the log keeps the latest requests only")
    func bound() async throws {
        try await SampleWorld.run(requestLog: 3) { simulator in
            for path in ["a", "b", "c", "d", "e"] { _ = try await Wire.get(simulator, "/\(path)") }
            #expect(simulator.requests().map(\.path) == ["c", "d", "e"])
            #expect(simulator.requests().map(\.status) == [400, 400, 400])
            #expect(simulator.counters.requests == 5)
            simulator.clearRequests()
            _ = try await Wire.get(simulator, "/f")
            #expect(simulator.requests().map(\.number) == [6])
        }
    }

    @Test("If-None-Match with the reply's ETag gives 304 without a body")
    func conditional() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let target = "/me?access_token=\(token)"
            let first = try await Wire.get(simulator, target)
            let tag = try #require(first.header("ETag"))
            let again = try await Wire.get(simulator, target, headers: ["If-None-Match: \(tag)"])
            #expect(again.status == 304)
            #expect(again.body.isEmpty)
            #expect(again.header("ETag") == tag)
            simulator.update(person: "ann") { $0.fields["name"] = "Ann" }
            let changed = try await Wire.get(simulator, target, headers: ["If-None-Match: \(tag)"])
            #expect(changed.status == 200)
        }
    }

    @Test(
        "gzip only when asked by its name",
        arguments: [
            ("gzip", true), ("deflate, gzip;q=0.5", true), ("GZIP ; Q=1.0", true), ("*", false), ("*;q=1, br", false),
            ("gzip;q=0", false), ("gzip; q=0.000, *", false), ("br", false), ("gzipped", false), ("", false),
        ]
    )
    func compression(_ accepted: String, _ compressed: Bool) async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let reply = try await Wire.get(
                simulator,
                "/me?fields=id&access_token=\(token)",
                headers: ["Accept-Encoding: \(accepted)"]
            )
            #expect(reply.header("Content-Encoding") == (compressed ? "gzip" : nil))
            let body = compressed ? Inflate.all(reply.body) : reply.body
            #expect(String(decoding: body, as: UTF8.self) == #"{"id":"123"}"#)
        }
    }

    @Test("one connection serves many requests, pipelined too, in order, until it is asked to close")
    func keepAlive() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let wire = try await Wire.connect(to: simulator.port)
            simulator.add(.init(.delay(milliseconds: 20), path: "me", count: 1))
            try await wire.send(
                Wire.request("GET", "/me?fields=id&access_token=\(token)") + Wire.request("GET", "/me")
                    + Wire.request("GET", "/unknown", headers: ["Connection: close"])
            )
            let replies = [try await wire.reply(), try await wire.reply(), try await wire.reply()]
            #expect(replies.map(\.status) == [200, 400, 400])
            #expect(replies[2].text.contains("Unknown path components"))
            #expect(replies[2].header("Connection") == "close")
            try await wire.until { $0.end == .closed }
            #expect(Set(simulator.requests().map(\.connection)).count == 1)
        }
    }

    @Test(
        "percent-encoding is decoded byte by byte: a stray % stays, what is no UTF-8 becomes U+FFFD",
        arguments: [
            ("a%2", "a%2"), ("%zz%41", "%zzA"), ("100%+%26", "100% &"), ("%", "%"), ("%%41", "%A"), ("%4g+", "%4g "),
            ("%ff%C3%A9", "\u{FFFD}é"), ("%C3+%41", "\u{FFFD} A"), ("a%00b", "a\0b"),
        ]
    )
    func decoding(_ written: String, _ value: String) async throws {
        try await SampleWorld.run { simulator in
            _ = try await Wire.get(simulator, "/me?fields=\(written)")
            _ = try await Wire.post(simulator, "/me", form: "fields=\(written)")
            #expect(simulator.requests().map { $0.parameters.map(\.value) } == [[value], [value]])
        }
    }

    @Test("a request behind one that is answered slowly is answered when that is over")
    func behindSlow() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let wire = try await Wire.connect(to: simulator.port)
            simulator.add(.init(.slow(bytes: 200, milliseconds: 20), path: "me", count: 1))
            try await wire.send(
                Wire.request("GET", "/me?fields=id&access_token=\(token)")
                    + Wire.request("GET", "/unknown", headers: ["Connection: close"])
            )
            let replies = [try await wire.reply(), try await wire.reply()]
            #expect(replies.map(\.status) == [200, 400])
            #expect(replies[0].text == #"{"id":"123"}"#)
            try await wire.until { $0.end == .closed }
            #expect(simulator.requests().map(\.status) == [200, 400])
        }
    }

    @Test("a wish for HTTP/2 is not granted; the reply comes, and says that the connection ends")
    func upgrade() async throws {
        try await SampleWorld.run { simulator in
            let wire = try await Wire.connect(to: simulator.port)
            let headers = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAA"]
            try await wire.send(Wire.request("GET", "/me", headers: headers))
            let reply = try await wire.reply()
            #expect(reply.status == 400)
            #expect(reply.header("Connection") == "close")
            try await wire.until { $0.end == .closed }
        }
    }

    @Test("HEAD has the headers of GET and no body; Expect is answered; broken HTTP is 400 and the end")
    func edges() async throws {
        try await SampleWorld.run { simulator in
            let head = try await Wire.connect(to: simulator.port)
            try await head.send(Wire.request("HEAD", "/me", headers: ["Connection: close"]))
            try await head.until { $0.end == .closed }
            #expect(head.text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            #expect(head.text.hasSuffix("\r\n\r\n"))

            let expecting = try await Wire.connect(to: simulator.port)
            try await expecting.send(
                Wire.request("POST", "/me", headers: ["Expect: 100-continue", "Content-Length: 10"])
            )
            try await expecting.until { $0.text == "HTTP/1.1 100 Continue\r\n\r\n" }
            try await expecting.send("method=get")
            try await expecting.until { $0.text.contains("An active access token") }
            await expecting.close()

            let broken = try await Wire.connect(to: simulator.port)
            try await broken.send("this is not HTTP\r\n\r\n")
            try await broken.until { $0.end == .closed }
            #expect(broken.text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))

            let large = try await Wire.connect(to: simulator.port)
            try await large.send(Wire.request("POST", "/me", headers: ["Content-Length: 2000000"]))
            try? await large.send(String(repeating: "x", count: 1_100_000))
            try await large.until { $0.text.hasPrefix("HTTP/1.1 413") || $0.end != nil }
        }
    }
}

/// A decoder of gzip that checks what a client would receive.
enum Inflate {
    static func all(_ bytes: [UInt8], limit: Int = 1 << 20) -> [UInt8] {
        var output: [UInt8] = []
        _ = size(bytes, limit: limit) { output.append(contentsOf: $0) }
        return output
    }

    /// Returns the decoded size; `nil` when the data is damaged or its checksum wrong.
    static func size(
        _ bytes: [UInt8],
        limit: Int = .max,
        _ take: (UnsafeBufferPointer<UInt8>) -> Void = { _ in }
    ) -> Int? {
        var stream = z_stream()
        guard inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            return nil
        }
        defer { inflateEnd(&stream) }
        var input = bytes
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        var total = 0
        return input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = uInt(input.count)
            while total < limit {
                let result = chunk.withUnsafeMutableBufferPointer { chunk in
                    stream.next_out = chunk.baseAddress
                    stream.avail_out = uInt(chunk.count)
                    let result = inflate(&stream, Z_NO_FLUSH)
                    let produced = chunk.count - Int(stream.avail_out)
                    total += produced
                    take(UnsafeBufferPointer(rebasing: chunk[..<produced]))
                    return result
                }
                if result == Z_STREAM_END { return total }
                if result != Z_OK { return nil }
            }
            return nil
        }
    }
}
