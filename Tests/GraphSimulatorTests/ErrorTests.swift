import GraphSimulator
import Testing

@Suite("errors have Graph's envelope, status, texts and WWW-Authenticate")
struct ErrorTests {
    /// Target (TOKEN stands for Ann's valid one), status, type, code with subcode, message, word of `WWW-Authenticate`.
    static let table: [(String, Int, String, String, String, String)] = [
        (
            "/me", 400, "OAuthException", "2500",
            "An active access token must be used to query information about the current user.", "invalid_request"
        ),
        (
            "/me?access_token=", 400, "OAuthException", "2500",
            "An active access token must be used to query information about the current user.", "invalid_request"
        ),
        (
            "/me?access_token=\(SampleWorld.encodedAppToken)", 400, "OAuthException", "2500",
            "An active access token must be used to query information about the current user.", "invalid_request"
        ),
        (
            "/123", 400, "OAuthException", "104", "An access token is required to request this resource.",
            "invalid_request"
        ),
        (
            "/me?access_token=garbage", 400, "OAuthException", "190",
            "Invalid OAuth access token - Cannot parse access token", "invalid_token"
        ),
        (
            "/me?access_token=EAAgarbageZD", 400, "OAuthException", "190", "The access token could not be decrypted",
            "invalid_token"
        ),
        (
            "/me?access_token=eyJhbGciOiJSUzI1NiJ9.e30.c2ln", 400, "OAuthException", "190", "Bad signature",
            "invalid_token"
        ),
        (
            "/app?access_token=\(SampleWorld.app)%7Cwrong", 400, "OAuthException", "190",
            "Invalid OAuth access token signature.", "invalid_token"
        ),
        (
            "/unknown?access_token=TOKEN", 400, "OAuthException", "2500", "Unknown path components: /unknown",
            "invalid_request"
        ),
        (
            "/me/unknown?access_token=TOKEN", 400, "OAuthException", "2500", "Unknown path components: /unknown",
            "invalid_request"
        ),
        (
            "/v99.0/me?access_token=TOKEN", 400, "OAuthException", "2500", "Unknown path components: /v99.0/me",
            "invalid_request"
        ),
        (
            "/456?access_token=TOKEN", 400, "GraphMethodException", "100,33",
            "Unsupported get request. Object with ID '456' does not exist, cannot be loaded due to missing permissions, or does not support this operation. Please read the Graph API documentation at https://developers.facebook.com/docs/graph-api",
            "invalid_request"
        ),
        (
            "/?ids=123,,me&access_token=TOKEN", 400, "OAuthException", "2500", "Cannot specify an empty identifier",
            "invalid_request"
        ),
        (
            "/?ids=\((1...51).map(String.init).joined(separator: ","))&access_token=TOKEN", 400, "OAuthException",
            "100",
            "(#100) Too many IDs. Maximum: 50. Provided: 51.", "invalid_request"
        ),
        (
            "/?ids=me,nobody&access_token=TOKEN", 404, "OAuthException", "803",
            "(#803) Some of the aliases you requested do not exist: nobody", "invalid_request"
        ),
        (
            "/?ids=me", 400, "OAuthException", "104", "An access token is required to request this resource.",
            "invalid_request"
        ),
        (
            "/", 400, "GraphMethodException", "100",
            "Unsupported get request. Please read the Graph API documentation at https://developers.facebook.com/docs/graph-api",
            "invalid_request"
        ),
    ]

