@testable import AuthorizationServers
import Description
import Domain
import Encodings
import Providers
import Testing

@Suite("Authorization servers")
struct AuthorizationServerTests {
    private func object(_ text: String) throws -> JSONObject {
        try #require(try JSONParser.parse(text, limits: .request).object)
    }

    @Test("a token response has its tokens, its lifetime as a number or a text, and scopes with spaces or commas")
    func tokenResponse() throws {
        let text = #"{"access_token": "a", "token_type": "bearer", "expires_in": 600, "scope": "openid email"}"#
        let spaces = try #require(TokenResponse(try object(text)))
        #expect(spaces.accessToken?.reveal() == "a" && spaces.seconds == 600 && spaces.scopes == ["openid", "email"])
        #expect(spaces.refreshToken == nil && spaces.idToken == nil)
        let commas = try #require(
            TokenResponse(try object(#"{"access_token": "a", "expires_in": "600", "scope": "read:user,user:email"}"#))
        )
        #expect(commas.seconds == 600 && commas.scopes == ["read:user", "user:email"])
        #expect(TokenResponse(try object(#"{"access_token": "a", "token_type": "DPoP"}"#)) == nil)
        for (text, seconds) in [
            ("9223372036854775807", Int64(10 * 366 * 86_400)), (#""9223372036854775807""#, 10 * 366 * 86_400),
            ("-5", 0),
        ] {
            let response = try #require(TokenResponse(try object(#"{"expires_in": \#(text)}"#)))
            #expect(response.seconds == seconds, "\(text)")
        }
        #expect(try #require(TokenResponse([:])).accessToken == nil)
    }

    @Test("an error has a name of RFC 6749, or a server's own that a preset translates")
    func errors() throws {
        let synonyms = ["bad_verification_code": "invalid_grant"]
        #expect(TokenError(try object(#"{"error": "invalid_client"}"#), synonyms: [:]) == .invalidClient)
        #expect(TokenError(try object(#"{"error": "bad_verification_code"}"#), synonyms: synonyms) == .invalidGrant)
        for text in [#"{"error": "bad_verification_code"}"#, #"{"error": 1}"#, "{}"] {
            #expect(TokenError(try object(text), synonyms: [:]) == nil, "\(text)")
        }
    }

    @Test("a member is found by its path, and nothing else")
    func memberPaths() throws {
        let reply = try object(#"{"app": {"client_id": "a", "n": 7}, "x": "y"}"#)
        #expect(MemberPath.value(at: "app.client_id", in: reply)?.identifier == "a")
        #expect(MemberPath.value(at: "app.n", in: reply)?.identifier == "7")
        for path in ["app.none", "x.y", "none", "app.client_id.a"] {
            #expect(MemberPath.value(at: path, in: reply) == nil, "\(path)")
        }
        for path in ["", ".", "a.", ".a", "a b", "a.b.c.d.e.f"] {
            #expect(MemberPath.rule.problem(path) != nil, "\(path)")
        }
    }

    @Test("a kept token names its client")
    func keptGrants() throws {
        let client = try #require(ProviderAppID("com.example.app"))
        let token = ProviderToken(kind: .refresh, text: Secret("r-1"), expiresAt: nil)
        let grant = try KeptGrant(KeptGrant(token, of: client).kept)
        #expect(grant.client == client && grant.token.text.reveal() == "r-1" && grant.token.kind == .refresh)
        #expect(grant.replaced(by: Secret("r-2")).reveal() == "com.example.app r-2")
        let nameless = ProviderToken(kind: .refresh, text: Secret("r"), expiresAt: nil)
        #expect(throws: Failure.self) { try KeptGrant(nameless) }
        let response = try #require(TokenResponse(try object(#"{"access_token": "a", "expires_in": 600}"#)))
        #expect(KeptGrant(response, of: client, keepsAccessTokens: false, now: 1000) == nil)
        #expect(KeptGrant(response, of: client, keepsAccessTokens: true, now: 1000)?.token.expiresAt == 1600)
    }

    @Test("a client authenticates by the header or the form, and a public one by its id alone")
    func credentials() throws {
        let client = try #require(ProviderAppID("web:1"))
        func sent(_ secret: String?, _ method: ClientAuthentication) -> (form: String, header: String?) {
            var form = Parameters()
            let header = ClientCredentials(id: client, secret: secret.map(Secret.init), by: method)
                .authenticate(&form)
            return (form.text, header)
        }
        // RFC 6749 §2.3.1: the id and the secret are encoded before they are joined.
        #expect(sent("a b:c", .basic) == ("", "Basic d2ViJTNBMTphJTIwYiUzQWM="))
        #expect(sent("a b:c", .form) == ("client_id=web%3A1&client_secret=a%20b%3Ac", nil))
        #expect(sent(nil, .basic) == ("client_id=web%3A1", nil))
    }
}
