import Foundation
import GraphSimulator
import Testing

@Suite("what Facebook tells the app is signed")
struct SignedCallTests {
    /// Secrets and signed requests: the unpadded vectors of omniauth-facebook, koala (two) and bk-rs.
    static let vectors = [
        (
            "897z956a2z7zzzzz5783z458zz3z7556",
            "53umfudisP7mKhsi9nZboBg15yMZKhfQAARL9UoZtSE.eyJhbGdvcml0aG0iOiJITUFDLVNIQTI1NiIsImV4cGlyZXMiOjEzMDg5ODg4MDAsImlzc3VlZF9hdCI6MTMwODk4NTAxOCwib2F1dGhfdG9rZW4iOiIxMTExMTExMTExMTExMTF8Mi5BUUJBdHRSbExWbndxTlBaLjM2MDAuMTExMTExMTExMS4xLTExMTExMTExMTExMTExMXxUNDl3M0Jxb1pVZWd5cHJ1NTFHcmE3MGhFRDgiLCJ1c2VyIjp7ImNvdW50cnkiOiJkZSIsImxvY2FsZSI6ImVuX1VTIiwiYWdlIjp7Im1pbiI6MjF9fSwidXNlcl9pZCI6IjExMTExMTExMTExMTExMSJ9"
        ),
        (
            "e45e55a333eec232d4206d2703de1307",
            "zWRm0gd5oHW_jzXP_WA9CirO7c5CLHotn-SKRqH2NmU.eyJhbGdvcml0aG0iOiJITUFDLVNIQTI1NiIsImV4cGlyZXMiOjEzMDE5MjIwMDAsImlzc3VlZF9hdCI6MTMwMTkxNzI5OSwib2F1dGhfdG9rZW4iOiIxMTk5MDg4MzEzNjc2MDJ8Mi56VkZfNk5yTUVMSHVKYTRnSVU5dEt3X18uMzYwMC4xMzAxOTIyMDAwLTI5MDU2MjN8emdxUHNyMkJHOUxvT0s5a2VrR2dSVVJaeDBrIiwidXNlciI6eyJjb3VudHJ5IjoiZGUiLCJsb2NhbGUiOiJkZV9ERSIsImFnZSI6eyJtaW4iOjIxfX0sInVzZXJfaWQiOiIyOTA1NjIzIn0"
        ),
        (
            "e45e55a333eec232d4206d2703de1307",
            "f1--LHwjHVCxfs97hRHL-4cF-0jNxZRc6MGzo1qHLb0.eyJhbGdvcml0aG0iOiJITUFDLVNIQTI1NiIsImNvZGUiOiIyLkFRQm90a0pBWlhVY1l3RkMuMzYwMC4xMzE0ODEzNjAwLjEtMjkwNTYyM3x4V2xya0d0UmJIZlpIclRnVWwxQmxJcVhRbjQiLCJpc3N1ZWRfYXQiOjEzMTQ4MDY2NTUsInVzZXJfaWQiOiIyOTA1NjIzIn0"
        ),
        (
            "key",
            "Mf_s6nTb38UYqioBmPqu0Ewm9souPZB9I2fIGwV729U.eyJ1c2VyX2lkIjoiMCIsImFsZ29yaXRobSI6IkhNQUMtU0hBMjU2IiwiaXNzdWVkX2F0IjoxNjI0MjQ0MTU2fQ"
        ),
    ]

    @Test("signed requests of public SDKs come out to the byte", arguments: vectors)
    func vector(_ secret: String, _ text: String) throws {
        let payload = try Self.payload(of: text)
        #expect(GraphSimulator.signedRequest(payload: payload, secret: secret) == text)
    }

