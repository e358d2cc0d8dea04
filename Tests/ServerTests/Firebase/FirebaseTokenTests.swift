import Crypto
import CryptoExtras
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Tokens of Firebase's clients",
    .serialized,
    .deployed(
        Document(
            keyVariable: "OTHER_API_KEY",
            settings: "{\(FirebaseClient.settings)}",
            properties: #"{"photoUrl": {"type": "STRING", "clientMappable": true}}"#,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        Document(
            application: "other",
            hasServerKey: true,
            settings: #"{"firebase": {"projectId": "other-project"}}"#
        ),
        environment: ["FEDERATION_PUBLIC_URL": "https://users.example.com"]
    )
)
struct FirebaseTokenTests {
    let deployment: Deployment
    let client: FirebaseClient

    init() throws {
        deployment = try Deployment.current
        client = FirebaseClient(deployment: deployment)
    }

    private func account() async throws -> (signedIn: JSONObject, body: String) {
        let email = "t\(UInt32.random(in: 0 ... .max)).canary@example.com"
        let body = #"{"returnSecureToken": true, "email": "\#(email)", "password": "canary-8-letters"}"#
        return (try await client.call("accounts:signUp", body), body)
    }

    private func refreshed(_ token: String, asJSON: Bool = false) async throws -> JSONObject {
        let reply = try await client.refresh(token, asJSON: asJSON)
        try #require(reply.status == 200, "\(reply.text)")
        return try #require(JSON.object(reply.text))
    }

    private func error(ofRefresh token: String) async throws -> String? {
        FirebaseClient.error(try await client.refresh(token))
    }

