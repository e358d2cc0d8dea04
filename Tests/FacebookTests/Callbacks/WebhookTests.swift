import Crypto
import Domain
import Encodings
import Facebook
import FoundationEssentials
import Testing

@Suite("Reading webhooks (docs/protocols/facebook.md §5.4)")
struct WebhookTests {
    static let now: Int64 = 1_795_000_000

    @Test("docs/protocols/facebook.md §7.1: the signature of a webhook's body is known, in digits of either case")
    func vector() throws {
        let signature = "90fbfcf15e74a36b89dbdb2a721d9aecffdfdddc5c83e27f7592594f71932481"
        #expect(try signer("sha256=" + signature, of: "value") == "2")
        #expect(try signer("sha256=" + signature.uppercased(), of: "value") == "2")
    }

    @Test(
        "a webhook without a signature of ours is refused",
        arguments: [
            nil, "", "sha256=", "90fbfcf15e74a36b89dbdb2a721d9aecffdfdddc5c83e27f7592594f71932481",
            "sha1=57443a4c052350a44638835d64fd66822f813319",
            "sha1=90fbfcf15e74a36b89dbdb2a721d9aecffdfdddc5c83e27f7592594f71932481",
            "sha256=90fbfcf15e74a36b89dbdb2a721d9aecffdfdddc5c83e27f7592594f71932482",
            "sha256=90fbfcf15e74a36b89dbdb2a721d9aecffdfdddc5c83e27f7592594f7193248",
            "sha256=90fbfcf15e74a36b89dbdb2a721d9aecffdfdddc5c83e27f7592594f7193248g",
            "sha512=90fbfcf15e74a36b89dbdb2a721d9aecffdfdddc5c83e27f7592594f71932481",
            "sha256=90-fbfcf15e74a36b89dbdb2a721d9aecffdfdddc5c83e27f7592594f71932481",
            "sha256=\u{665}0fbfcf15e74a36b89dbdb2a721d9aecffdfdddc5c83e27f7592594f719324",
        ]
    )
    func forged(header: String?) {
        #expect(throws: Failure.self) { try signer(header, of: "value") }
    }

    @Test("a body that was changed, or signed by the secret of an app that is not ours, is refused")
    func altered() {
        let signature = "sha256=90fbfcf15e74a36b89dbdb2a721d9aecffdfdddc5c83e27f7592594f71932481"
        #expect(throws: Failure.self) { try signer(signature, of: "value ") }
        #expect(throws: Failure.self) { try signer(signature, of: "value", secrets: ["other"]) }
        #expect(throws: Failure.self) { try signer(signature, of: "value", secrets: []) }
    }

    @Test("the handshake repeats the challenge to whoever knows the token, and to nobody else")
    func handshake() throws {
        func answer(
            _ token: String?,
            _ expected: String?,
            mode: String? = "subscribe",
            _ challenge: String? = "1158201444"
        )
            throws -> String
        {
            let parameters = [("hub.mode", mode), ("hub.challenge", challenge), ("hub.verify_token", token)]
            let query = parameters.compactMap { name, value in value.map { "\(name)=\(PercentEncoding.encode($0))" } }
            return try WebhookHandshake(FormFields(query.joined(separator: "&")))
                .answer(expecting: expected.map { Secret($0) })
        }
        #expect(try answer("ours", "ours") == "1158201444")
        for (token, expected) in [
            ("Ours", "ours"), ("our", "ours"), ("ours!", "ours"), (nil, "ours"), ("", ""), ("ours", nil),
        ] {
            let failure = #expect(throws: Failure.self) { try answer(token, expected) }
            #expect(failure?.reason == .callbackRefused)
        }
        // The same letters in another Unicode normal form are different bytes.
        #expect(throws: Failure.self) { try answer("cafe\u{301}", "caf\u{e9}") }
        for challenge in [nil, "", "<script>", "12 3", "1.5", "\u{661}", String(repeating: "1", count: 33)] {
            let failure = #expect(throws: Failure.self) { try answer("ours", "ours", challenge) }
            #expect(failure?.reason == .malformedRequest)
        }
        #expect(throws: Failure.self) { try answer("ours", "ours", mode: "unsubscribe", "1") }
    }