    private static func payload(of signedRequest: String) throws -> String {
        let parts = signedRequest.split(separator: ".", omittingEmptySubsequences: false)
        return String(decoding: try #require(JWT.decoded(String(parts[1]))), as: UTF8.self)
    }

    @Test("a deauthorization names the person by the app's own id, the time and the algorithm")
    func deauthorization() async throws {
        try await SampleWorld.run { simulator in
            let text = try simulator.signedRequest(person: "ann")
            let payload = #"{"user_id":"123","algorithm":"HMAC-SHA256","issued_at":1668749403}"#
            #expect(text == GraphSimulator.signedRequest(payload: payload, secret: SampleWorld.secret))
            let other = try simulator.signedRequest(
                person: "ann",
                app: SampleWorld.otherApp,
                issuedAt: 5,
                expiresAt: 6,
                algorithm: "none",
                signature: .secret("guess")
            )
            let otherPayload = try Self.payload(of: other)
            #expect(otherPayload.hasSuffix(#","algorithm":"none","issued_at":5,"expires":6}"#))
            #expect(!otherPayload.contains(#""123""#))
            #expect(other == GraphSimulator.signedRequest(payload: otherPayload, secret: "guess"))
            #expect(try simulator.signedRequest(signature: .none).hasPrefix(".eyJ"))
            #expect(throws: GraphSimulator.DataError.self) { try simulator.signedRequest(person: "nobody") }
        }
    }

    @Test("a webhook's verb stands beside the app's own field and inside a permission's value")
    func webhook() async throws {
        try await SampleWorld.run { simulator in
            #expect(
                try simulator.webhook(person: "ann").body
                    == #"{"object":"permissions","entry":[{"id":"123","uid":"123","time":1668749403,"changes":[{"field":"connected","verb":"revoked"}]}]}"#
            )
            let email = try simulator.webhook(person: "ann", field: "email", verb: "granted", time: 9)
            #expect(
                email.body
                    == #"{"object":"permissions","entry":[{"id":"123","uid":"123","time":9,"changes":[{"field":"email","value":{"verb":"granted"}}]}]}"#
            )
            #expect(email.signature?.wholeMatch(of: /sha256=[0-9a-f]{64}/) != nil)
            let unsigned = try simulator.webhook(signature: .none)
            #expect(unsigned.signature == nil)
            #expect(unsigned.legacySignature == nil)
        }
    }

    /// Has the simulator send a signed call to its own public port, and returns the call from that port's log.
    private func received(_ wish: String) async throws -> (
        reply: GraphSimulator.JSON, call: GraphSimulator.LoggedRequest
    ) {
        var result: (GraphSimulator.JSON, GraphSimulator.LoggedRequest)?
        try await Control.run { simulator, control in
            simulator.add(.init(.reply(status: 202, headers: [], body: Array("noted".utf8)), path: "hook"))
            let wish = wish.replacing("URL", with: "\(simulator.url)/hook?x=1")
            let reply = try await control.post("/deliver", wish)
            result = (reply, try #require(simulator.requests(path: "hook").last))
        }
        return try #require(result)
    }

    @Test("deauthorize and deletion arrive as a form, and the answer is shown", arguments: ["deauthorize", "deletion"])
    func callbacks(_ kind: String) async throws {
        let (reply, call) = try await received(#"{"kind":"\#(kind)","url":"URL","person":"ann"}"#)
        #expect(reply == ["status": 202, "body": "noted"])
        #expect(call.method == "POST")
        #expect(call.uri == "/hook?x=1")
        #expect(call.header("content-type") == "application/x-www-form-urlencoded")
        let expires = kind == "deletion" ? #","expires":1668753003"# : ""
        #expect(
            call.parameter("signed_request")
                == GraphSimulator.signedRequest(
                    payload: #"{"user_id":"123","algorithm":"HMAC-SHA256","issued_at":1668749403\#(expires)}"#,
                    secret: SampleWorld.secret
                )
        )
    }

    @Test("callbacks can be forged in each part")
    func forged() async throws {
        let (_, wrong) = try await received(
            #"{"kind":"deletion","url":"URL","issuedAt":7,"algorithm":"HMAC-SHA1","signWith":"guess"}"#
        )
        #expect(
            wrong.parameter("signed_request")
                == GraphSimulator.signedRequest(
                    payload: #"{"user_id":"123","algorithm":"HMAC-SHA1","issued_at":7,"expires":3607}"#,
                    secret: "guess"
                )
        )
        let (_, raw) = try await received(
            #"{"kind":"deauthorize","url":"URL","payload":"{\"a\":1,\"a\":2}","signWith":"none"}"#
        )
        #expect(raw.parameter("signed_request") == ".eyJhIjoxLCJhIjoyfQ")
    }

    @Test("a webhook arrives as the bytes that were signed")
    func webhookCall() async throws {
        let (reply, call) = try await received(#"{"kind":"webhook","url":"URL","person":"ann","field":"email"}"#)
        #expect(reply["status"] == 202)
        #expect(
            String(decoding: call.body, as: UTF8.self)
                == #"{"object":"permissions","entry":[{"id":"123","uid":"123","time":1668749403,"changes":[{"field":"email","value":{"verb":"revoked"}}]}]}"#
        )
        let signature = try #require(call.header("x-hub-signature-256"))
        #expect(signature.hasPrefix("sha256="))
        #expect(call.header("x-hub-signature")?.hasPrefix("sha1=") == true)

        // The vector of bk-rs: key "key", body "value".
        let (_, known) = try await received(#"{"kind":"webhook","url":"URL","payload":"value","signWith":"key"}"#)
        #expect(known.body == Array("value".utf8))
        #expect(
            known.header("x-hub-signature-256")
                == "sha256=90fbfcf15e74a36b89dbdb2a721d9aecffdfdddc5c83e27f7592594f71932481"
        )
        #expect(known.header("x-hub-signature") == "sha1=57443a4c052350a44638835d64fd66822f813319")

        let (_, escaped) = try await received(
            #"{"kind":"webhook","url":"URL","payload":{"a":"ü/<"},"signWith":"none"}"#
        )
        #expect(escaped.body == Array(#"{"a":"\u00fc\/\u003C"}"#.utf8))
        #expect(escaped.header("x-hub-signature-256") == nil)
    }

    @Test("the handshake is a GET with challenge and token")
    func handshake() async throws {
        let (_, call) = try await received(
            #"{"kind":"handshake","url":"URL","verifyToken":"a b&c","challenge":"42"}"#
        )
        #expect(call.method == "GET")
        #expect(call.parameter("hub.mode") == "subscribe")
        #expect(call.parameter("hub.challenge") == "42")
        #expect(call.parameter("hub.verify_token") == "a b&c")
        #expect(call.parameter("x") == "1")
    }

    @Test("a call that gets no answer says why")
    func unanswered() async throws {
        try await Control.run { simulator, control in
            simulator.add(.init(.interrupt(.request, .close), path: "hook"))
            let closed = try await control.send(
                "POST",
                "/deliver",
                #"{"kind":"deauthorize","url":"\#(simulator.url)/hook"}"#
            )
            #expect(closed.status == 502)
            #expect(closed.text.contains("\(simulator.address)"))
        }
    }

    /// The request for a call, and the error.
    static let refusals = [
        (#"{"kind":"poke","url":"http://127.0.0.1:1/"}"#, "kind: expected deauthorize, deletion, webhook or handshake"),
        (#"{"kind":"webhook"}"#, #"\"url\" is missing or empty"#),
        (#"{"kind":"webhook","url":"https://127.0.0.1/"}"#, "url: expected http://host:port/path in ASCII"),
        (#"{"kind":"webhook","url":"http://[::1/"}"#, "url: expected http://host:port/path in ASCII"),
        (#"{"kind":"handshake","url":"http://127.0.0.1:1/"}"#, #"\"verifyToken\" is missing or empty"#),
        (#"{"kind":"deletion","url":"http://127.0.0.1:1/","field":"x"}"#, "field: unknown member"),
        (#"{"kind":"deletion","url":"http://127.0.0.1:1/","person":"x"}"#, #"person: no person \"x\""#),
    ]

    @Test("a call that cannot be made is told why", arguments: refusals)
    func refused(_ wish: String, _ error: String) async throws {
        try await Control.run { _, control in
            let reply = try await control.send("POST", "/deliver", wish)
            #expect(reply.status == 400)
            #expect(reply.text.hasPrefix(#"{"error":"\#(error)"#))
        }
    }
}
