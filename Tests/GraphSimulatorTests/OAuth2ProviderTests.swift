import Foundation
import GraphSimulator
import Testing

@Suite("a provider of OAuth 2.0 without ID tokens")
struct OAuth2ProviderTests {
    typealias JSON = GraphSimulator.JSON

    private static let credentials = "client_id=app&client_secret=secret"
    private static let back = "redirect_uri=https%3A%2F%2Fapp.example%2Fback"
    private static let basic = "Authorization: Basic \(Data("app:secret".utf8).base64EncodedString())"

    /// Runs a closure with a provider `p` of a style, whose client is `app`.
    private static func run(
        _ style: GraphSimulator.OAuth2Style,
        user: JSON,
        _ body: (GraphSimulator, Control) async throws -> Void
    ) async throws {
        var provider = GraphSimulator.OAuth2Provider(name: "p", style: style, clients: ["app": "secret"])
        provider.user = user
        let made = provider
        try await Control.run { simulator, control in
            simulator.put(made)
            try await body(simulator, control)
        }
    }

    /// Ends the dialog at a path, and returns the code.
    private static func code(_ simulator: GraphSimulator, _ path: String, _ scope: String) async throws -> String {
        let target = "/oauth2/p/\(path)?client_id=app&\(back)&response_type=code&state=s&scope=\(scope)"
        let reply = try await Wire.get(simulator, target)
        try #require(reply.status == 302, "\(reply.text)")
        let query = try #require(URLComponents(string: reply.header("location") ?? "")?.queryItems)
        return try #require(query.first { $0.name == "code" }?.value)
    }

    private static func post(
        _ simulator: GraphSimulator,
        _ path: String,
        _ form: String,
        headers: [String] = ["Accept: application/json"]
    ) async throws -> (status: Int, json: JSON) {
        let reply = try await Wire.post(simulator, "/oauth2/p/\(path)", form: form, headers: headers)
        return (reply.status, try JSON(parsing: reply.body))
    }

    private static func get(_ simulator: GraphSimulator, _ path: String, _ token: String) async throws -> Wire.Reply {
        try await Wire.get(simulator, "/oauth2/p/\(path)", headers: ["Authorization: Bearer \(token)"])
    }

    @Test("github: errors with status 200, tokens without end, and a check of another app's token")
    func github() async throws {
        try await Self.run(.github, user: ["id": 5, "login": "ann"]) { simulator, control in
            let code = try await Self.code(simulator, "login/oauth/authorize", "read:user%20user:email")
            let path = "login/oauth/access_token"
            let form = "\(Self.back)&code=\(code)&client_id=app&client_secret="
            let refused = try await Self.post(simulator, path, form + "wrong")
            #expect(refused.status == 200 && refused.json["error"] == "incorrect_client_credentials")
            let tokens = try await Self.post(simulator, path, form + "secret")
            #expect(tokens.json["scope"] == "read:user,user:email" && tokens.json["expires_in"] == nil)
            let token = try #require(tokens.json["access_token"]?.string)
            #expect(try await Self.get(simulator, "user", token).text == #"{"id":5,"login":"ann"}"#)
            #expect(try await Self.get(simulator, "user", "x").text.contains("Bad credentials"))
            let foreign = try await control.post(
                "/oauth2/access-tokens",
                #"{"provider": "p", "client": "another", "scopes": []}"#
            )
            for (text, status) in [(token, 200), (try #require(foreign["accessToken"]?.string), 404)] {
                let check = try await Wire.post(
                    simulator,
                    "/oauth2/p/applications/app/token",
                    body: #"{"access_token": "\#(text)"}"#,
                    headers: [Self.basic, "Content-Type: application/json"]
                )
                #expect(check.status == status)
            }
            let again = try await Self.post(simulator, path, form + "secret")
            #expect(again.status == 200 && again.json["error"] == "bad_verification_code")
            #expect(try await Self.get(simulator, "user", token).status == 401)
        }
    }

    @Test("discord: the token's application and user, and a revocation of all tokens")
    func discord() async throws {
        try await Self.run(.discord, user: ["id": "9", "username": "ann"]) { simulator, _ in
            let code = try await Self.code(simulator, "oauth2/authorize", "identify")
            let form = "grant_type=authorization_code&\(Self.back)&code=\(code)"
            let tokens = try await Self.post(simulator, "api/oauth2/token", form, headers: [Self.basic])
            let token = try #require(tokens.json["access_token"]?.string)
            let refresh = try #require(tokens.json["refresh_token"]?.string)
            let about = try JSON(parsing: try await Self.get(simulator, "api/oauth2/@me", token).body)
            #expect(about["application"]?["id"] == "app" && about["user"]?["id"] == "9")
            #expect(about["expires"] == "2022-11-25T05:30:03+00:00")
            let revoked = try await Self.post(
                simulator,
                "api/oauth2/token/revoke",
                "token=\(refresh)",
                headers: [Self.basic]
            )
            #expect(revoked.status == 200)
            #expect(try await Self.get(simulator, "api/users/@me", token).status == 401)
        }
    }

    @Test("linkedin: the state of a token, before and after its revocation")
    func linkedIn() async throws {
        try await Self.run(.linkedin, user: ["sub": "7"]) { simulator, _ in
            let code = try await Self.code(simulator, "oauth/v2/authorization", "openid%20profile")
            let form = "grant_type=authorization_code&\(Self.back)&code=\(code)&\(Self.credentials)"
            let tokens = try await Self.post(simulator, "oauth/v2/accessToken", form)
            let token = try #require(tokens.json["access_token"]?.string)
            #expect(try await Self.get(simulator, "v2/userinfo", token).text == #"{"sub":"7"}"#)
            let named = "\(Self.credentials)&token=\(token)"
            let state = try await Self.post(simulator, "oauth/v2/introspectToken", named).json
            #expect(state["active"] == true && state["client_id"] == "app" && state["scope"] == "openid,profile")
            #expect(try await Self.post(simulator, "oauth/v2/revoke", named).status == 200)
            let ended = try await Self.post(simulator, "oauth/v2/introspectToken", named).json
            #expect(ended["active"] == false && ended["status"] == "revoked")
        }
    }
}
