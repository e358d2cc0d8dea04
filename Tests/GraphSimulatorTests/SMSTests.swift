import Crypto
import FoundationEssentials
import GraphSimulator
import Testing

@Suite("The SMS gateway and its inbox")
struct SMSTests {
    /// The secret in the tests of Standard Webhooks: 24 bytes.
    private static let secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    /// A signed request with parts that a test can make wrong.
    private struct Call {
        var method = "POST"
        var id = "msg_1"
        var timestamp = String(SampleWorld.now)
        var body = message("msg_1")
        var secret = SMSTests.secret
        var form: @Sendable (String) -> String = { "v1,\($0)" }
        var signedBody: String?
        var without: String?

        func status(from simulator: GraphSimulator) async throws -> Int { try await send(to: simulator).status }

        func send(to simulator: GraphSimulator) async throws -> Wire.Reply {
            let signed = "\(id).\(timestamp).\(signedBody ?? body)"
            let key = SymmetricKey(data: try #require(Data(base64Encoded: secret)))
            let code = Data(HMAC<SHA256>.authenticationCode(for: Array(signed.utf8), using: key))
            let headers = [
                "Content-Type: application/json", "webhook-id: \(id)", "webhook-timestamp: \(timestamp)",
                "webhook-signature: \(form(code.base64EncodedString()))", "Content-Length: \(body.utf8.count)",
            ].filter { line in without.map { !line.hasPrefix($0 + ":") } ?? true }
            let wire = try await Wire.connect(to: simulator.port)
            try await wire.send(Wire.request(method, "/sms", headers: headers) + body)
            let reply = try await wire.reply()
            await wire.close()
            return reply
        }
    }

    private static func message(_ id: String, to: String = "+41791234567") -> String {
        #"{"id":"\#(id)","application":"demo","to":"\#(to)","text":"123456 is your code","code":"123456"}"#
    }

    private func run(_ body: (GraphSimulator) async throws -> Void) async throws {
        try await SampleWorld.run(GraphSimulator.Dataset(smsSecret: "whsec_" + Self.secret), body)
    }

