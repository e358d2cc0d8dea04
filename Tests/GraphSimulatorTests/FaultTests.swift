import GraphSimulator
import Testing

@Suite("faults reach the wire")
struct FaultTests {
    private static func target(_ simulator: GraphSimulator) throws -> String {
        "/me?fields=id,name&access_token=\(try simulator.mint(.long, person: "bob").text)"
    }

    /// Adds a fault, sends one request and runs a closure with the connection.
    private func strike(
        _ effect: GraphSimulator.Fault.Effect,
        _ body: (GraphSimulator, Wire) async throws -> Void
    ) async throws {
        try await SampleWorld.run { simulator in
            simulator.add(.init(effect))
            let target = try Self.target(simulator)
            let wire = try await Wire.connect(to: simulator.port)
            // A connection that is reset at once may end before the request is sent.
            try? await wire.send(Wire.request("GET", target))
            try await body(simulator, wire)
            await wire.close()
        }
    }

    @Test("a delay delays, and is over when the fault is")
    func delay() async throws {
        // The clock starts before the request: a test that resumes late must not measure too short a delay.
        let before = ContinuousClock.now
        try await strike(.delay(milliseconds: 80)) { simulator, wire in
            #expect(try await wire.reply().status == 200)
            #expect(ContinuousClock.now - before >= .milliseconds(60))
            simulator.removeFaults()
            try await wire.send(Wire.request("GET", "/me"))
            #expect(try await wire.reply().status == 400)
        }
    }

    @Test(
        "hangs: nothing more comes at that moment and the connection stays",
        arguments: GraphSimulator.Fault.Moment.allCases
    )
    func hang(_ moment: GraphSimulator.Fault.Moment) async throws {
        try await strike(.interrupt(moment, .hang)) { simulator, wire in
            switch moment {
            case .accept, .firstBytes, .request: break
            case .headers: try await wire.until { $0.text.hasSuffix("\r\n\r\n") }
            case .body: try await wire.until { $0.text.contains("\r\n\r\n{") }
            }
            try await Task.sleep(for: .milliseconds(60))
            #expect(wire.end == nil)
            switch moment {
            case .accept, .firstBytes, .request: #expect(wire.received == 0)
            case .headers: #expect(wire.text.hasSuffix("\r\n\r\n"))
            case .body: #expect(!wire.text.hasSuffix("}"))
            }
            #expect(simulator.counters.openConnections == 1)
            await wire.close()
            try await wire.until { _ in simulator.counters.openConnections == 0 }
        }
    }

