import Foundation
import GraphSimulator
import Testing

@Suite("codes and tokens are exchanged at /oauth/access_token")
struct CodeExchangeTests {
    private static let redirectURI = "https://app.example/callback?a=1"
    private static let client = "client_id=\(SampleWorld.app)&client_secret=\(SampleWorld.secret)"
    /// The example of RFC 7636, appendix B.
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    private static func form(_ code: String, client: String = client, redirectURI: String = redirectURI) -> String {
        "\(client)&redirect_uri=\(Wire.encoded(redirectURI))&code=\(code)"
    }

    private static func exchange(_ simulator: GraphSimulator, _ form: String) async throws -> Wire.Reply {
        try await Wire.post(simulator, "/v25.0/oauth/access_token", form: form)
    }

    @Test("a code becomes a token of 60 days with the person's permissions, by POST and by GET")
    func exchanged() async throws {
        try await SampleWorld.run { simulator in
            for method in ["POST", "GET"] {
                let code = try simulator.code(person: "ann", redirectURI: Self.redirectURI, scopes: ["email"])
                let form = Self.form(code) + "&grant_type=authorization_code"
                let reply =
                    method == "POST"
                    ? try await Self.exchange(simulator, form)
                    : try await Wire.get(simulator, "/oauth/access_token?\(form)")
                let json = try GraphSimulator.JSON(parsing: reply.body)
                #expect(json.members?.map(\.name) == ["access_token", "token_type", "expires_in"])
                #expect(json["token_type"] == "bearer")
                #expect(json["expires_in"] == 5_184_000)
                let token = try #require(json["access_token"]?.string)
                #expect(
                    try await Wire.get(simulator, "/me?fields=email,birthday&access_token=\(token)").text
                        == #"{"email":"ann\u0040example.com","id":"123"}"#
                )
            }
        }
    }

    /// The text of the header before base64, and whether it is accepted.
    static let basicHeaders: [(String, Bool)] = [
        ("\(SampleWorld.app):\(SampleWorld.secret)", true), ("25742281976999%32:\(SampleWorld.secret)", true),
        ("\(SampleWorld.app):wrong", false), (SampleWorld.app, false),
    ]

    @Test("the app may show its id and secret by HTTP Basic", arguments: basicHeaders)
    func basic(_ credentials: String, _ isRight: Bool) async throws {
        try await SampleWorld.run { simulator in
            let code = try simulator.code(redirectURI: Self.redirectURI)
            let form = Self.form(code, client: "grant_type=authorization_code")
            let header = "Authorization: Basic \(Data(credentials.utf8).base64EncodedString())"
            let reply = try await Wire.post(simulator, "/oauth/access_token", form: form, headers: [header])
            #expect(reply.status == (isRight ? 200 : 400))
            #expect(reply.text.contains("access_token") == isRight)
            // `/me` does not take a Basic header for an access token.
            let me = try await Wire.get(simulator, "/me", headers: [header])
            #expect(me.text.contains("An active access token must be used"))
        }
    }

    @Test("a server gets a code for its client, which exchanges it without the secret")
    func clientCode() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann", scopes: ["email"]).text
            let form = "\(Self.client)&redirect_uri=\(Wire.encoded(Self.redirectURI))&access_token="
            let made = try await Wire.get(simulator, "/v25.0/oauth/client_code?\(form)\(token)")
            let code = try #require(try GraphSimulator.JSON(parsing: made.body)["code"]?.string, "\(made.text)")
            let exchanged = try await Self.exchange(
                simulator,
                Self.form(code, client: "client_id=\(SampleWorld.app)&machine_id=m")
            )
            let given = try #require(try GraphSimulator.JSON(parsing: exchanged.body)["access_token"]?.string)
            #expect(given != token)
            #expect(
                try await Wire.get(simulator, "/me?fields=email,birthday&access_token=\(given)").text
                    == #"{"email":"ann\u0040example.com","id":"123"}"#
            )

            for (path, text) in [
                ("client_id=\(SampleWorld.app)&redirect_uri=x&access_token=\(token)", "client secret"),
                ("\(Self.client)&access_token=\(token)", "Missing redirect_uri"),
                ("\(form)\(SampleWorld.encodedAppToken)", "Invalid OAuth access token"),
                ("\(Self.client)&redirect_uri=x", "access token is required"),
            ] {
                let reply = try await Wire.get(simulator, "/oauth/client_code?\(path)")
                #expect(reply.status == 400, "\(reply.text)")
                #expect(reply.text.contains(text), "\(reply.text)")
            }
            // A code of the login dialog is no client code.
            let other = try simulator.code(redirectURI: Self.redirectURI)
            let reply = try await Self.exchange(simulator, Self.form(other, client: "client_id=\(SampleWorld.app)"))
            #expect(!reply.text.contains("access_token\""))
        }
    }

    @Test("access_token_info tells an app the end and the nonce of a token of its own")
    func info() async throws {
        try await SampleWorld.run { simulator in
            var wish = GraphSimulator.TokenRequest(.long, person: "ann")
            wish.metadata = ["auth_type": "reauthenticate", "auth_nonce": "n-1"]
            let token = try simulator.mint(wish).text
            func info(_ parameters: String) async throws -> String {
                try await Wire.get(simulator, "/v25.0/oauth/access_token_info?\(parameters)").text
            }
            #expect(
                try await info("client_id=\(SampleWorld.app)&access_token=\(token)")
                    == #"{"access_token":"\#(token)","token_type":"bearer","expires_in":5184000,"auth_nonce":"n-1"}"#
            )
            let endless = try simulator.mint(.never, person: "ann").text
            #expect(
                try await info("client_id=\(SampleWorld.app)&access_token=\(endless)")
                    == #"{"access_token":"\#(endless)","token_type":"bearer"}"#
            )
            for (parameters, text) in [
                ("access_token=\(token)", "Missing client_id"), ("client_id=\(SampleWorld.app)", #""code":104"#),
                ("client_id=\(SampleWorld.otherApp)&access_token=\(token)", "was not issued for application"),
                ("client_id=\(SampleWorld.app)&access_token=\(SampleWorld.encodedAppToken)", #""code":190"#),
                (
                    "client_id=\(SampleWorld.app)&access_token=\(try simulator.mint(.loggedOut).text)",
                    #""error_subcode":467"#
                ),
            ] {
                #expect(try await info(parameters).contains(text), "\(text)")
            }
        }
    }

    @Test("openid brings an ID token with the nonce of the dialog")
    func idToken() async throws {
        try await Control.run { simulator, control in
            let wish = #"{"person":"ann","redirectUri":"\#(Self.redirectURI)","scopes":["openid"],"nonce":"n-1"}"#
            let code = try #require(try await control.post("/codes", wish)["code"]?.string)
            let reply = try await Self.exchange(simulator, Self.form(code))
            let json = try GraphSimulator.JSON(parsing: reply.body)
            let token = try JWT(try #require(json["id_token"]?.string))
            #expect(try token.claim("nonce") == "n-1")
            #expect(try token.claim("sub") == "123")
            #expect(try token.claim("email") == nil)
            #expect(try await token.isSigned(by: simulator))
        }
    }

    @Test("of 50 simultaneous uses one succeeds")
    func race() async throws {
        try await SampleWorld.run { simulator in
            let code = try simulator.code(redirectURI: Self.redirectURI)
            let statuses = try await withThrowingTaskGroup { group in
                for _ in 0..<50 {
                    group.addTask { try await Self.exchange(simulator, Self.form(code)).status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.count { $0 == 200 } == 1)
            #expect(statuses.count { $0 == 400 } == 49)
        }
    }

    @Test("a used code is refused with a challenge of its own")
    func used() async throws {
        try await SampleWorld.run { simulator in
            let code = try simulator.code(redirectURI: Self.redirectURI)
            #expect(try await Self.exchange(simulator, Self.form(code)).status == 200)
            let reply = try await Self.exchange(simulator, Self.form(code))
            #expect(reply.status == 400)
            #expect(
                reply.text.withoutTrace
                    == #"{"error":{"message":"This authorization code has been used.","type":"OAuthException","code":100,"error_subcode":36009,"fbtrace_id":"A…"}}"#
            )
            #expect(
                reply.header("www-authenticate")
                    == #"OAuth "Facebook Platform" "invalid_code" "This authorization code has been used.""#
            )
        }
    }

    @Test("a code lives for ten minutes")
    func expired() async throws {
        try await SampleWorld.run { simulator in
            let early = try simulator.code(redirectURI: Self.redirectURI)
            let late = try simulator.code(redirectURI: Self.redirectURI)
            simulator.advanceClock(bySeconds: 599)
            #expect(try await Self.exchange(simulator, Self.form(early)).status == 200)
            simulator.advanceClock(bySeconds: 1)
            let reply = try await Self.exchange(simulator, Self.form(late))
            #expect(reply.text.contains(#""This authorization code has expired.","type":"OAuthException","code":100,"#))
            #expect(reply.text.contains(#""error_subcode":36007"#))
        }
    }

    /// A change of the right form, and the code, subcode and text of the error.
    static let refusals: [(@Sendable (String) -> String, Int, Int?, String)] = [
        (
            { form($0, redirectURI: "https://app.example/callback") }, 100, 36008,
            "make sure your redirect_uri is identical"
        ),
        ({ form($0, redirectURI: redirectURI + "/") }, 100, 36008, "make sure your redirect_uri is identical"),
        ({ "\(client)&code=\($0)" }, 191, nil, "Missing redirect_uri parameter."),
        ({ form(String($0.dropLast())) }, 100, nil, "Invalid verification code format."),
        ({ _ in form("abc") }, 100, nil, "Invalid verification code format."),
        ({ _ in form("") }, 100, nil, "Missing authorization code"),
        (
            { form($0, client: "client_id=\(SampleWorld.otherApp)&client_secret=f0a94c1e62d84b07") }, 100, nil,
            "Invalid verification code format."
        ),
        (
            { form($0, client: "client_id=\(SampleWorld.app)&client_secret=x") }, 1, nil,
            "Error validating client secret."
        ),
        ({ form($0, client: "client_id=\(SampleWorld.app)") }, 1, nil, "Error validating client secret."),
        (
            { form($0, client: "client_id=\(SampleWorld.app)&code_verifier=\(verifier)") }, 1, nil,
            "Error validating client secret."
        ),
        ({ form($0) + "&grant_type=magic" }, 100, nil, "Invalid grant_type: 'magic'."),
    ]

    @Test("what does not fit is refused, and the code stays good", arguments: refusals.indices)
    func refused(_ index: Int) async throws {
        let (form, code, subcode, text) = Self.refusals[index]
        try await SampleWorld.run { simulator in
            let good = try simulator.code(redirectURI: Self.redirectURI)
            let reply = try await Self.exchange(simulator, form(good))
            #expect(reply.status == 400)
            let error = try GraphSimulator.JSON(parsing: reply.body)["error"]
            #expect(error?["code"] == .integer(code))
            #expect(error?["error_subcode"] == subcode.map { .integer($0) })
            #expect(error?["message"]?.string?.contains(text) == true)
            #expect(try await Self.exchange(simulator, Self.form(good)).status == 200)
        }
    }

    @Test(
        "PKCE: the verifier must be the one behind the challenge, in both methods",
        arguments: [
            (GraphSimulator.CodeChallengeMethod.s256, challenge), (.plain, verifier),
        ]
    )
    func pkce(_ method: GraphSimulator.CodeChallengeMethod, _ challenge: String) async throws {
        try await SampleWorld.run { simulator in
            func code() throws -> String {
                try simulator.code(redirectURI: Self.redirectURI, codeChallenge: challenge, method: method)
            }
            let first = Self.form(try code())
            for wrong in ["", "&code_verifier=\(Self.verifier)x", "&code_verifier=short"] {
                let reply = try await Self.exchange(simulator, first + wrong)
                #expect(reply.text.contains("Invalid code_verifier parameter"))
            }
            #expect(try await Self.exchange(simulator, first + "&code_verifier=\(Self.verifier)").status == 200)
            // Facebook's own SDKs use no app secret.
            let second = Self.form(try code(), client: "client_id=\(SampleWorld.app)")
            #expect(try await Self.exchange(simulator, second).text.contains("client secret"))
            #expect(try await Self.exchange(simulator, second + "&code_verifier=\(Self.verifier)").status == 200)
        }
    }

    @Test("PKCE: a verifier without a challenge is refused, and so is every one of an app that drops challenges")
    func droppedChallenge() async throws {
        try await SampleWorld.run { simulator in
            let refusal = "code_verifier param is provided without a code_challenge in authorization request."
            func expectRefusal(_ code: String) async throws {
                let reply = try await Self.exchange(simulator, Self.form(code) + "&code_verifier=\(Self.verifier)")
                #expect(reply.status == 400)
                let error = try GraphSimulator.JSON(parsing: reply.body)["error"]
                #expect(error?["code"] == .integer(1))
                #expect(error?["message"]?.string == refusal)
                #expect(try await Self.exchange(simulator, Self.form(code)).status == 200)
            }
            try await expectRefusal(try simulator.code(redirectURI: Self.redirectURI))
            simulator.update(app: SampleWorld.app) { $0.dropChallenge = true }
            try await expectRefusal(try simulator.code(redirectURI: Self.redirectURI, codeChallenge: Self.challenge))
        }
    }

    @Test("a fault in Graph's place leaves the code good, one that spoils the reply has used it")
    func faults() async throws {
        try await SampleWorld.run { simulator in
            let code = try simulator.code(redirectURI: Self.redirectURI)
            simulator.add(.init(.error(.init(code: 2)), path: "oauth/access_token", count: 1))
            simulator.add(.init(.damage(.truncated), path: "oauth/access_token", count: 1))
            #expect(try await Self.exchange(simulator, Self.form(code)).status == 503)
            #expect(try await Self.exchange(simulator, Self.form(code)).status == 200)
            #expect(try await Self.exchange(simulator, Self.form(code)).text.contains("has been used"))
        }
    }

    @Test("a short token becomes a long one of the same permissions")
    func longLived() async throws {
        try await SampleWorld.run { simulator in
            let short = try simulator.mint(.short, person: "ann", scopes: ["email"]).text
            let form = "\(Self.client)&grant_type=fb_exchange_token&fb_exchange_token=\(short)"
            let reply = try GraphSimulator.JSON(parsing: try await Self.exchange(simulator, form).body)
            #expect(reply["expires_in"] == 5_184_000)
            let long = try #require(reply["access_token"]?.string)
            #expect(long != short)
            let token = try #require(simulator.token(long))
            #expect(token.kind == .long)
            #expect(token.scopes == ["email", "public_profile"])
            #expect(token.dataAccessExpiresAt == simulator.token(short)?.dataAccessExpiresAt)
            simulator.advanceClock(bySeconds: 3 * 3600)
            let late = try await Self.exchange(simulator, form)
            #expect(late.status == 400)
            #expect(late.text.contains(#""code":190,"error_subcode":463"#))
        }
    }

    @Test("only a living user token of the same app is exchanged for a long one")
    func notLongLived() async throws {
        try await SampleWorld.run { simulator in
            let form = "\(Self.client)&grant_type=fb_exchange_token"
            #expect(try await Self.exchange(simulator, form).text.contains("fb_exchange_token is required"))
            for (kind, text) in [
                (GraphSimulator.TokenKind.otherApp, "was not issued for application"),
                (.passwordChanged, #""error_subcode":460"#), (.appRemoved, #""error_subcode":458"#),
                (.page, "Invalid OAuth access token."), (.undecryptable, "could not be decrypted"),
            ] {
                let token = try simulator.mint(kind, person: "ann").text
                let reply = try await Self.exchange(simulator, "\(form)&fb_exchange_token=\(token)")
                #expect(reply.text.contains(#""code":190"#), "\(kind)")
                #expect(reply.text.contains(text), "\(kind)")
            }
            let app = try await Self.exchange(simulator, "\(form)&fb_exchange_token=\(SampleWorld.encodedAppToken)")
            #expect(app.text.contains("Invalid OAuth access token."))
        }
    }
}
