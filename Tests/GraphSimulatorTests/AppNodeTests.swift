import GraphSimulator
import Testing

@Suite("an app by its own token")
struct AppNodeTests {
    private static let token = "access_token=\(SampleWorld.encodedAppToken)"
    private static let node =
        #"{"category":"Business","link":"https:\/\/www.facebook.com\/games\/?app_id=257422819769992","name":"oauth2-rs-f-b-web-app-demo","id":"257422819769992"}"#

    /// The request target, and the status and body of the response.
    static let table: [(String, Int, String)] = [
        ("/v25.0/\(SampleWorld.app)?\(token)", 200, node),
        ("/v25.0/app?\(token)", 200, node),
        (
            "/v25.0/\(SampleWorld.app)?fields=id,name&\(token)", 200,
            #"{"id":"257422819769992","name":"oauth2-rs-f-b-web-app-demo"}"#
        ),
        (
            "/v25.0/\(SampleWorld.app)?fields=name&\(token)", 200,
            #"{"name":"oauth2-rs-f-b-web-app-demo","id":"257422819769992"}"#
        ),
        (
            "/v25.0/\(SampleWorld.app)?fields=secret&\(token)", 400,
            #"{"error":{"message":"(#100) Tried accessing nonexisting field (secret) on node type (Application)","type":"OAuthException","code":100,"fbtrace_id":"A…"}}"#
        ),
        (
            "/v25.0/\(SampleWorld.app)?access_token=\(SampleWorld.app)%7Cwrong", 400,
            #"{"error":{"message":"Invalid OAuth access token signature.","type":"OAuthException","code":190,"fbtrace_id":"A…"}}"#
        ),
        (
            "/v25.0/999?access_token=999%7Cwrong", 400,
            #"{"error":{"message":"Error validating application. Cannot get application info due to a system error.","type":"OAuthException","code":190,"fbtrace_id":"A…"}}"#
        ),
        (
            "/v25.0/\(SampleWorld.app)", 400,
            #"{"error":{"message":"An access token is required to request this resource.","type":"OAuthException","code":104,"fbtrace_id":"A…"}}"#
        ),
        (
            "/v25.0/\(SampleWorld.app)?appsecret_proof=00&\(token)", 400,
            #"{"error":{"message":"Invalid appsecret_proof provided in the API argument","type":"GraphMethodException","code":100,"fbtrace_id":"A…"}}"#
        ),
    ]

    @Test("what is shown of it, and to whom", arguments: table)
    func node(_ target: String, _ status: Int, _ body: String) async throws {
        try await SampleWorld.run { simulator in
            let reply = try await Wire.get(simulator, target)
            #expect(reply.status == status)
            #expect(reply.text.withoutTrace == body)
            #expect(reply.header("facebook-api-version") == "v25.0")
        }
    }

    @Test("a person of the app is shown as the public profile is, and a field that does not exist is refused")
    func person() async throws {
        try await SampleWorld.run { simulator in
            let shown = try await Wire.get(simulator, "/v25.0/123?fields=first_name,email&\(Self.token)")
            #expect(shown.status == 200)
            #expect(shown.text == #"{"first_name":"Ann","id":"123"}"#)
            let wrong = try await Wire.get(simulator, "/v25.0/123?fields=id,locaton&\(Self.token)")
            #expect(wrong.status == 400)
            #expect(wrong.text.contains("(#100) Tried accessing nonexisting field (locaton) on node type (User)"))
            let nobody = try await Wire.get(simulator, "/v25.0/124?fields=id&\(Self.token)")
            #expect(nobody.text.contains("Unsupported get request. Object with ID '124'"))
        }
    }

    @Test("another app is not shown")
    func other() async throws {
        try await SampleWorld.run { simulator in
            let reply = try await Wire.get(simulator, "/v25.0/\(SampleWorld.otherApp)?\(Self.token)")
            #expect(reply.status == 400)
            #expect(reply.text.contains("Unsupported get request. Object with ID '\(SampleWorld.otherApp)'"))
        }
    }

    @Test("the token of a desktop app is as good as none, wherever it is sent")
    func desktop() async throws {
        try await SampleWorld.run { simulator in
            simulator.update(app: SampleWorld.app) { $0.desktop = true }
            for (target, code) in [("/\(SampleWorld.app)", 104), ("/app", 104), ("/me", 2500), ("/debug_token", 100)] {
                let without = try await Wire.get(simulator, target)
                let with = try await Wire.get(simulator, "\(target)?\(Self.token)")
                #expect(with.status == 400)
                #expect(with.text.contains(#""code":\#(code),"#), "\(target)")
                #expect(with.text.withoutTrace == without.text.withoutTrace)
            }
            // Tokens of users stay valid.
            let token = try simulator.mint(.long, person: "dora").text
            #expect(try await Wire.get(simulator, "/me?access_token=\(token)").status == 200)
            #expect(
                try await Wire.get(simulator, "/debug_token?input_token=\(token)&access_token=\(token)").status == 200
            )
        }
    }

    @Test(
        "whatever else is wrong, the reply says which version answered",
        arguments: ["error", "rateLimit", "html502", "false"]
    )
    func version(_ effect: String) async throws {
        try await SampleWorld.run { simulator in
            let effects: [String: GraphSimulator.Fault.Effect] = [
                "error": .error(.init(code: 2)),
                "rateLimit": .rateLimit(code: 4, usage: GraphSimulator.AppUsage(), status: nil, retryAfter: nil),
                "html502": .reply(status: 502, headers: [], body: Array("<html>".utf8)),
                "false": .reply(status: 200, headers: [], body: Array("false".utf8)),
            ]
            simulator.add(.init(try #require(effects[effect])))
            let reply = try await Wire.get(simulator, "/v19.0/\(SampleWorld.app)?\(Self.token)")
            #expect(reply.header("facebook-api-version") == "v21.0")
        }
    }
}