    @Test("a host name of Google's that leads here serves the paths of that host")
    func hosts() async throws {
        let (signedIn, _) = try await account()
        for (host, path) in [
            ("identitytoolkit.googleapis.com", "/v1/accounts:lookup"),
            ("www.googleapis.com", "/identitytoolkit/v3/relyingparty/getAccountInfo"),
            ("IdentityToolkit.GoogleAPIs.com:443", "/v1/accounts:lookup"),
        ] {
            let reply = try await deployment.client.send(
                "POST",
                "\(path)?key=\(client.key)",
                headers: [("Host", host), ("Content-Type", "application/json")],
                body: Array(#"{"idToken": "\#(signedIn.idToken)"}"#.utf8)
            )
            #expect(reply.status == 200, "\(host): \(reply.text)")
        }
        for (host, path) in [
            ("www.googleapis.com", "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"),
            ("securetoken.google.com", "/canary-project/.well-known/openid-configuration"),
        ] {
            let reply = try await deployment.client.send("GET", path, headers: [("Host", host)])
            #expect(reply.status == 200, "\(host): \(reply.text)")
        }
        let other = try await deployment.client.send("POST", "/v1/accounts:lookup", headers: [("Host", "example.com")])
        #expect(other.status != 200)
    }

    @Test("a refresh token is replaced at each use, and the session goes on", arguments: [false, true])
    func rotation(asJSON: Bool) async throws {
        let (first, _) = try await account()
        let second = try await refreshed(first.refreshToken, asJSON: asJSON)
        #expect(second["expires_in"]?.string == "3600" && second["token_type"]?.string == "Bearer")
        #expect(second["access_token"] == second["id_token"] && second["user_id"] == first["localId"])
        #expect(second.refreshToken != first.refreshToken)
        #expect(second.claims["auth_time"] == first.claims["auth_time"], "a refresh is no sign-in")
        _ = try await client.lookUp(second)
        let third = try await refreshed(second.refreshToken)
        _ = try await client.lookUp(third)
    }

    @Test("a login by a password, a sign-up and a new guest get the refresh token from the statement of their session")
    func oneStatement() async throws {
        let (signedUp, body) = try await account()
        _ = try await client.call("accounts:signInWithPassword", body)
        for (user, sessions) in [(signedUp, "2"), (try await client.guest(), "1")] {
            let opened = """
                select count(*) from demo.sessions s join demo.refresh_tokens r on r.session = s.token_hash
                where s.object_id = '\(user["localId"]?.string ?? "")' and r.rotated = s.created
                """
            #expect(try await deployment.value(opened) == sessions)
        }
    }

    @Test("two ID tokens of one second differ, so the SDK takes the refresh token beside the second one")
    func unique() async throws {
        let (first, _) = try await account()
        let body = #"{"idToken": "\#(first.idToken)", "displayName": "Ann"}"#
        let tokens =
            [first.idToken, try await client.call("accounts:update", body).idToken]
            + [try await client.call("accounts:update", body).idToken]
        #expect(Set(tokens).count == 3)
    }

    @Test("T-61: two tabs that use one refresh token at once get the same successor, and the session stands")
    func race() async throws {
        let (first, _) = try await account()
        let replies = try await atOnce(6) { _ in try await refreshed(first.refreshToken) }
        #expect(Set(replies.map(\.refreshToken)).count == 1)
        _ = try await client.lookUp(try await refreshed(replies[0].refreshToken))
    }

    @Test("T-61: a refresh token that is used again later ends its session, for the thief and for the client")
    func reuse() async throws {
        let (first, _) = try await account()
        let second = try await refreshed(first.refreshToken)
        try await deployment.database.psql(
            "update demo.refresh_tokens set rotated = now() - interval '61 seconds' where former is not null"
        )
        // A page that was frozen gets no token, and stays: the error has no name. Then it reads the newest token.
        let stale = try await client.refresh(first.refreshToken)
        #expect(stale.status == 503 && FirebaseClient.error(stale) == nil, "\(stale.text)")
        #expect(stale.header("Retry-After") == "1" && stale.text.contains("UNAVAILABLE"), "\(stale.text)")
        // The log has the true reason, and no overload.
        try await eventually("a line about the old copy") {
            let lines = deployment.service.process.standardOutput.split(separator: "\n")
            return lines.contains { JSON.object(String($0))?["reason"]?.string == "refresh_token_replaced" }
        }
        let third = try await refreshed(second.refreshToken)
        for _ in 0..<2 { #expect(try await client.refresh(first.refreshToken).status == 503) }
        _ = try await client.lookUp(third)
        try await deployment.database.psql("update demo.refresh_tokens set suspected = now() - interval '11 seconds'")
        let reply = try await client.refresh(first.refreshToken)
        #expect(FirebaseClient.error(reply) == "TOKEN_EXPIRED", "\(reply.text)")
        #expect(try await error(ofRefresh: third.refreshToken) == "TOKEN_EXPIRED")
        #expect(try await error(ofRefresh: second.refreshToken) == "TOKEN_EXPIRED")
        try await client.expect("TOKEN_EXPIRED", of: "accounts:lookup", #"{"idToken": "\#(second.idToken)"}"#)
    }

    @Test("neither the refresh token nor the session token is stored")
    func stored() async throws {
        let (first, _) = try await account()
        let bytes = try #require(Base64URL.decode(first.refreshToken.utf8))
        let secret = Hexadecimal.encode(bytes.dropFirst(16))
        let rows = try await deployment.value("select string_agg(r::text, ' ') from demo.refresh_tokens r") ?? ""
        #expect(!rows.contains(secret) && rows.contains(Hexadecimal.encode(bytes.prefix(16))))
        #expect(!(try await deployment.isValid(first.refreshToken)))
    }

    @Test("a refresh token is a session: logging out elsewhere, a ban and a new password end it")
    func session() async throws {
        let (first, body) = try await account()
        let id = try #require(first["localId"]?.string)
        #expect(try await deployment.value("select count(*) from demo.sessions where object_id = '\(id)'") == "1")
        let admin = try await deployment.admin()
        try await admin.ask("DELETE", "applications/demo/users/\(id)/sessions")
        #expect(try await error(ofRefresh: first.refreshToken) == "TOKEN_EXPIRED")
        try await client.expect("TOKEN_EXPIRED", of: "accounts:lookup", #"{"idToken": "\#(first.idToken)"}"#)
        let one = try await client.call("accounts:signInWithPassword", body)
        let two = try await client.call("accounts:signInWithPassword", body)
        let changed = try await client.call(
            "accounts:update",
            #"{"idToken": "\#(one.idToken)", "password": "another-canary-8", "returnSecureToken": true}"#
        )
        _ = try await client.lookUp(changed)
        _ = try await refreshed(changed.refreshToken)
        #expect(try await error(ofRefresh: two.refreshToken) == "TOKEN_EXPIRED", "another device")
        #expect(try await error(ofRefresh: one.refreshToken) == "TOKEN_EXPIRED", "an older token of this device")
        try await admin.ask("PATCH", "applications/demo/users/\(id)", #"{"userStatus": "DISABLED"}"#)
        try await client.expect("TOKEN_EXPIRED", of: "accounts:lookup", #"{"idToken": "\#(changed.idToken)"}"#)
        let banned = body.replacing("canary-8-letters", with: "another-canary-8")
        try await client.expect("USER_DISABLED", of: "accounts:signInWithPassword", banned)
        try await client.expect("INVALID_LOGIN_CREDENTIALS", of: "accounts:signInWithPassword", body)
    }

    @Test("foreign, altered and unsigned tokens are no tokens of this project, in every call")
    func foreign() async throws {
        let (mine, _) = try await account()
        var elsewhere = client
        elsewhere.key = Canary.serverAPIKey
        let other = try await elsewhere.guest()
        let parts = mine.idToken.split(separator: ".").map(String.init)
        let header = Base64URL.encode(Array(#"{"alg":"none","typ":"JWT"}"#.utf8))
        let claims = try #require(Base64URL.decode(parts[1].utf8))
        let altered = String(decoding: claims, as: UTF8.self).replacing("\"password\"", with: "\"google.com\"")
        let tokens = [
            other.idToken, "\(header).\(parts[1]).", "\(header).\(parts[1]).\(parts[2])",
            "\(parts[0]).\(Base64URL.encode(Array(altered.utf8))).\(parts[2])", "\(parts[0]).\(parts[1])",
            String(decoding: claims, as: UTF8.self), mine.refreshToken, "owner",
        ]
        for call in ["accounts:lookup", "accounts:update", "accounts:delete", "accounts:signUp"] {
            for token in tokens {
                let json = JSONValue.object([
                    "idToken": .string(token), "displayName": .string("Eve"), "email": .string("e.canary@example.com"),
                    "password": .string("canary-8-letters"),
                ])
                try await client.expect("INVALID_ID_TOKEN", of: call, json.text)
            }
        }
        #expect(try await error(ofRefresh: other.refreshToken) == "TOKEN_EXPIRED", "of another application")
        for text in ["", "x", String(repeating: "a", count: 63), mine.idToken] {
            let expected = text.isEmpty ? "MISSING_REFRESH_TOKEN" : "INVALID_REFRESH_TOKEN"
            #expect(try await error(ofRefresh: text) == expected)
        }
        _ = try await client.lookUp(mine)
    }

    @Test("a profile is changed and read back whole; a login method is unlinked; the account is deleted")
    func accountChanges() async throws {
        let (signedIn, body) = try await account()
        let changed = try await client.call(
            "accounts:update",
            #"{"idToken": "\#(signedIn.idToken)", "displayName": "Ann", "photoUrl": "https://x.example/a.png"}"#
        )
        #expect(changed["displayName"]?.string == "Ann" && changed["photoUrl"]?.string == "https://x.example/a.png")
        let half = try await client.call(
            "accounts:update",
            #"{"idToken": "\#(signedIn.idToken)", "displayName": "Anna", "returnSecureToken": true}"#
        )
        #expect(half["displayName"]?.string == "Anna" && half["photoUrl"]?.string == "https://x.example/a.png")
        #expect(half.claims["name"]?.string == "Anna")
        let emptied = try await client.call(
            "accounts:update",
            #"{"idToken": "\#(signedIn.idToken)", "deleteAttribute": ["PHOTO_URL"]}"#
        )
        #expect(emptied["photoUrl"] == nil && emptied["displayName"]?.string == "Anna")
        let visitor = try await deployment.newcomer(#"{"first_name": "Ann"}"#)
        _ = try await client.signIn(visitor, #""idToken": "\#(signedIn.idToken)""#)
        let unlinked = try await client.call(
            "accounts:update",
            #"{"idToken": "\#(signedIn.idToken)", "deleteProvider": ["facebook.com"]}"#
        )
        #expect(unlinked["providerUserInfo"]?.array?.count == 1)
        try await client.expect(
            "INVALID_PROVIDER_ID",
            of: "accounts:update",
            #"{"idToken": "\#(signedIn.idToken)", "deleteProvider": ["facebook.com"]}"#
        )
        let old = "update demo.sessions set proved = now() - interval '10 minutes'"
        try await deployment.database.psql(old)
        try await client.expect(
            "CREDENTIAL_TOO_OLD_LOGIN_AGAIN",
            of: "accounts:delete",
            #"{"idToken": "\#(signedIn.idToken)"}"#
        )
        let again = try await client.call("accounts:signInWithPassword", body)
        try await client.call("accounts:delete", #"{"idToken": "\#(again.idToken)"}"#)
        try await client.expect("TOKEN_EXPIRED", of: "accounts:lookup", #"{"idToken": "\#(again.idToken)"}"#)
        try await client.expect("INVALID_LOGIN_CREDENTIALS", of: "accounts:signInWithPassword", body)
    }

    @Test("other services verify ID tokens by the published key set, and by certificates")
    func keys() async throws {
        let (signedIn, _) = try await account()
        let owner = "securetoken@system.gserviceaccount.com"
        let set = try await deployment.client.get("/www.googleapis.com/service_accounts/v1/jwk/\(owner)")
        #expect(set.header("Cache-Control")?.hasPrefix("public, max-age=") == true)
        let keys = try #require(JSON.object(set.text)?["keys"]?.array).compactMap(\.object)
        let jwk = try #require(keys.first { $0["kid"]?.string == signedIn.keyID })
        #expect(jwk["alg"]?.string == "RS256" && jwk["x5c"] == nil)
        let number = try #require(Base64URL.decode((jwk["n"]?.string ?? "").utf8))
        let exponent = try #require(Base64URL.decode((jwk["e"]?.string ?? "").utf8))
        let key = try _RSA.Signing.PublicKey(n: number, e: exponent)
        #expect(try isSigned(signedIn.idToken, by: key))
        let map = try await deployment.client.get("/www.googleapis.com/robot/v1/metadata/x509/\(owner)")
        let pem = try #require(JSON.object(map.text)?[signedIn.keyID]?.string)
        #expect(pem.hasPrefix("-----BEGIN CERTIFICATE-----\n") && pem.contains("-----END CERTIFICATE-----"))
        let open = try await deployment.client.get(
            "/securetoken.google.com/canary-project/.well-known/openid-configuration"
        )
        #expect(JSON.object(open.text)?["issuer"]?.string == "https://securetoken.google.com/canary-project")
        #expect(JSON.object(open.text)?["jwks_uri"]?.string?.hasSuffix(owner) == true)
    }

    private func isSigned(_ token: String, by key: _RSA.Signing.PublicKey) throws -> Bool {
        let parts = token.split(separator: ".")
        let signature = try #require(Base64URL.decode(parts[2].utf8))
        return key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature),
            for: SHA256.hash(data: Array("\(parts[0]).\(parts[1])".utf8)),
            padding: .insecurePKCS1v1_5
        )
    }

    @Test("the settings of a project are told as the SDKs read them, and pages of other origins can read errors")
    func project() async throws {
        let config = try await client.send("projects", "", method: "GET")
        #expect(JSON.object(config.text)?["authorizedDomains"]?.array?.first?.string == "localhost", "\(config.text)")
        let recaptcha = try await client.send("recaptchaConfig", "", method: "GET", version: "v2")
        let key = JSON.object(recaptcha.text)?["recaptchaKey"]?.string
        #expect(key?.split(separator: "/").count == 4)
        let policy = try await client.send("passwordPolicy", "", method: "GET", version: "v2")
        #expect(JSON.object(policy.text)?["schemaVersion"]?.integer == 1)
        let refused = try await deployment.client.send(
            "POST",
            "/identitytoolkit.googleapis.com/v1/accounts:lookup?key=\(client.key)",
            headers: [("Content-Type", "application/json"), ("Origin", "https://app.example.com")],
            body: Array("{}".utf8)
        )
        #expect(refused.status == 400 && refused.header("Access-Control-Allow-Origin") == "*")
    }
}
