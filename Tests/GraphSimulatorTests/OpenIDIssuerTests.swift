import Crypto
import Foundation
import GraphSimulator
import Testing

@Suite("an issuer of OpenID Connect")
struct OpenIDIssuerTests {
    typealias JSON = GraphSimulator.JSON

    /// The example of RFC 7636, appendix B.
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    private static let dialog =
        "/oidc/staff/authorize?client_id=web&redirect_uri=https%3A%2F%2Fapp.example%2Fback&response_type=code"
        + "&scope=openid%20email&state=s&nonce=n&code_challenge=\(challenge)&code_challenge_method=S256"
    private static let basic = "Authorization: Basic \(Data("web:secret".utf8).base64EncodedString())"

    /// Runs a closure with an issuer `staff`, whose client is `web`.
    private static func run(
        _ change: (inout GraphSimulator.OpenIDIssuer) -> Void = { _ in },
        _ body: (GraphSimulator, Control) async throws -> Void
    ) async throws {
        var issuer = GraphSimulator.OpenIDIssuer(name: "staff", clients: ["web": "secret", "other": "secret"])
        issuer.user = #"{"sub": "u1", "email": "ann@example.com", "email_verified": true}"#
        change(&issuer)
        let made = issuer
        try await Control.run { simulator, control in
            simulator.put(made)
            try await body(simulator, control)
        }
    }

    /// Ends the dialog, and returns the code.
    private static func code(_ simulator: GraphSimulator, _ target: String = dialog) async throws -> String {
        let reply = try await Wire.get(simulator, target)
        try #require(reply.status == 302, "\(reply.text)")
        let query = try #require(URLComponents(string: reply.header("location") ?? "")?.queryItems)
        return try #require(query.first { $0.name == "code" }?.value)
    }

    private static func post(
        _ simulator: GraphSimulator,
        _ endpoint: String,
        _ form: String,
        headers: [String] = [basic]
    ) async throws -> (status: Int, json: JSON) {
        let reply = try await Wire.post(simulator, "/oidc/staff/\(endpoint)", form: form, headers: headers)
        return (reply.status, try JSON(parsing: reply.body))
    }

    private static func exchange(_ code: String, verifier: String = verifier) -> String {
        "grant_type=authorization_code&code=\(code)&redirect_uri=https%3A%2F%2Fapp.example%2Fback"
            + "&code_verifier=\(verifier)"
    }

    @Test("the discovery document offers the endpoints, without those that the issuer lacks")
    func discovery() async throws {
        try await Self.run({ $0.lacks = ["userinfo_endpoint"] }) { simulator, _ in
            let reply = try await Wire.get(simulator, "/oidc/staff/.well-known/openid-configuration")
            let document = try JSON(parsing: reply.body)
            #expect(document["issuer"] == "http://graph.facebook.com/oidc/staff")
            #expect(document["revocation_endpoint"] == "http://graph.facebook.com/oidc/staff/revoke")
            #expect(document["token_endpoint_auth_methods_supported"] == ["client_secret_basic"])
            #expect(document["userinfo_endpoint"] == nil)
        }
    }

