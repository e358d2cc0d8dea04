import Crypto
import Curl
import Domain
import FoundationEssentials
import GraphSimulator
@testable import Messaging
import Testing

@Suite("Messages to the operator's gateway")
struct SMSGatewayTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let now: Int64 = 1_668_749_403
    private static let id = ObjectID(random: Array(repeating: 7, count: 16))

    private static func message(host: String? = "shop.example", locale: String? = nil) throws -> TextMessage {
        TextMessage(
            Secret("123456"),
            to: try PhoneNumber("+41791234567"),
            id: id,
            application: try #require(ApplicationID("demo")),
            name: "Demo",
            host: host,
            locale: locale
        )
    }

    private static func gateway(
        _ url: String,
        secret: String = secret,
        call: Duration = .seconds(20),
        clock: Int64 = now
    ) throws -> SMSGateway {
        SMSGateway(
            url: try HTTPURL(url),
            secret: try #require(SigningSecret(secret)),
            client: try CurlClient(configuration: CurlConfiguration()),
            limits: SMSLimits(call: call, connect: .seconds(10)),
            clock: WallClock { clock * 1000 + 999 }
        )
    }

    /// Runs a closure with a simulated gateway that verifies requests, and a client of it with these limits.
    private func run(
        call: Duration = .seconds(20),
        path: String = "/sms",
        secret: String = Self.secret,
        clock: Int64 = Self.now,
        _ body: (GraphSimulator, SMSGateway) async throws -> Void
    ) async throws {
        let dataset = GraphSimulator.Dataset(smsSecret: Self.secret)
        let simulator = try await GraphSimulator.start(dataset, clock: { Int(Self.now) })
        let gateway = try Self.gateway(simulator.url + path, secret: secret, call: call, clock: clock)
        do {
            try await body(simulator, gateway)
            await simulator.stop()
        } catch {
            await simulator.stop()
            throw error
        }
    }

    @Test("a link goes in place of a code")
    func link() async throws {
        try await run { simulator, gateway in
            let message = TextMessage(
                invitingBy: Secret("https://users.example.com/x"),
                to: try PhoneNumber("+41791234567"),
                id: Self.id,
                application: try #require(ApplicationID("demo")),
                name: "Demo",
                locale: nil
            )
            let outcome = await gateway.send(message)
            #expect(outcome == .taken)
            #expect(simulator.messages.map(\.link) == ["https://users.example.com/x"])
            #expect(simulator.messages.map(\.code) == [nil])
        }
    }

    @Test("a gateway that checks signatures takes a message, with all that a vendor may want")
    func taken() async throws {
        try await run { simulator, gateway in
            #expect(try await gateway.send(Self.message()) == .taken)
            let message = try #require(simulator.messages.first)
            #expect(simulator.messages.count == 1)
            #expect(message.id == Self.id.description && message.application == "demo" && message.language == "en")
            #expect(message.to == "+41791234567" && message.code == "123456" && message.time == Int(Self.now))
            #expect(
                message.text == "123456 is your code for Demo. Do not share it with anyone.\n\n@shop.example #123456"
            )
            let request = try #require(simulator.requests(path: "sms").first)
            #expect(request.method == "POST" && request.header("content-type") == "application/json")
            #expect(request.header("webhook-id") == Self.id.description)
            #expect(request.header("webhook-timestamp") == String(Self.now))
        }
    }

    @Test("the signature is that of Standard Webhooks' own example")
    func signature() throws {
        let secret = try #require(SigningSecret(Self.secret))
        let body = Array(#"{"test": 2432232314}"#.utf8)
        let signature = secret.signature(id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: body)
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test("a secret is whsec_ and the base64 of 24 to 64 bytes")
    func secrets() {
        func text(_ count: Int) -> String {
            "whsec_" + Data(repeating: 1, count: count).base64EncodedString()
        }
        for count in [24, 25, 32, 64] { #expect(SigningSecret(text(count)) != nil, "\(count)") }
        let wrong = ["", "whsec_", text(23), text(65), String(text(24).dropFirst(6)), "whsk_" + text(24).dropFirst(6)]
        for text in wrong + [text(24) + "\n", text(25).replacing("=", with: ""), "WHSEC_" + text(24).dropFirst(6)] {
            #expect(SigningSecret(text) == nil, "\(text)")
        }
    }

    @Test("a gateway that knows another secret, or another time, refuses")
    func unauthorized() async throws {
        try await run(secret: "whsec_" + Data(repeating: 1, count: 24).base64EncodedString()) { simulator, gateway in
            let sent = try await gateway.send(Self.message())
            #expect(sent == .refused(problem: "the SMS gateway answered 401"))
            #expect(simulator.messages == [])
        }
        try await run(clock: Self.now - 301) { _, gateway in
            let sent = try await gateway.send(Self.message())
            #expect(sent == .refused(problem: "the SMS gateway answered 401"))
        }
    }

    @Test(
        "what a gateway answers is taken, refused for good, or no answer",
        arguments: [
            (200, "taken"), (202, "taken"), (204, "taken"), (299, "taken"), (400, "refused"), (404, "refused"),
            (429, "unreachable"), (499, "refused"), (301, "unreachable"), (302, "unreachable"), (307, "unreachable"),
            (500, "unreachable"), (503, "unreachable"), (600, "unreachable"),
        ]
    )
    func statuses(status: Int, outcome: String) async throws {
        try await run { simulator, gateway in
            // The target of the redirect would accept the message.
            let fault = GraphSimulator.Fault.Effect.reply(
                status: status,
                headers: [("Location", simulator.url + "/sms")],
                body: Array(#"{"to":"+41791234567"}"#.utf8)
            )
            simulator.add(.init(fault, path: "sms", count: 1))
            let sent = try await gateway.send(Self.message())
            #expect("\(sent)".hasPrefix(outcome))
            #expect(!"\(sent)".contains("7912345") && !"\(sent)".contains("123456"))
            #expect(simulator.messages == [] && simulator.requests().count == 1)
        }
    }

    @Test("a gateway that breaks off, is silent, or never ends has not taken the message; it is asked once")
    func failures() async throws {
        let effects: [GraphSimulator.Fault.Effect] = [
            .interrupt(.request, .reset), .interrupt(.request, .close), .interrupt(.request, .hang),
            .interrupt(.headers, .hang), .endless, .raw(Array("no HTTP".utf8)),
        ]
        for effect in effects {
            try await run(call: .seconds(1)) { simulator, gateway in
                simulator.add(.init(effect, path: "sms", count: 1))
                let start = ContinuousClock.now
                let sent = try await gateway.send(Self.message())
                guard case .unreachable(let problem) = sent else {
                    Issue.record("\(effect): \(sent)")
                    return
                }
                #expect(problem.hasPrefix("the SMS gateway gave no answer: "))
                #expect(!problem.contains("7912345") && !problem.contains("123456"))
                #expect(simulator.requests().count == 1, "\(effect)")
                #expect(ContinuousClock.now - start < .seconds(10))
            }
        }
    }

    @Test("of an answer 64 KiB are read at most, and no message goes over a connection that may have gone stale")
    func bounds() async throws {
        try await run { simulator, gateway in
            for bytes in [65_536, 65_537] {
                let body = [UInt8](repeating: 0x20, count: bytes)
                simulator.add(.init(.reply(status: 200, headers: [], body: body), path: "sms", count: 1))
                let sent = try await gateway.send(Self.message())
                let tooLarge = "the SMS gateway gave no answer: reply too large"
                #expect(sent == (bytes == 65_536 ? .taken : .unreachable(problem: tooLarge)))
            }
            #expect(Set(simulator.requests().map(\.connection)).count == 2)
        }
    }

    @Test("a gateway that is not there is unreachable")
    func absent() async throws {
        let simulator = try await GraphSimulator.start(GraphSimulator.Dataset())
        await simulator.stop()
        let sent = try await Self.gateway(simulator.url).send(Self.message())
        guard case .unreachable = sent else {
            Issue.record("\(sent)")
            return
        }
    }

    @Test("nothing that is printed has a number, a code or the path of the gateway")
    func printed() async throws {
        let message = try Self.message()
        #expect(!"\(message)".contains("7912") && !"\(message)".contains("123456"))
        #expect(!String(reflecting: message).contains("7912") && !String(reflecting: message).contains("123456"))
        try await run(path: "/sms?key=hidden") { _, gateway in
            #expect("\(gateway)".hasPrefix("http://127.0.0.1:") && !"\(gateway)".contains("hidden"))
        }
    }
}