    @Test(
        "a parameter of the handshake that is there twice is refused, whatever it says",
        arguments: ["hub.mode", "hub.challenge", "hub.verify_token"]
    )
    func twice(name: String) throws {
        let query = "hub.mode=subscribe&hub.challenge=1&hub.verify_token=ours"
        #expect(try WebhookHandshake(FormFields(query)).answer(expecting: Secret("ours")) == "1")
        let failure = #expect(throws: Failure.self) { try WebhookHandshake(FormFields("\(query)&\(name)=1")) }
        #expect(failure?.reason == .malformedRequest)
    }

    @Test("docs/protocols/facebook.md §5.4: both shapes of permission events, several entries and several changes")
    func shapes() throws {
        let body = """
            {"object":"permissions","entry":[
             {"id":"0","uid":"0","time":1567181353,"changes":[{"field":"connected","verb":"granted"}]},
             {"id":"7","uid":"7","time":1567181354,"changes":[{"field":"connected","verb":"revoked"}]},
             {"id":8,"time":"1567181355","changes":[
               {"field":"manage_fundraisers","value":{"verb":"granted","target_ids":["1"]}},
               {"field":"email","verb":"revoked"}, {"field":"user_birthday","value":{"verb":"revoked"}},
               {"field":"email","verb":"pondered"}, {"field":"a b","verb":"revoked"}, {"field":"Email","verb":"revoked"},
               {"verb":"revoked"}, 7]}]}
            """
        #expect(
            try Self.events(body) == [
                Event(subject: "7", time: 1_567_181_354, changes: [.disconnected]),
                Event(
                    subject: "8",
                    time: 1_567_181_355,
                    changes: [.granted("manage_fundraisers"), .revoked("email"), .revoked("user_birthday")]
                ),
            ]
        )
    }

    @Test(
        "what is not understood is left out",
        arguments: [
            #"{"object":"user","entry":[{"uid":"1","time":1,"changes":[{"field":"connected","verb":"revoked"}]}]}"#,
            #"{"object":"permissions"}"#, #"{"object":"permissions","entry":7}"#, #"{"object":7}"#, "{}",
            #"{"object":"permissions","entry":[{"uid":"1","changes":[{"field":"connected","verb":"revoked"}]}]}"#,
            #"{"object":"permissions","entry":[{"id":"0","uid":"0","time":1,"changes":[{"field":"connected","verb":"revoked"}]}]}"#,
            #"{"object":"permissions","entry":[{"uid":"a","time":1,"changes":[{"field":"connected","verb":"revoked"}]}]}"#,
            #"{"object":"permissions","entry":[{"uid":"1","time":1795000301,"changes":[{"field":"connected","verb":"revoked"}]}]}"#,
            #"{"object":"permissions","entry":[{"uid":"1","time":1,"changes":[]}]}"#,
        ]
    )
    func ignored(body: String) throws {
        #expect(try Self.events(body) == [])
    }

    @Test("a body that is no JSON object is malformed", arguments: ["", "[]", "{", #"{"object":"a","object":"b"}"#])
    func malformed(body: String) {
        #expect(throws: Failure.self) { try Self.events(body) }
    }

    /// An event in a form that is easy to compare.
    struct Event: Equatable {
        let subject: String
        let time: Int64
        let changes: [PermissionEvent.Change]
    }

    private static func events(_ body: String) throws -> [Event] {
        try PermissionEvent.read(Array(body.utf8), now: now).map {
            Event(subject: $0.subject.text, time: $0.time, changes: $0.changes)
        }
    }

    private func signer(
        _ header: String?,
        of body: String,
        secrets: [String] = ["not this one", "key"]
    ) throws -> String {
        let apps = try secrets.enumerated().map { try SignedRequestTests.app("\($0.offset + 1)", secret: $0.element) }
        return try WebhookSignature.signer(
            of: Array(body.utf8),
            header: { $0 == "X-Hub-Signature-256" ? header : nil },
            apps: apps
        ).text
    }
}
