import Crypto
import FoundationEssentials
import GraphSimulator
import Testing

@Suite("Twitter, as it looks from outside")
struct TwitterTests {
    private static let dataset = GraphSimulator.Dataset(
        twitter: .init(
            consumers: [
                .init(key: "key", secret: "se&cret"),
                .init(key: "other", secret: "s", callbacks: ["https://app.example/back"]),
            ],
            people: [.init("ann", id: "123", fields: ["name": "Ann", "email": "a@example.com"])],
            tokens: [.init(name: "ann"), .init(consumer: "other", name: "foreign")]
        )
    )

    /// A request with parts that a test can make wrong, signed by hand for these parameters in their sorted order.
    private struct Call {
        var method = "GET"
        var path = "/1.1/account/verify_credentials.json"
        var query = "include_email=true"
        var form = ""
        var consumer = ("key", "se%26cret")
        var token: GraphSimulator.TwitterToken?
        var nonce = "n1"
        var timestamp = SampleWorld.now
        var host = "graph.facebook.com"
        var version = "1.0"
        var signedQuery: String?

        func send(to simulator: GraphSimulator) async throws -> Wire.Reply {
            var header = [
                ("oauth_consumer_key", consumer.0), ("oauth_nonce", nonce), ("oauth_signature_method", "HMAC-SHA1"),
                ("oauth_timestamp", String(timestamp)),
            ]
            if let token { header.append(("oauth_token", token.text)) }
            header.append(("oauth_version", version))
            let pairs = [signedQuery ?? query, form].filter { !$0.isEmpty }
            let parameters = (pairs + header.map { "\($0.0)=\($0.1)" }).sorted().joined(separator: "&")
            let base = [method, "http://\(host)\(path)", parameters].map(Self.encoded).joined(separator: "&")
            let key = "\(consumer.1)&\(token?.secret ?? "")"
            let code = HMAC<Insecure.SHA1>.authenticationCode(
                for: Array(base.utf8),
                using: SymmetricKey(data: Array(key.utf8))
            )
            let signature = Wire.encoded(Data(code).base64EncodedString())
            let line =
                "Authorization: OAuth "
                + (header + [("oauth_signature", signature)]).map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ", ")
            let wire = try await Wire.connect(to: simulator.port)
            let type = ["Content-Type: application/x-www-form-urlencoded", "Content-Length: \(form.utf8.count)"]
            let target = query.isEmpty ? path : "\(path)?\(query)"
            try await wire.send(Wire.request(method, target, headers: [line] + (form.isEmpty ? [] : type)) + form)
            let reply = try await wire.reply()
            await wire.close()
            return reply
        }