    @Test("resets arrive as RST", arguments: GraphSimulator.Fault.Moment.allCases)
    func reset(_ moment: GraphSimulator.Fault.Moment) async throws {
        try await strike(.interrupt(moment, .reset)) { simulator, wire in
            try await wire.until { $0.end != nil }
            #expect(wire.end == .reset)
            let requests = moment == .accept || moment == .firstBytes ? 0 : 1
            #expect(simulator.requests().count == requests)
            if requests == 1 { #expect(simulator.requests().first?.outcome == .interrupted) }
        }
    }

    @Test(
        "an early end arrives as FIN with part of the reply missing",
        arguments: [GraphSimulator.Fault.Moment.request, .headers, .body]
    )
    func close(_ moment: GraphSimulator.Fault.Moment) async throws {
        try await strike(.interrupt(moment, .close)) { _, wire in
            try await wire.until { $0.end != nil }
            #expect(wire.end == .closed)
            switch moment {
            case .headers: #expect(wire.text.hasSuffix("\r\n\r\n"))
            case .body: #expect(wire.text.contains("Content-Length: ") && !wire.text.hasSuffix("}"))
            default: #expect(wire.received == 0)
            }
        }
    }

    /// The effect, and the status, body ("…" replaces Bob's id) and required header of the response.
    static let replies: [(GraphSimulator.Fault.Effect, Int, String, (String, String)?)] = [
        (.empty, 200, "", nil),
        (.bareFalse, 200, "false", nil),
        (.redirect(to: "http://169.254.169.254/"), 302, "", ("Location", "http://169.254.169.254/")),
        (.damage(.dataNull), 200, #"{"data":null}"#, nil),
        (.damage(.wrongTypes), 200, #"{"id":1…,"name":10}"#, nil),
        (
            .damage(.duplicateKeys), 200,
            #"{"id":"1…","id":"1…0","name":"Bob \u6771\u4eac","name":"Bob \u6771\u4eac0"}"#, nil
        ),
        (.damage(.idMissing), 200, #"{"name":"Bob \u6771\u4eac"}"#, nil),
        (.damage(.extraKeys(2)), 200, #"{"extra_0":0,"extra_1":1,"id":"1…","name":"Bob \u6771\u4eac"}"#, nil),
        (.damage(.deep(3)), 200, #"{"deep":[[[]]],"id":"1…","name":"Bob \u6771\u4eac"}"#, nil),
        (.meAnswers(userID: "999"), 200, #"{"id":"999","name":"Bob \u6771\u4eac"}"#, nil),
        (
            .error(.init(code: 2)), 503,
            #"{"error":{"message":"(#2) Service temporarily unavailable","type":"OAuthException","code":2,"is_transient":true,"fbtrace_id":"A…"}}"#,
            nil
        ),
        (
            .error(.init(code: 1)), 500,
            #"{"error":{"message":"An unknown error has occurred.","type":"OAuthException","code":1,"fbtrace_id":"A…"}}"#,
            nil
        ),
        (
            .error(
                .init(code: 368, subcode: 7, message: "m", status: 403, type: "X", userTitle: "t", userMessage: "u")
            ), 403,
            #"{"error":{"message":"m","type":"X","code":368,"error_subcode":7,"error_user_title":"t","error_user_msg":"u","fbtrace_id":"A…"}}"#,
            ("WWW-Authenticate", #"OAuth "Facebook Platform" "insufficient_scope" "m""#)
        ),
        (
            .rateLimit(
                code: 4,
                usage: .init(callCount: 101, totalTime: 5, totalCPUTime: 6),
                status: nil,
                retryAfter: nil
            ), 400,
            #"{"error":{"message":"(#4) Application request limit reached","type":"OAuthException","code":4,"fbtrace_id":"A…"}}"#,
            ("x-app-usage", #"{"call_count":101,"total_time":5,"total_cputime":6}"#)
        ),
        (
            .rateLimit(code: 613, usage: .init(), status: 429, retryAfter: 30), 429,
            #"{"error":{"message":"(#613) Calls to this api have exceeded the rate limit.","type":"OAuthException","code":613,"fbtrace_id":"A…"}}"#,
            ("Retry-After", "30")
        ),
        (
            .rateLimit(code: 80001, usage: .init(), status: nil, retryAfter: nil), 400,
            #"{"error":{"message":"(#80001) There have been too many calls. Wait a bit and try again.","type":"OAuthException","code":80001,"error_subcode":2446079,"fbtrace_id":"A…"}}"#,
            nil
        ),
        (.json(["x": 1], status: 418), 418, #"{"x":1}"#, ("Content-Type", "application/json; charset=UTF-8")),
    ]

    @Test("replies in place of Graph's", arguments: replies.indices)
    func reply(_ index: Int) async throws {
        let (effect, status, body, header) = Self.replies[index]
        try await strike(effect) { simulator, wire in
            let id = try #require(simulator.person("bob")).id(for: SampleWorld.app)
            let reply = try await wire.reply()
            #expect(reply.status == status)
            let expected = body.replacing("1…", with: id)
            #expect(reply.text.withoutTrace == expected)
            if let (name, value) = header { #expect(reply.header(name) == value) }
            #expect(simulator.requests().first?.status == status)
        }
    }

    @Test("HTML in place of JSON, and half a reply with a length that agrees")
    func text() async throws {
        try await strike(.html502) { _, wire in
            let reply = try await wire.reply()
            #expect(reply.status == 502)
            #expect(reply.header("Content-Type") == "text/html; charset=utf-8")
            #expect(reply.text.hasPrefix("<!DOCTYPE html>"))
        }
        try await strike(.damage(.truncated)) { _, wire in
            let reply = try await wire.reply()
            #expect(reply.status == 200)
            #expect(reply.text.hasPrefix(#"{"id":"#) && !reply.text.hasSuffix("}"))
        }
    }

    @Test("debug_token can be made to say anything, with status 200")
    func debugToken() async throws {
        try await SampleWorld.run { simulator in
            simulator.add(
                .init(.debugTokenSays(["app_id": "3456", "type": "PAGE", "user_id": nil]), path: "debug_token")
            )
            let token = try simulator.mint(.short, person: "ann", scopes: ["email"]).text
            let reply = try await Wire.get(
                simulator,
                "/debug_token?input_token=\(token)&access_token=\(SampleWorld.encodedAppToken)"
            )
            #expect(
                reply.text
                    == #"{"data":{"app_id":"3456","type":"PAGE","application":"oauth2-rs-f-b-web-app-demo","data_access_expires_at":1676525403,"expires_at":1668754800,"is_valid":true,"scopes":["email","public_profile"]}}"#
            )
            simulator.removeFaults()
            simulator.add(.init(.damage(.extraKeys(1)), path: "debug_token"))
            let extra = try await Wire.get(
                simulator,
                "/debug_token?input_token=\(token)&access_token=\(SampleWorld.encodedAppToken)"
            )
            #expect(extra.text.hasPrefix(#"{"data":{"extra_0":0,"app_id":"#))
        }
    }

    @Test("raw bytes go out as they are, and the connection ends")
    func raw() async throws {
        try await strike(.raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n\u{0}".utf8))) {
            _,
            wire in
            try await wire.until { $0.end == .closed }
            #expect(wire.text == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n\u{0}")
        }
    }

    @Test("a slow reply comes in pieces and complete")
    func slow() async throws {
        let before = ContinuousClock.now
        try await strike(.slow(bytes: 200, milliseconds: 60)) { simulator, wire in
            let reply = try await wire.reply()
            #expect(reply.text.hasSuffix("}"))
            // The response has more than 600 bytes: at least two pauses.
            #expect(ContinuousClock.now - before >= .milliseconds(100))
            try await wire.until { _ in simulator.requests().first?.status == 200 }
        }
    }

    @Test("a huge reply has the announced length and holds no memory to speak of")
    func huge() async throws {
        try await strike(.huge(bytes: 20_000_000)) { simulator, wire in
            try await wire.until { _ in simulator.requests().first?.status == 200 }
            try await wire.until { $0.received > 20_000_000 }
            #expect(wire.text.contains("Content-Length: 20054030"))
            #expect(wire.text.contains(#"{"padding":"000"#))
        }
    }

    @Test("endless chunks end when the client has enough")
    func endless() async throws {
        try await strike(.endless) { simulator, wire in
            try await wire.until { $0.received > 5_000_000 }
            #expect(wire.text.contains("\r\ntransfer-encoding: chunked\r\n"))
            #expect(wire.text.contains("\r\nc\r\n{\"padding\":\"\r\n10000\r\n000"))
            await wire.close()
            try await wire.until { _ in simulator.counters.openConnections == 0 }
            #expect(simulator.requests().first?.outcome == .abandoned)
        }
    }

    @Test("a gzip bomb is small, valid, and large inside")
    func gzipBomb() async throws {
        try await strike(.gzipBomb(bytes: 50_000_000)) { _, wire in
            let reply = try await wire.reply()
            #expect(reply.header("Content-Encoding") == "gzip")
            #expect(reply.body.count < 500_000)
            #expect(Inflate.size(reply.body) == 48 * (1 << 20) + 14)
        }
    }

    @Test("a million levels of JSON and a hundred thousand keys are sent")
    func large() async throws {
        try await strike(.damage(.deep(1_000_000))) { _, wire in
            let reply = try await wire.reply()
            #expect(reply.body.count > 2_000_000)
        }
        try await strike(.damage(.extraKeys(100_000))) { _, wire in
            let reply = try await wire.reply()
            #expect(reply.text.contains(#""extra_99999":99999"#))
        }
    }

    @Test("conditions: path, app, token, count; the first that applies decides, delays add up")
    func conditions() async throws {
        try await SampleWorld.run { simulator in
            let ann = try simulator.mint(.long, person: "ann").text
            let other = try simulator.mint(.long, person: "ann", app: SampleWorld.otherApp).text
            func status(_ path: String, _ token: String) async throws -> Int {
                try await Wire.get(simulator, "\(path)?access_token=\(token)").status
            }
            let first = simulator.add(.init(.delay(milliseconds: 1), path: "me"))
            simulator.add(.init(.json(1, status: 201), path: "me", app: SampleWorld.otherApp, count: 1))
            let permissions = simulator.add(.init(.json(1, status: 202), path: "me/permissions"))
            simulator.add(.init(.json(1, status: 203), token: ann))

            #expect(try await status("/v25.0/me", other) == 201)
            #expect(try await status("/me", other) == 200)
            #expect(try await status("/me/permissions", other) == 202)
            #expect(try await status("/me", ann) == 203)
            #expect(try await status("/app", other) == 200)
            #expect(simulator.hits(ofFault: first) == 4)
            #expect(simulator.requests()[2].faults == [first, permissions])
            simulator.remove(fault: permissions)
            #expect(try await status("/me/permissions", other) == 200)
        }
    }

    @Test("1000 requests wait for the same delay together")
    func scale() async throws {
        try await SampleWorld.run { simulator in
            simulator.add(.init(.delay(milliseconds: 300)))
            let target = try Self.target(simulator)
            let before = ContinuousClock.now
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<1000 {
                    group.addTask { try await Wire.get(simulator, target).status }
                }
                for try await status in group { #expect(status == 200) }
            }
            // Sequential requests take at least this long, however busy the machine is.
            #expect(ContinuousClock.now - before < .milliseconds(300) * 1000)
            #expect(simulator.counters.requests == 1000)
            #expect(simulator.counters.connections == 1000)
        }
    }

    @Test("closed connections: the next request opens a new one")
    func closeConnections() async throws {
        try await SampleWorld.run { simulator in
            let wire = try await Wire.connect(to: simulator.port)
            try await wire.send(Wire.request("GET", "/me"))
            _ = try await wire.reply()
            simulator.closeConnections()
            try await wire.until { $0.end != nil }
            #expect(try await Wire.get(simulator, "/me").status == 400)
        }
    }
}