    @Test("a code is exchanged once; a second attempt ends the tokens of the first")
    func codes() async throws {
        try await Self.run { simulator, _ in
            let code = try await Self.code(simulator)
            let anonymous = try await Self.post(simulator, "token", Self.exchange(code), headers: [])
            #expect(anonymous.status == 401 && anonymous.json == ["error": "invalid_client"])
            let tokens = try await Self.post(simulator, "token", Self.exchange(code))
            #expect(tokens.status == 200 && tokens.json["scope"] == "openid email")
            #expect(tokens.json["refresh_token"] == nil)
            let idToken = try JWT(try #require(tokens.json["id_token"]?.string))
            #expect(try idToken.claim("nonce") == "n")
            #expect(try idToken.claim("email") == "ann@example.com")
            #expect(try await idToken.isSigned(by: simulator))
            let access = try #require(tokens.json["access_token"]?.string)
            let header = "Authorization: Bearer \(access)"
            #expect(try await Wire.get(simulator, "/oidc/staff/userinfo", headers: [header]).status == 200)
            let again = try await Self.post(simulator, "token", Self.exchange(code))
            #expect(again.status == 400 && again.json == ["error": "invalid_grant"])
            #expect(try await Wire.get(simulator, "/oidc/staff/userinfo", headers: [header]).status == 401)
            let next = try await Self.code(simulator)
            let wrong = try await Self.post(simulator, "token", Self.exchange(next, verifier: "another"))
            #expect(wrong.json == ["error": "invalid_grant"])
        }
    }

    @Test("refresh tokens rotate; introspection and revocation know them")
    func refresh() async throws {
        try await Self.run({ ($0.refreshTokens, $0.rotates) = (true, true) }) { simulator, control in
            let code = try await Self.code(simulator)
            let first = try await Self.post(simulator, "token", Self.exchange(code)).json
            let former = try #require(first["refresh_token"]?.string)
            let form = "grant_type=refresh_token&refresh_token="
            let second = try await Self.post(simulator, "token", form + former).json
            let current = try #require(second["refresh_token"]?.string)
            #expect(try JWT(try #require(second["id_token"]?.string)).claim("nonce") == nil)
            #expect(try await Self.post(simulator, "token", form + former).json == ["error": "invalid_grant"])
            let access = try #require(second["access_token"]?.string)
            let state = try await Self.post(simulator, "introspect", "token=\(access)").json
            #expect(state["active"] == true && state["client_id"] == "web" && state["sub"] == "u1")
            let foreign = "Authorization: Basic \(Data("other:secret".utf8).base64EncodedString())"
            #expect(try await Self.post(simulator, "revoke", "token=\(current)", headers: [foreign]).status == 400)
            #expect(try await Self.post(simulator, "revoke", "token=unknown").status == 200)
            #expect(try await Self.post(simulator, "revoke", "token=\(current)").status == 200)
            #expect(try await Self.post(simulator, "introspect", "token=\(access)").json == ["active": false])
            let listed = try JSON(parsing: try await control.send("GET", "/openid/tokens").body).array ?? []
            #expect(listed.map { $0["state"] } == ["revoked", "replaced", "revoked", "revoked"])
        }
    }

    @Test("tokens and codes as a native SDK has them")
    func native() async throws {
        try await Self.run { simulator, control in
            let made = try await control.post(
                "/openid/access-tokens",
                #"{"issuer": "staff", "client": "ios", "user": {"sub": "u1", "email": "own@example.com"}}"#
            )
            let token = try #require(made["accessToken"]?.string)
            #expect(made["refreshToken"] != nil)
            let info = try await Wire.get(simulator, "/oidc/staff/tokeninfo?access_token=\(token)")
            let json = try JSON(parsing: info.body)
            #expect(json["aud"] == "ios" && json["email"] == "own@example.com" && json["expires_in"] == "600")
            let code = try await control.post("/openid/codes", #"{"issuer": "staff", "client": "web", "nonce": "m"}"#)
            let form = "grant_type=authorization_code&code=\(try #require(code["code"]?.string))"
            #expect(try await Self.post(simulator, "token", form).status == 200)
        }
    }

    @Test("an issuer's key is replaced, with a new id or the same", arguments: GraphSimulator.OpenIDAlgorithm.allCases)
    func rotation(algorithm: GraphSimulator.OpenIDAlgorithm) async throws {
        try await Self.run({ issuer in
            issuer.algorithm = algorithm
            issuer.extraKeys = [["kty": "RSA", "n": "AQ"]]
        }) { simulator, control in
            func keys() async throws -> [JSON] {
                let reply = try await Wire.get(simulator, "/oidc/staff/keys")
                return try #require(try JSON(parsing: reply.body)["keys"]?.array)
            }
            let first = try await keys()
            #expect(first.last == ["kty": "RSA", "n": "AQ"])
            let new = try await control.post("/openid/issuers/staff/rotate", "")
            let second = try await keys()
            #expect(second.count == 2 && second[0]["kid"] == new["kid"] && second[0] != first[0])
            #expect(try await control.post("/openid/issuers/staff/rotate", #"{"kid": "same"}"#) == new)
            let third = try await keys()
            #expect(third[0]["kid"] == new["kid"] && third[0] != second[0])
        }
    }

    @Test("Apple's quirks: a secret that is signed, and an answer by form that tells of a user once")
    func apple() async throws {
        let key = P256.Signing.PrivateKey()
        func secret() throws -> String {
            let end = SampleWorld.now + 300
            let claims = """
                {"iss": "TEAM", "sub": "web", "aud": "http://graph.facebook.com/oidc/staff", \
                "iat": \(SampleWorld.now), "exp": \(end)}
                """
            let text = [#"{"alg": "ES256", "kid": "K1"}"#, claims].map { Self.encoded(Data($0.utf8)) }
                .joined(separator: ".")
            return text + "." + Self.encoded(try key.signature(for: Data(text.utf8)).rawRepresentation)
        }
        try await Self.run({ issuer in
            issuer.authentication = .apple
            issuer.clientKey = .init(team: "TEAM", kid: "K1", publicKey: key.publicKey.pemRepresentation)
            issuer.answersByForm = true
            issuer.firstUser = ["name": ["firstName": "Ann"]]
        }) { simulator, _ in
            #expect(try await Wire.get(simulator, Self.dialog).status == 400)
            let page = try await Wire.get(simulator, Self.dialog + "&response_mode=form_post")
            #expect(page.status == 200 && page.header("content-type") == "text/html; charset=utf-8")
            #expect(page.text.contains("{&quot;name&quot;:{&quot;firstName&quot;:&quot;Ann&quot;}}"))
            let again = try await Wire.get(simulator, Self.dialog + "&response_mode=form_post")
            #expect(!again.text.contains("name=\"user\""))
            let code = try #require(again.text.firstMatch(of: #/name="code" value="([^"]+)"/#)?.1)
            let form = Self.exchange(String(code)) + "&client_id=web&client_secret="
            let refused = try await Self.post(simulator, "token", form + "secret", headers: [])
            #expect(refused.status == 400 && refused.json == ["error": "invalid_client"])
            #expect(try await Self.post(simulator, "token", form + secret(), headers: []).status == 200)
        }
    }

    private static func encoded(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