    @Test("the signature of Standard Webhooks' own example is good, and the message lies in the inbox")
    func example() async throws {
        let dataset = GraphSimulator.Dataset(smsSecret: "whsec_" + Self.secret)
        try await SampleWorld.run(dataset, clock: { 1_614_265_330 }) { simulator in
            // The body of that example is no message, so the signature is accepted and the body refused.
            let wire = try await Wire.connect(to: simulator.port)
            let headers = [
                "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp: 1614265330", "Content-Length: 20",
                "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ]
            try await wire.send(Wire.request("POST", "/sms", headers: headers) + #"{"test": 2432232314}"#)
            #expect(try await wire.reply().status == 400)
            await wire.close()
        }
        try await run { simulator in
            let reply = try await Call().send(to: simulator)
            #expect(reply.status == 202)
            #expect(reply.header("x-fb-trace-id") == nil)
            let message = try #require(simulator.messages.first)
            #expect(message.to == "+41791234567" && message.code == "123456" && message.time == SampleWorld.now)
            #expect(simulator.messages.count == 1)
            simulator.removeMessages()
            #expect(simulator.messages == [])
        }
    }

    @Test("each part of a signature counts")
    func signatures() async throws {
        try await run { simulator in
            let cases: [(String, Int, (inout Call) -> Void)] = [
                ("as it should be", 202, { _ in }),
                ("another secret", 401, { $0.secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx" }),
                ("another body", 401, { $0.signedBody = SMSTests.message("msg_1", to: "+41791234568") }),
                ("another version", 401, { $0.form = { "v1a,\($0)" } }), ("no version", 401, { $0.form = { $0 } }),
                ("no signature", 401, { $0.form = { _ in "v1," } }),
                ("half of it", 401, { $0.form = { "v1,\($0.prefix(20))" } }),
                ("one of several", 202, { $0.form = { "v1,AAAA v2,\($0) v1,\($0)" } }),
                ("an id with a dot", 401, { $0.id = "msg.1" }), ("an empty id", 401, { $0.id = "" }),
                ("no id", 401, { $0.without = "webhook-id" }), ("no time", 401, { $0.without = "webhook-timestamp" }),
                ("nothing", 401, { $0.without = "webhook-signature" }), ("no number", 401, { $0.timestamp = "now" }),
                ("five minutes old", 202, { $0.timestamp = String(SampleWorld.now - 300) }),
                ("older", 401, { $0.timestamp = String(SampleWorld.now - 301) }),
                ("five minutes early", 202, { $0.timestamp = String(SampleWorld.now + 300) }),
                ("earlier", 401, { $0.timestamp = String(SampleWorld.now + 301) }),
                ("milliseconds", 401, { $0.timestamp = String(SampleWorld.now * 1000) }),
                ("another method", 405, { $0.method = "PUT" }),
            ]
            for (name, status, change) in cases {
                simulator.removeMessages()
                var call = Call()
                change(&call)
                let answered = try await call.status(from: simulator)
                #expect(answered == status, "\(name)")
                #expect(simulator.messages.count == (status == 202 ? 1 : 0), "\(name)")
            }
        }
        try await SampleWorld.run(GraphSimulator.Dataset()) { simulator in
            let answered = try await Call().status(from: simulator)
            #expect(answered == 401, "no secret")
        }
    }

    @Test(
        "what is no message is refused, signed or not",
        arguments: [
            "", "[]", "{}", message("msg_2"), message("msg_1", to: "0041791234567"),
            message("msg_1", to: "+0791234567"),
            message("msg_1", to: "+417912"), message("msg_1", to: "+4179 123 45 67"),
            message("msg_1", to: "+4179123456789012"),
            message("msg_1").replacing("}", with: #","price":1}"#), message("msg_1").replacing("123456", with: ""),
            message("msg_1").replacing("application", with: "app"),
        ]
    )
    func messages(body: String) async throws {
        try await run { simulator in
            let answered = try await Call(body: body).status(from: simulator)
            #expect(answered == 400)
            #expect(simulator.messages == [])
        }
    }

    @Test("a message that comes again is sent once, and of many the latest are kept")
    func bounds() async throws {
        try await run { simulator in
            for _ in 0..<2 {
                let answered = try await Call().status(from: simulator)
                #expect(answered == 202)
            }
            #expect(simulator.messages.count == 1)
            for number in 2...1001 {
                let id = "msg_\(number)"
                let answered = try await Call(id: id, body: Self.message(id)).status(from: simulator)
                #expect(answered == 202)
            }
            #expect(simulator.messages.count == 1000)
            #expect(simulator.messages.first?.id == "msg_2" && simulator.messages.last?.id == "msg_1001")
            try simulator.reset()
            #expect(simulator.messages == [])
        }
    }

    @Test("faults strike it: what comes first leaves nothing in the inbox, what spoils the answer does")
    func faults() async throws {
        try await run { simulator in
            for status in [400, 500] {
                simulator.add(.init(.reply(status: status, headers: [], body: []), path: "sms", count: 1))
                let answered = try await Call().status(from: simulator)
                #expect(answered == status)
                #expect(simulator.messages == [])
            }
            simulator.add(.init(.interrupt(.request, .hang), path: "sms", count: 1))
            let hung = Task { try await Call().send(to: simulator) }
            #expect(await isInterrupted(request: 3, at: simulator))
            #expect(simulator.messages == [])
            simulator.closeConnections()
            _ = await hung.result
            simulator.add(.init(.interrupt(.headers, .close), path: "sms", count: 1))
            _ = try? await Call().send(to: simulator)
            #expect(simulator.messages.count == 1)
        }
    }

    /// Waits until the simulator has interrupted a request: the log has the request a moment earlier.
    private func isInterrupted(request number: Int, at simulator: GraphSimulator) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            let requests = simulator.requests(path: "sms")
            if requests.count >= number, requests[number - 1].outcome == .interrupted { return true }
            try? await Task.sleep(for: .milliseconds(2))
        }
        return false
    }

    @Test("a data file brings the secret, and the control port shows and empties the inbox")
    func control() async throws {
        let data = #"{"sms":{"secret":"whsec_\#(Self.secret)"}}"#
        let simulator = try await GraphSimulator.start(
            GraphSimulator.Dataset(json: data.utf8),
            controlAddress: GraphSimulator.Address(),
            clock: { SampleWorld.now }
        )
        let control = Control(port: try #require(simulator.controlAddress).port)
        let answered = try await Call().status(from: simulator)
        #expect(answered == 202)
        let shown =
            #"[{"id":"msg_1","application":"demo","to":"+41791234567","text":"123456 is your code","code":"123456","link":null,"language":null,"time":1668749403}]"#
        #expect(try await control.send("GET", "/sms").text == shown + "\n")
        #expect(try await control.send("DELETE", "/sms").status == 200)
        #expect(try await control.send("GET", "/sms").text == "[]\n")
        #expect(try await control.send("POST", "/sms").status == 404)
        await simulator.stop()
        let wrong = [
            #"{"sms":{}}"#, #"{"sms":{"secret":"secret"}}"#, #"{"sms":{"secret":"whsec_c2hvcnQ="}}"#,
            data.replacing("}}", with: #","x":1}}"#), #"{"sms":[]}"#,
        ]
        for text in wrong {
            await #expect(throws: GraphSimulator.DataError.self, "\(text)") {
                let started = try await GraphSimulator.start(GraphSimulator.Dataset(json: text.utf8))
                await started.stop()
            }
        }
    }
}
