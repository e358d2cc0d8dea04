@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "ID tokens that do not count",
    .serialized,
    .deployed(Document(mapping: #"{"email": "email"}"#), Document(application: "none", apps: []))
)
struct IDTokenRefusalTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Checks that each token is refused, that nothing is written, and that nobody is asked about the token.
    private func expectRefused(
        _ wishes: [String],
        _ reason: String = "credential_invalid",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let ann = try await deployment.newcomer()
        // From here on the service knows the keys.
        let warm = try await deployment.login(idToken: try await deployment.idToken(of: ann))
        #expect(warm.status == 200, "\(warm.text)")
        var tokens: [(wish: String, text: String)] = []
        for wish in wishes { tokens.append((wish, try await deployment.idToken(of: ann, wish))) }
        let requests = try await deployment.simulator.requests {
            try await deployment.expectNothingWritten(sourceLocation: sourceLocation) {
                for token in tokens {
                    for field in ["idToken", "accessToken"] {
                        let reply = try await deployment.login(body: #"{"\#(field)": \#(JSON.quoted(token.text))}"#)
                        try expectProblem(reply, reason, "\(token.wish)", sourceLocation: sourceLocation)
                    }
                }
            }
        }
        #expect(requests.isEmpty, sourceLocation: sourceLocation)
    }

    @Test("T-08: the token of another app, and one that is also for others")
    func audience() async throws {
        try await expectRefused([
            #""claims": {"aud": "2345678901"}"#, #""claims": {"aud": ["1234567890", "2345678901"]}"#,
            #""claims": {"aud": []}"#, #""claims": {"aud": null}"#, #""claims": {"aud": 1234567890}"#,
            #""claims": {"aud": ["1234567890", "1234567890"]}"#, #""claims": {"azp": "2345678901"}"#,
        ])
    }

    @Test("T-11: an issuer that is not Facebook's is not asked for anything")
    func issuer() async throws {
        let issuer = deployment.simulator.url
        try await expectRefused([
            #""claims": {"iss": "\#(issuer)"}"#, #""claims": {"iss": "https://www.facebook.com.evil.example"}"#,
            #""claims": {"iss": "https://www.facebook.com/"}"#, #""claims": {"iss": null}"#,
            #""claims": {"iss": "\#(issuer)"}, "header": {"jku": "\#(issuer)/.well-known/oauth/openid/jwks/"}"#,
        ])
    }

    @Test("T-20: an HMAC under the public key or the app's secret")
    func keyConfusion() async throws {
        try await expectRefused(
            ["pem", "pem-line", "der", "jwk"].map { #""signWith": "hs256-with-public-key-\#($0)""# }
                + ["pem", "der"].map { #""signWith": "hs256-with-public-key-\#($0)", "header": {"alg": "RS256"}"# }
                + [#""signWith": "hs256-with-app-secret""#]
        )
    }

    @Test("T-21: no signature, and no three parts")
    func unsigned() async throws {
        try await expectRefused(
            ["none", "None", "nOnE", "NONE"].map { #""signWith": "none", "header": {"alg": "\#($0)"}"# }
                + [#""signWith": "none", "header": {"alg": "RS256"}"#]
        )
        let ann = try await deployment.newcomer()
        let token = try await deployment.idToken(of: ann)
        let parts = token.split(separator: ".").map(String.init)
        try await deployment.expectNothingWritten {
            for text in [
                "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).", "\(token).\(parts[2])", "\(token).a.b",
                "\(token)=",
            ] {
                let requests = try await deployment.simulator.requests {
                    for field in ["idToken", "accessToken"] {
                        let reply = try await deployment.login(body: #"{"\#(field)": "\#(text)"}"#)
                        try expectProblem(reply, "credential_invalid", "\(text)")
                    }
                }
                #expect(requests.isEmpty)
            }
        }
    }

    @Test("T-22: another algorithm, named or used")
    func algorithms() async throws {
        try await expectRefused(
            ["RS384", "PS256", "ES256", "EdDSA", "HS512", "foo"].map { #""header": {"alg": "\#($0)"}"# }
                + [#""header": {"alg": null}"#, #""header": {"alg": []}"#]
                + ["rs384", "rs512", "ps256"].map { #""signWith": "\#($0)""# }
                + ["rs384", "rs512", "ps256"].map { #""signWith": "\#($0)", "header": {"alg": "RS256"}"# }
        )
    }

    @Test("T-23: a header that changes what is signed, or has a member that nobody knows")
    func foreignMembers() async throws {
        try await expectRefused([
            #""header": {"b64": false}"#, #""header": {"b64": false, "crit": ["b64"]}"#, #""header": {"b64": true}"#,
            #""header": {"crit": ["exp"], "exp": 1}"#, #""header": {"zip": "DEF"}"#, #""header": {"unheard-of": 1}"#,
        ])
    }

    @Test("T-23: a key that the token brings along or names in its own way")
    func keySource() async throws {
        let url = deployment.simulator.url + "/keys"
        try await expectRefused(
            ["jku", "x5u"].map { #""signWith": "unknown", "header": {"\#($0)": "\#(url)", "kid": "x"}"# }
                + [
                    #""header": {"jku": "\#(url)"}"#, #""header": {"jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"}}"#,
                    #""header": {"kid": null}"#, #""header": {"kid": ["a"]}"#, #""header": {"kid": ""}"#,
                    #""header": {"kid": "\#(String(repeating: "k", count: 256))"}"#,
                ]
        )
    }

    @Test("T-23, T-26: keys that nobody publishes are asked for once a minute at most, and spoil nothing")
    func unknownKeys() async throws {
        let ann = try await deployment.newcomer()
        _ = try deployment.signedIn(try await deployment.login(idToken: try await deployment.idToken(of: ann)))
        var tokens = [try await deployment.idToken(of: ann, #""signWith": "unknown""#)]
        for kid in ["../../dev/null", "' or 1=1--", "\(deployment.simulator.url)/", "x"] {
            tokens.append(try await deployment.idToken(of: ann, #""header": {"kid": \#(JSON.quoted(kid))}"#))
        }
        let poison = try await deployment.idToken(of: ann, #""signWith": "rs512""#)
        let good = try await deployment.idToken(of: ann)
        let requests = try await deployment.simulator.requests {
            try await deployment.expectNothingWritten {
                for token in tokens + [poison] {
                    try expectProblem(try await deployment.login(idToken: token), "credential_invalid")
                }
            }
        }
        #expect(requests.count <= 1)
        #expect(requests.allSatisfy { $0.path == SimulatorProcess.keysPath })
        #expect(try await deployment.login(idToken: good).status == 200)
    }

    @Test("T-24: members named twice, in header or claims")
    func duplicates() async throws {
        let kid = try await deployment.simulator.keys[1]
        let header = #"{\"alg\":\"RS256\",\"kid\":\"\#(kid)\""#
        let claims = #"{\"iss\":\"https://www.facebook.com\",\"aud\":\"1234567890\",\"sub\":\"1\""#
        try await expectRefused([
            #""headerText": "\#(header),\"alg\":\"none\"}""#,
            #""headerText": "{\"alg\":\"none\",\"alg\":\"RS256\",\"kid\":\"\#(kid)\"}""#,
            #""claimsText": "\#(claims),\"sub\":\"2\"}""#, #""claimsText": "[]""#, #""claimsText": "{}""#,
            #""claimsText": """#,
        ])
    }

    @Test("T-29, F-29d: time over by more than a minute, or still to come, whether by offsets or by Facebook's clock")
    func times() async throws {
        try await expectRefused(
            [
                #""iatOffset": -3601, "expOffset": 60"#, #""iatOffset": -7200"#, #""expOffset": -61"#,
                #""claims": {"exp": 0}"#,
            ],
            "credential_expired"
        )
        try await expectRefused([
            #""iatOffset": 120"#, #""claims": {"exp": "4000000000"}"#, #""claims": {"exp": null}"#,
            #""claims": {"iat": null}"#,
            #""claims": {"exp": -1}"#, #""claims": {"exp": 4000000000.5}"#, #""claims": {"nbf": 4000000000}"#,
        ])
        let ann = try await deployment.newcomer()
        for (offset, reason) in [
            (600, "credential_invalid"), (172_800, "credential_invalid"), (-172_800, "credential_expired"), (-600, nil),
            (30, nil),
        ] {
            let token = try await atFacebook(offset: offset) { try await deployment.idToken(of: ann) }
            let reply = try await deployment.login(idToken: token)
            if let reason { try expectProblem(reply, reason, "\(offset) s") } else { #expect(reply.status == 200) }
        }
    }

    /// Runs a closure while Facebook's clock is off by some seconds.
    private func atFacebook<Result>(offset: Int, _ body: () async throws -> Result) async throws -> Result {
        func set(_ offset: Int) async throws {
            let reply = try await deployment.simulator.control.send(
                "PUT",
                "/clock",
                body: Array(#"{"offset": \#(offset)}"#.utf8)
            )
            try #require(reply.status == 200, "\(reply.text)")
        }
        try await set(offset)
        let result = try await body()
        try await set(0)
        return result
    }

    @Test("T-28, T-16: what disagrees with a claim in the request changes nothing; a subject is decimal text")
    func subjects() async throws {
        try await expectRefused([
            #""claims": {"sub": null}"#, #""claims": {"sub": "me"}"#, #""claims": {"sub": 10150000000000001}"#,
            #""claims": {"sub": ""}"#, #""claims": {"sub": "me", "aud": "2345678901"}, "iatOffset": -7200"#,
        ])
        let (ann, ben) = (try await deployment.newcomer(), try await deployment.newcomer())
        let signedIn = try deployment.signedIn(
            try await deployment.login(
                idToken: try await deployment.idToken(of: ann),
                #""id": "\#(ben.id)", "sub": "\#(ben.id)", "userId": "\#(ben.id)""#
            )
        )
        let subject = try await deployment.value(
            "select subject from demo.identities where object_id = '\(signedIn.objectID)'"
        )
        #expect(subject == ann.id)
    }

    @Test("an application without Facebook apps takes no ID token and gives out no nonce")
    func notConfigured() async throws {
        let ann = try await deployment.newcomer()
        let token = try await deployment.idToken(of: ann)
        let none = deployment.documents[1]
        try await deployment.expectNothingWritten {
            try expectProblem(try await deployment.login(idToken: token, to: none), "provider_not_configured")
            let path = deployment.path("users/nonce", of: none)
            try expectProblem(try await deployment.client.post(path, json: ""), "provider_not_configured")
        }
    }
}