        private static func encoded(_ text: String) -> String {
            ["-", ".", "_", "~"].reduce(Wire.encoded(text)) { text, character in
                text.replacing(Wire.encoded(character), with: character)
            }
        }
    }

    private func run(_ body: (GraphSimulator, Call) async throws -> Void) async throws {
        try await SampleWorld.run(Self.dataset) { simulator in
            try await body(simulator, Call(token: simulator.twitterToken("ann")))
        }
    }

    private func code(_ reply: Wire.Reply) throws -> Int? {
        try GraphSimulator.JSON(parsing: reply.body)["errors"]?.array?.first?["code"]?.integer
    }

    @Test("the person behind a token, without a trace of Graph")
    func person() async throws {
        try await run { simulator, call in
            let reply = try await call.send(to: simulator)
            #expect(reply.status == 200)
            let user = try GraphSimulator.JSON(parsing: reply.body)
            #expect(user["id"] == 123)
            #expect(user["id_str"] == "123")
            #expect(user["email"] == "a@example.com")
            #expect(user["status"] != nil)
            #expect(reply.header("x-fb-trace-id") == nil)
            #expect(reply.header("facebook-api-version") == nil)
        }
    }

    @Test("each part of a signature counts")
    func signatures() async throws {
        try await run { simulator, good in
            let foreign = simulator.twitterToken("foreign")
            let cases: [(String, (inout Call) -> Void)] = [
                ("200 0", { _ in }), ("401 32", { $0.nonce = "n0" }), ("401 32", { $0.consumer.0 = "unknown" }),
                ("401 32", { $0.consumer.1 = "secret" }), ("401 89", { $0.consumer = ("other", "s") }),
                ("401 32", { $0.signedQuery = "include_email=false" }), ("401 32", { $0.host = "api.twitter.com" }),
                ("400 215", { $0.version = "2.0" }), ("400 215", { $0.token = nil }),
                ("200 0", { $0.timestamp -= 300 }), ("401 135", { $0.timestamp -= 301 }),
                ("401 135", { $0.timestamp += 301 }), ("401 89", { $0.token = foreign }),
            ]
            for (number, (answer, change)) in cases.enumerated() {
                var call = good
                call.nonce = "n\(number)"
                change(&call)
                let reply = try await call.send(to: simulator)
                let code = try code(reply) ?? 0
                #expect("\(reply.status) \(code)" == answer, "case \(number)")
            }
            simulator.revoke(twitterToken: "ann")
            var call = good
            call.nonce = "n"
            let revoked = try await call.send(to: simulator)
            #expect(try code(revoked) == 89)
        }
    }

    @Test("requests that are not signed")
    func unsigned() async throws {
        try await run { simulator, _ in
            for header in [[], ["Authorization: Bearer x"], ["Authorization: OAuth a=b"], ["Authorization: OAuth "]] {
                let reply = try await Wire.get(simulator, "/1.1/account/verify_credentials.json", headers: header)
                #expect(reply.status == 400)
                #expect(try code(reply) == 215)
            }
            #expect(try await Wire.get(simulator, "/1.1/statuses/update.json").status == 404)
        }
    }

    @Test("request tokens, for reverse auth and for a callback")
    func requestTokens() async throws {
        try await run { simulator, _ in
            var call = Call(method: "POST", path: "/oauth/request_token", query: "", form: "x_auth_mode=reverse_auth")
            let reverse = String(decoding: try await call.send(to: simulator).body, as: UTF8.self)
            #expect(reverse.hasPrefix("OAuth oauth_nonce="))
            call.form = "oauth_callback=https%3A%2F%2Fapp.example%2Fback"
            call.nonce = "n2"
            let plain = String(decoding: try await call.send(to: simulator).body, as: UTF8.self)
            #expect(plain.hasSuffix("&oauth_callback_confirmed=true"))
            call.consumer = ("other", "s")
            let approved = try await call.send(to: simulator)
            #expect(approved.status == 200)
            call.form = "oauth_callback=https%3A%2F%2Fevil.example%2F"
            call.nonce = "n3"
            let refused = try await call.send(to: simulator)
            #expect(try code(refused) == 415)
        }
    }

    @Test("faults strike here too, in Twitter's form, by consumer and by token")
    func faults() async throws {
        try await run { simulator, call in
            var call = call
            simulator.add(.init(.error(.init(code: 89)), app: "other"))
            let spared = try await call.send(to: simulator)
            #expect(spared.status == 200)
            simulator.add(.init(.error(.init(code: 89)), app: "key", count: 1))
            let struck = try await call.send(to: simulator)
            #expect(try code(struck) == 89)
            let limit = GraphSimulator.Fault.Effect.rateLimit(code: 4, usage: .init(), status: nil, retryAfter: nil)
            simulator.add(.init(limit, path: "1.1", token: call.token?.text, count: 1))
            let limited = try await call.send(to: simulator)
            #expect(limited.status == 429)
            #expect(try code(limited) == 88)
            #expect(limited.header("x-rate-limit-reset") == String(SampleWorld.now + 900))
            // A fault that replaces Twitter's response leaves the nonce unused.
            call.nonce = "n2"
            simulator.add(.init(.html502, count: 1))
            let (broken, good) = (try await call.send(to: simulator), try await call.send(to: simulator))
            #expect(broken.status == 502)
            #expect(good.status == 200)
        }
    }

    @Test("the control port shows and changes consumers, people and tokens")
    func control() async throws {
        try await Control.run { simulator, control in
            #expect(try await control.send("PUT", "/twitter/consumers/k", #"{"secret":"s"}"#).status == 200)
            #expect(try await control.send("PUT", "/twitter/people/ann", #"{"fields":{"name":"Ann"}}"#).status == 200)
            #expect(try await control.send("PATCH", "/twitter/people/ann", #"{"state":"locked"}"#).status == 200)
            let token = try await control.post("/twitter/tokens", #"{"name":"ann"}"#)
            #expect(token["token"]?.string == simulator.twitterToken("ann")?.text)
            #expect(try await control.send("PATCH", "/twitter/tokens/ann", #"{"revoked":true}"#).status == 200)
            #expect(simulator.twitterToken("ann")?.revoked == true)
            #expect(try await control.send("PATCH", "/twitter/people/ann", #"{"state":"gone"}"#).status == 400)
            #expect(try await control.send("POST", "/twitter/tokens", #"{"person":"eve"}"#).status == 400)
            #expect(try await control.send("GET", "/twitter/nothing").status == 404)
            #expect(try await control.send("DELETE", "/twitter/tokens/ann").status == 200)
            #expect(try await control.send("DELETE", "/twitter/people/ann").status == 200)
            #expect(try await control.send("DELETE", "/twitter/consumers/k").status == 200)
            let consumers = try await control.send("GET", "/twitter/consumers")
            #expect(try GraphSimulator.JSON(parsing: consumers.body) == [])
        }
    }

    @Test(
        "a data file is read strictly",
        arguments: [
            (#"{"twitter":{"consumers":[{"key":"k"}]}}"#, "twitter.consumers[0]: \"secret\" is missing or empty"),
            (
                #"{"twitter":{"people":[{"key":"a","id":"01"}]}}"#,
                "twitter.people[0].id: expected a positive decimal number, as a string"
            ),
            (
                #"{"twitter":{"people":[{"key":"a","fields":{"id":1}}]}}"#,
                "twitter.people[0].fields: expected no \"id\", which follows \"id\" beside them"
            ),
            (#"{"twitter":{"people":[{"key":"a"},{"key":"a"}]}}"#, "twitter.people[1].key: \"a\" appears twice"),
            (#"{"twitter":{"tokens":[{}]}}"#, "twitter.tokens[0].consumer: there is none"),
            (#"{"twitter":{"apps":[]}}"#, "twitter.apps: unknown member; known are consumers, people, tokens"),
        ]
    )
    func files(text: String, message: String) async {
        let error = await #expect(throws: GraphSimulator.DataError.self) {
            let simulator = try await GraphSimulator.start(GraphSimulator.Dataset(json: text.utf8))
            await simulator.stop()
        }
        #expect(error?.description == message)
    }
}