    @Test("requests that Graph refuses", arguments: table)
    func refused(
        _ target: String,
        _ status: Int,
        _ type: String,
        _ code: String,
        _ message: String,
        _ word: String
    ) async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let reply = try await Wire.get(simulator, target.replacing("TOKEN", with: token))
            let codes = code.split(separator: ",")
            let subcode = codes.count > 1 ? #","error_subcode":\#(codes[1])"# : ""
            let text = message.replacing("/", with: #"\/"#)
            #expect(reply.status == status)
            #expect(
                reply.text.withoutTrace
                    == #"{"error":{"message":"\#(text)","type":"\#(type)","code":\#(codes[0])\#(subcode),"fbtrace_id":"A…"}}"#
            )
            #expect(
                reply.header("WWW-Authenticate") == #"OAuth "Facebook Platform" "\#(word)" "\#(message)""#
            )
            #expect(reply.header("Cache-Control") == "no-store")
            #expect(reply.header("ETag") == nil)
        }
    }

    /// The kind of token, and the subcode and message of the error.
    static let ended: [(GraphSimulator.TokenKind, Int?, String)] = [
        (
            .expired, 463,
            "Session has expired on Wednesday, 16-Nov-22 21:30:03 PST. The current time is Thursday, 17-Nov-22 21:30:03 PST."
        ),
        (
            .passwordChanged, 460,
            "The session has been invalidated because the user changed their password or Facebook has changed the session for security reasons."
        ),
        (.appRemoved, 458, "The user has not authorized application 257422819769992."),
        (.invalidated, 466, "The session was invalidated explicitly using an API call."),
        (.loggedOut, 467, "The session is invalid because the user logged out."),
        (
            .checkpointed, 459,
            "You cannot access the app till you log in to www.facebook.com and follow the instructions given."
        ),
        (.unconfirmed, 464, "Sessions for the user are not allowed because the user is not a confirmed user."),
        (.malformed, nil, "Session key is malformed."),
    ]

    @Test("ended sessions at /me", arguments: ended)
    func session(_ kind: GraphSimulator.TokenKind, _ subcode: Int?, _ message: String) async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(kind, person: "ann").text
            let reply = try await Wire.get(simulator, "/v25.0/me?access_token=\(token)")
            let code = subcode.map { #","error_subcode":\#($0)"# } ?? ""
            #expect(reply.status == 400)
            #expect(
                reply.text.withoutTrace
                    == #"{"error":{"message":"Error validating access token: \#(message)","type":"OAuthException","code":190\#(code),"fbtrace_id":"A…"}}"#
            )
        }
    }

    @Test("a quoted request cannot add headers")
    func injection() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let reply = try await Wire.get(simulator, "/me?fields=a%0D%0AX-Evil:%201&access_token=\(token)")
            #expect(reply.status == 400)
            #expect(reply.header("X-Evil") == nil)
        }
    }

    @Test("POST and DELETE are not supported where only GET is")
    func methods() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let post = try await Wire.post(simulator, "/me", form: "access_token=\(token)")
            #expect(post.status == 400)
            #expect(post.text.contains("Unsupported post request. Object with ID 'me' does not exist"))
        }
    }

    /// The form, and the status, code and message of the error.
    static let tokenErrors: [(String, Int, String)] = [
        (
            "client_id=1&client_secret=x&grant_type=client_credentials", 101,
            "Error validating application. Cannot get application info due to a system error."
        ),
        (
            "client_id=abc&client_secret=x&grant_type=client_credentials", 101,
            "Error validating application. Invalid application ID."
        ),
        ("client_secret=x&grant_type=client_credentials", 101, "Missing client_id parameter."),
        (
            "client_id=\(SampleWorld.app)&client_secret=x&grant_type=client_credentials", 1,
            "Error validating client secret."
        ),
        (
            "client_id=\(SampleWorld.app)&client_secret=\(SampleWorld.secret)&grant_type=password", 100,
            "Invalid grant_type: 'password'. Supported types: authorization_code, client_credentials"
        ),
    ]

    @Test("the token endpoint's refusals", arguments: tokenErrors)
    func tokenEndpoint(_ form: String, _ code: Int, _ message: String) async throws {
        try await SampleWorld.run { simulator in
            let reply = try await Wire.post(simulator, "/v25.0/oauth/access_token", form: form)
            #expect(reply.status == 400)
            #expect(
                reply.text.withoutTrace
                    == #"{"error":{"message":"\#(message)","type":"OAuthException","code":\#(code),"fbtrace_id":"A…"}}"#
            )
        }
    }

    @Test("the token endpoint gives app tokens by GET and POST, but not to desktop apps")
    func appToken() async throws {
        try await SampleWorld.run { simulator in
            let form =
                "client_id=\(SampleWorld.app)&client_secret=\(SampleWorld.secret)&grant_type=client_credentials"
            let post = try await Wire.post(simulator, "/oauth/access_token", form: form)
            let get = try await Wire.get(simulator, "/v25.0/oauth/access_token?\(form)")
            #expect(post.text == get.text)
            #expect(
                post.text
                    == #"{"access_token":"\#(simulator.appToken(of: SampleWorld.app) ?? "")","token_type":"bearer"}"#
            )
            #expect(simulator.appToken(of: SampleWorld.app)?.utf8.count == SampleWorld.app.utf8.count + 1 + 27)
            simulator.update(app: SampleWorld.app) { $0.desktop = true }
            let desktop = try await Wire.post(simulator, "/oauth/access_token", form: form)
            #expect(desktop.text.contains("The request is invalid because the app is configured as a desktop app"))
        }
    }
}
