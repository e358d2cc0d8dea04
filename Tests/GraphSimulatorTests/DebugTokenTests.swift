import GraphSimulator
import Testing

@Suite("debug_token answers as the captured replies show")
struct DebugTokenTests {
    private func ask(
        _ simulator: GraphSimulator,
        _ input: String,
        as token: String = SampleWorld.appToken
    ) async throws -> Wire.Reply {
        try await Wire.get(
            simulator,
            "/v25.0/debug_token?input_token=\(Wire.encoded(input))&access_token=\(Wire.encoded(token))"
        )
    }

    @Test("an expired token: the captured reply, byte for byte")
    func expired() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.expired, person: "ann", scopes: ["email", "public_profile"])
            simulator.update(token: token.text) { token in
                token.issuedAt = 1_663_429_551
                token.expiresAt = 1_668_613_551
                token.dataAccessExpiresAt = 1_671_205_551
            }
            let reply = try await ask(simulator, token.text)
            #expect(reply.status == 200)
            #expect(
                reply.text
                    == #"{"data":{"app_id":"257422819769992","type":"USER","application":"oauth2-rs-f-b-web-app-demo","data_access_expires_at":1671205551,"error":{"code":190,"message":"Error validating access token: Session has expired on Wednesday, 16-Nov-22 07:45:51 PST. The current time is Thursday, 17-Nov-22 21:30:03 PST.","subcode":463},"expires_at":1668613551,"is_valid":false,"issued_at":1663429551,"scopes":["email","public_profile"],"user_id":"123"}}"#
            )
        }
    }

    @Test("a short-lived token has no issued_at and ends on a whole hour")
    func short() async throws {
        try await SampleWorld.run { simulator in
            let request = GraphSimulator.TokenRequest(.short, person: "ann", scopes: ["public_profile"])
            var withMetadata = request
            withMetadata.metadata = ["auth_type": "rerequest"]
            let reply = try await ask(simulator, try simulator.mint(withMetadata).text)
            #expect(
                reply.text
                    == #"{"data":{"app_id":"257422819769992","type":"USER","application":"oauth2-rs-f-b-web-app-demo","data_access_expires_at":1676525403,"expires_at":1668754800,"is_valid":true,"metadata":{"auth_type":"rerequest"},"scopes":["public_profile"],"user_id":"123"}}"#
            )
        }
    }

    @Test("a long-lived token has issued_at, 60 days and 90 days of data access")
    func long() async throws {
        try await SampleWorld.run { simulator in
            let reply = try await ask(simulator, try simulator.mint(.long, person: "ann", scopes: []).text)
            #expect(
                reply.text
                    == #"{"data":{"app_id":"257422819769992","type":"USER","application":"oauth2-rs-f-b-web-app-demo","data_access_expires_at":1676525403,"expires_at":1673933403,"is_valid":true,"issued_at":1668749403,"scopes":["public_profile"],"user_id":"123"}}"#
            )
        }
    }

    @Test("a page token names its page, its granular scopes and its user")
    func page() async throws {
        try await SampleWorld.run { simulator in
            let reply = try await ask(simulator, try simulator.mint(.page, person: "ann").text)
            #expect(
                reply.text
                    == #"{"data":{"app_id":"257422819769992","type":"PAGE","application":"oauth2-rs-f-b-web-app-demo","data_access_expires_at":1676525403,"expires_at":1668754800,"is_valid":true,"profile_id":"104518538110217","scopes":["pages_show_list","public_profile"],"granular_scopes":[{"scope":"pages_show_list","target_ids":["104518538110217"]}],"user_id":"123"}}"#
            )
        }
    }

    @Test("app tokens in both forms", arguments: [SampleWorld.appToken, "minted"])
    func app(_ text: String) async throws {
        try await SampleWorld.run { simulator in
            let token = text == "minted" ? try simulator.mint(.app).text : text
            let reply = try await ask(simulator, token, as: token)
            #expect(
                reply.text
                    == #"{"data":{"app_id":"257422819769992","type":"APP","application":"oauth2-rs-f-b-web-app-demo","is_valid":true,"scopes":[]}}"#
            )
        }
    }

    /// The kind of token, the subcode, the end of the message, and the members beside the error.
    static let endedCases: [(GraphSimulator.TokenKind, Int?, String, String)] = [
        (
            .passwordChanged, 460,
            "The session has been invalidated because the user changed their password or Facebook has changed the session for security reasons.",
            #""expires_at":0,"is_valid":false,"scopes":["email","public_profile"]"#
        ),
        (
            .invalidated, 466, "The session was invalidated explicitly using an API call.",
            #""expires_at":1673933403,"is_valid":false,"issued_at":1668749403,"scopes":[]"#
        ),
        (
            .appRemoved, 458, "The user has not authorized application 257422819769992.",
            #""expires_at":1673933403,"is_valid":false,"issued_at":1668749403,"scopes":[]"#
        ),
        (
            .loggedOut, 467, "The session is invalid because the user logged out.",
            #""expires_at":1673933403,"is_valid":false,"issued_at":1668749403,"scopes":["email","public_profile"]"#
        ),
        (
            .checkpointed, 459,
            "You cannot access the app till you log in to www.facebook.com and follow the instructions given.",
            #""expires_at":1673933403,"is_valid":false,"issued_at":1668749403,"scopes":["email","public_profile"]"#
        ),
        (
            .unconfirmed, 464, "Sessions for the user are not allowed because the user is not a confirmed user.",
            #""expires_at":1673933403,"is_valid":false,"issued_at":1668749403,"scopes":["email","public_profile"]"#
        ),
        (
            .malformed, nil, "Session key is malformed.",
            #""expires_at":1673933403,"is_valid":false,"issued_at":1668749403,"scopes":["email","public_profile"]"#
        ),
    ]

    @Test("an ended session is HTTP 200 with the reason inside data", arguments: endedCases)
    func ended(
        _ kind: GraphSimulator.TokenKind,
        _ subcode: Int?,
        _ message: String,
        _ rest: String
    ) async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(kind, person: "ann", scopes: ["email", "public_profile"])
            let reply = try await ask(simulator, token.text)
            let code = subcode.map { #","subcode":\#($0)"# } ?? ""
            #expect(reply.status == 200)
            #expect(
                reply.text
                    == #"{"data":{"app_id":"257422819769992","type":"USER","application":"oauth2-rs-f-b-web-app-demo","data_access_expires_at":1676525403,"error":{"code":190,"message":"Error validating access token: \#(message)"\#(code)},\#(rest),"user_id":"123"}}"#
            )
        }
    }

    static let undecodableCases: [(String, String)] = [
        ("xxxx", "Invalid OAuth access token - Cannot parse access token"),
        ("EAADqHZBu6vogBAGIEufbbDLr7hSaZCNFy8r4enIYZD", "The access token could not be decrypted"),
        ("257422819769992|abc", "Invalid OAuth access token signature."),
        ("123|abc", "Error validating application. Cannot get application info due to a system error."),
        ("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "Bad signature"),
        ("Ünïcode", "Invalid OAuth access token - Cannot parse access token"),
    ]

    @Test("what cannot be decoded is HTTP 200 without a word about app or user", arguments: undecodableCases)
    func undecodable(_ input: String, _ message: String) async throws {
        try await SampleWorld.run { simulator in
            let reply = try await ask(simulator, input)
            #expect(reply.status == 200)
            #expect(
                reply.text
                    == #"{"data":{"error":{"code":190,"message":"\#(message)"},"is_valid":false,"scopes":[]}}"#
            )
        }
    }

    @Test(
        "minted undecodable tokens",
        arguments: [
            (GraphSimulator.TokenKind.undecodable, "Invalid OAuth access token - Cannot parse access token"),
            (.undecryptable, "The access token could not be decrypted"),
        ]
    )
    func mintedUndecodable(_ kind: GraphSimulator.TokenKind, _ message: String) async throws {
        try await SampleWorld.run { simulator in
            let reply = try await ask(simulator, try simulator.mint(kind).text)
            #expect(reply.text.contains(#"{"code":190,"message":"\#(message)"}"#))
        }
    }

    @Test("another app's token, and a debug-only token, are HTTP 400")
    func refusedInputs() async throws {
        try await SampleWorld.run { simulator in
            let other = try await ask(simulator, try simulator.mint(.otherApp, person: "ann").text)
            #expect(other.status == 400)
            #expect(
                other.text.withoutTrace
                    == #"{"error":{"message":"(#100) The App_id in the input_token did not match the Viewing App","type":"OAuthException","code":100,"fbtrace_id":"A…"}}"#
            )
            let debugOnly = try await ask(simulator, try simulator.mint(.debugOnly).text)
            #expect(debugOnly.status == 400)
            #expect(
                debugOnly.text.withoutTrace
                    == #"{"error":{"message":"Invalid OAuth access token - Debug only access token","type":"OAuthException","code":190,"fbtrace_id":"A…"}}"#
            )
        }
    }

    @Test("who may ask: app tokens and developers, nobody else")
    func viewers() async throws {
        try await SampleWorld.run { simulator in
            let input = try simulator.mint(.short, person: "ann").text
            let required =
                #"{"error":{"message":"(#100) You must provide an app access token, or a user access token that is an owner or developer of the app","type":"OAuthException","code":100,"fbtrace_id":"A…"}}"#

            let without = try await Wire.get(simulator, "/debug_token?input_token=\(input)")
            #expect(without.status == 400)
            #expect(without.text.withoutTrace == required)

            let user = try await ask(simulator, input, as: input)
            #expect(user.text.withoutTrace == required)

            let developer = try await ask(simulator, input, as: try simulator.mint(.short, person: "dora").text)
            #expect(developer.status == 200)
            #expect(developer.text.contains(#""is_valid":true"#))

            let wrongSecret = try await ask(simulator, input, as: "\(SampleWorld.app)|wrong")
            #expect(wrongSecret.status == 400)
            #expect(
                wrongSecret.text.withoutTrace
                    == #"{"error":{"message":"Invalid OAuth access token signature.","type":"OAuthException","code":190,"fbtrace_id":"A…"}}"#
            )

            let short = try await ask(simulator, input, as: simulator.appToken(of: SampleWorld.app) ?? "")
            #expect(short.status == 200)

            simulator.update(app: SampleWorld.app) { $0.desktop = true }
            let desktop = try await ask(simulator, input)
            #expect(desktop.status == 400)
            #expect(desktop.text.withoutTrace == required)

            simulator.update(app: SampleWorld.app) { $0.desktop = false }
            let noInput = try await Wire.get(simulator, "/debug_token?access_token=\(SampleWorld.encodedAppToken)")
            #expect(noInput.text.contains("(#100) The parameter input_token is required"))
        }
    }

    @Test("expired data access leaves the token valid; never-ending and system users' tokens say 0")
    func otherKinds() async throws {
        try await SampleWorld.run { simulator in
            let over = try await ask(simulator, try simulator.mint(.dataAccessExpired, person: "ann").text)
            #expect(over.text.contains(#""data_access_expires_at":1668663003,"expires_at":0,"is_valid":true"#))
            let never = try await ask(simulator, try simulator.mint(.never, person: "ann").text)
            #expect(never.text.contains(#""expires_at":0,"is_valid":true,"issued_at":1668749403"#))
            let system = try await ask(simulator, try simulator.mint(.systemUser, person: "ann").text)
            #expect(system.text.contains(#""type":"SYSTEM_USER""#))
        }
    }

    @Test("time passes: a good token ends, and scopes follow the person")
    func changes() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            simulator.update(person: "ann") { $0.set("email", .declined) }
            let declined = try await ask(simulator, token)
            #expect(declined.text.contains(#""scopes":["public_profile","#))
            simulator.advanceClock(bySeconds: 60 * 86400)
            let ended = try await ask(simulator, token)
            #expect(ended.text.contains(#""subcode":463"#))
            #expect(ended.text.contains("Session has expired on Monday, 16-Jan-23 21:30:03 PST."))
            simulator.advanceClock(bySeconds: -60 * 86400)
            simulator.remove(person: "ann")
            let gone = try await ask(simulator, token)
            #expect(gone.text.contains(#""subcode":458"#))
        }
    }
}
