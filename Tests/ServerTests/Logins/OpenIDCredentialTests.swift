import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Access tokens and codes of an OpenID issuer",
    .serialized,
    .deployed(
        Document(
            properties: #"{"givenName": {"type": "STRING"}, "team": {"type": "STRING"}}"#,
            mapping: #"{"email": "email"}"#
        ),
        environment: Issuers.environment
    )
)
struct OpenIDCredentialTests {
    let deployment: Deployment
    let issuers: Issuers

    init() throws {
        deployment = try Deployment.current
        issuers = Issuers(deployment: deployment)
    }

    @Test("an access token logs in if introspection names our client, with the claims of userinfo")
    func introspection() async throws {
        try await issuers.make("access", "", #""accessTokens": true"#)
        let user = #"{"sub": "a1", "email": "access.canary@example.com", "given_name": "Ann"}"#
        let token = try await issuers.accessToken("access", user)
        let login = try deployment.signedIn(try await issuers.login("access", #"{"accessToken": "\#(token)"}"#))
        let row = try await deployment.row(of: login.objectID)
        #expect(row?["givenName"]?.string == "Ann" && row?["email"]?.string == "access.canary@example.com")
        let again = try deployment.signedIn(try await issuers.login("access", #"{"accessToken": "\#(token)"}"#))
        #expect(again.objectID == login.objectID && !again.created, "an access token may come again")
    }

    @Test("T-01: an access token of another client, a revoked one and an unknown one log nobody in")
    func foreignAccessToken() async throws {
        try await issuers.make("foreign", "", #""accessTokens": true"#)
        let user = #"{"sub": "f1"}"#
        let other = try await issuers.accessToken("foreign", client: "zone", user)
        try await deployment.expectNothingWritten {
            try expectProblem(
                try await issuers.login("foreign", #"{"accessToken": "\#(other)"}"#),
                "credential_invalid"
            )
            try expectProblem(try await issuers.login("foreign", #"{"accessToken": "unknown"}"#), "credential_expired")
            let expired = try await issuers.made(
                "openid/access-tokens",
                #"{"issuer": "foreign", "client": "web", "user": \#(user), "seconds": -60}"#,
                "accessToken"
            )
            try expectProblem(
                try await issuers.login("foreign", #"{"accessToken": "\#(expired)"}"#),
                "credential_expired"
            )
        }
    }

    @Test("an access token is refused if the issuer cannot say for whom it is, or userinfo names another user")
    func unvouchedAccessToken() async throws {
        try await issuers.make("silent", #""lacks": ["introspection_endpoint"]"#, #""accessTokens": true"#)
        let user = #"{"sub": "s1"}"#
        let silent = try await issuers.accessToken("silent", user)
        try expectProblem(try await issuers.login("silent", #"{"accessToken": "\#(silent)"}"#), "credential_wrong_kind")
        try await issuers.make(
            "twofold",
            #""userinfo": {"sub": "somebody-else", "email": "victim@example.com"}"#,
            #""accessTokens": true"#
        )
        let twofold = try await issuers.accessToken("twofold", user)
        try expectProblem(try await issuers.login("twofold", #"{"accessToken": "\#(twofold)"}"#), "credential_invalid")
    }

    @Test("a code is exchanged by the way that the issuer wants, with and without a redirect URI")
    func codes() async throws {
        for (name, method) in [("basic", "client_secret_basic"), ("form", "client_secret_post")] {
            try await issuers.make(name, #""authentication": "\#(method)""#, #""preset": "google""#)
            let user = #"{"sub": "\#(name)-1", "given_name": "Ann"}"#
            let redirected = try await issuers.code(name, user, #""redirectUri": "https://app.example.com/back""#)
            let body = #"{"code": "\#(redirected)", "redirectUri": "https://app.example.com/back"}"#
            let login = try deployment.signedIn(try await issuers.login(name, body))
            #expect(try await deployment.row(of: login.objectID)?["givenName"]?.string == "Ann")
            try expectProblem(try await issuers.login(name, body), "credential_invalid")
            let native = try await issuers.code(name, user, #""nonce": "n1""#)
            try expectProblem(
                try await issuers.login(name, #"{"code": "\#(native)", "nonce": "n2"}"#),
                "credential_invalid"
            )
            let second = try await issuers.code(name, user, #""nonce": "n1""#)
            let again = try deployment.signedIn(
                try await issuers.login(name, #"{"code": "\#(second)", "nonce": "n1"}"#)
            )
            #expect(again.objectID == login.objectID)
            try expectProblem(
                try await issuers.login(
                    name,
                    #"{"code": "\#(second)", "redirectUri": "https://evil.example/back"}"#
                ),
                "credential_invalid"
            )
        }
    }

    @Test("a code of another client, or with another PKCE verifier, is refused")
    func injectedCode() async throws {
        try await issuers.make("injected", "", #""preset": "google""#)
        let user = #"{"sub": "victim"}"#
        let zone = try await issuers.code("injected", client: "zone", user)
        let bound = try await issuers.code(
            "injected",
            user,
            #""codeChallenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM""#
        )
        try await deployment.expectNothingWritten(except: ["demo.single_use"]) {
            try expectProblem(try await issuers.login("injected", #"{"code": "\#(zone)"}"#), "credential_invalid")
            let mixed = try await issuers.code("injected", #"{"sub": "victim", "at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}"#)
            try expectProblem(try await issuers.login("injected", #"{"code": "\#(mixed)"}"#), "credential_invalid")
            let verifier = String(repeating: "a", count: 43)
            try expectProblem(
                try await issuers.login("injected", #"{"code": "\#(bound)", "codeVerifier": "\#(verifier)"}"#),
                "credential_invalid"
            )
        }
    }

    @Test("an access token logs in only where the operator says so, and a signed one is no ID token")
    func accessTokensOff() async throws {
        try await issuers.make("plain")
        let native = try await issuers.code("plain", #"{"sub": "p1"}"#)
        try expectProblem(try await issuers.login("plain", #"{"code": "\#(native)"}"#), "credential_missing")
        let token = try await issuers.accessToken("plain", #"{"sub": "p1"}"#)
        try expectProblem(try await issuers.login("plain", #"{"accessToken": "\#(token)"}"#), "credential_wrong_kind")
        for claims in [#""client_id": "web""#, #""typ": "Bearer""#, #""typ": "Refresh""#, #""token_use": "access""#] {
            let signed = try await issuers.token("plain", #""claims": {"sub": "p1", \#(claims)}"#)
            try expectProblem(try await issuers.login("plain", #"{"idToken": "\#(signed)"}"#), "credential_invalid")
        }
        try await issuers.make("bound", "", #""accessTokens": true, "nonce": "serverIssued""#)
        let bound = try await issuers.accessToken("bound", #"{"sub": "p1"}"#)
        try expectProblem(try await issuers.login("bound", #"{"accessToken": "\#(bound)"}"#), "credential_wrong_kind")
        let code = try await issuers.codeBody("bound", #"{"sub": "p1"}"#)
        try expectProblem(try await issuers.login("bound", code), "credential_invalid")
        try await issuers.make("odd", "", #""accessTokens": true"#)
        for text in ["a\\r\\nX: y", String(repeating: "a", count: 9000)] {
            try expectProblem(try await issuers.login("odd", #"{"accessToken": "\#(text)"}"#), "credential_invalid")
        }
    }

    @Test("a wrong client secret is the operator's problem, and says so")
    func wrongSecret() async throws {
        try await issuers.make("wrong")
        try await issuers.provide(
            "wrong",
            #""accessTokens": true"#,
            apps: #""apps": [{"clientId": "web", "clientSecret": "not-the-secret"}]"#
        )
        let user = #"{"sub": "w1"}"#
        let body = try await issuers.codeBody("wrong", user)
        try expectProblem(try await issuers.login("wrong", body), "provider_misconfigured")
        let token = try await issuers.accessToken("wrong", user)
        try expectProblem(try await issuers.login("wrong", #"{"accessToken": "\#(token)"}"#), "provider_misconfigured")
    }

    @Test("LINE's dialog is not offered, and says so before a browser is sent anywhere")
    func withoutDialog() async throws {
        try await issuers.make("line", "", #""preset": "line""#)
        let refused = try await deployment.requestURL(path: "users/oauth/line/request_url")
        try expectProblem(refused, "not_offered")
    }

    @Test("Backendless' name of Google stands for the provider google")
    func googlePlus() async throws {
        try await issuers.make("google", "", #""preset": "google""#)
        let first = try await issuers.token("google", #""claims": {"sub": "g1", "jti": "1"}"#)
        let login = try deployment.signedIn(try await issuers.login("googleplus", #"{"accessToken": "\#(first)"}"#))
        #expect(login.created)
        let second = try await issuers.token("google", #""claims": {"sub": "g1", "jti": "2"}"#)
        let again = try deployment.signedIn(try await issuers.login("GooglePlus", #"{"idToken": "\#(second)"}"#))
        #expect(again.objectID == login.objectID)
        let provider = try await deployment.value(
            "select provider from demo.identities where object_id = '\(login.objectID)'"
        )
        #expect(provider == "google")
    }

    @Test("One Tap logs in by a form whose token is that of its cookie, once")
    func oneTap() async throws {
        try await issuers.make("tapped")
        let idToken = try await issuers.idToken("tapped", of: "t1")
        func post(_ form: String, cookie: String?) async throws -> HTTPReply {
            try await deployment.client.send(
                "POST",
                deployment.path("users/oauth/tapped/credential"),
                headers: [("Content-Type", "application/x-www-form-urlencoded")]
                    + (cookie.map { [("Cookie", $0)] } ?? []),
                body: Array(form.utf8)
            )
        }
        let form = "credential=\(idToken)&g_csrf_token=abc"
        try await deployment.expectNothingWritten {
            for cookie in [nil, "g_csrf_token=abd", "g_csrf_token=", "g_csrf_token=abc; g_csrf_token=abc"] {
                let reply = try await post(form, cookie: cookie)
                #expect(reply.status == 400, "\(cookie ?? "none")")
            }
            let empty = try await post("credential=\(idToken)&g_csrf_token=", cookie: "g_csrf_token=")
            #expect(empty.status == 400)
        }
        let reply = try await post(form, cookie: "other=1; g_csrf_token=abc")
        let location = try #require(reply.header("Location"), "\(reply.status) \(reply.text)")
        #expect(location.hasPrefix("https://app.example.com/done?loginCode="))
        let code = try #require(try Address(location)["loginCode"])
        let login = try deployment.signedIn(try await issuers.login("tapped", #"{"loginCode": "\#(code)"}"#))
        #expect(login.created)
        let again = try await post(form, cookie: "g_csrf_token=abc")
        #expect(again.header("Location")?.contains("credential_replayed") == true, "\(again.headers)")
    }

    @Test("a check reads the discovery document, tries the secret, and has the provider's own words")
    func check() async throws {
        try await issuers.make("checked")
        let admin = try await deployment.admin()
        let path = "applications/demo/providers/checked/check"
        let good = try await admin.ask("POST", path)
        let apps = good["apps"]?.array?.compactMap(\.object) ?? []
        #expect(apps.map { $0["clientId"]?.string } == ["web", "mobile"])
        #expect(apps.first?["ok"]?.bool == true, "\(good)")
        try await issuers.provide("checked", apps: #""apps": [{"clientId": "web", "clientSecret": "not-the-secret"}]"#)
        let wrong = try await admin.ask("POST", path + "?redirectUri=https%3A%2F%2Fusers.example.com%2Fback")
        let refused = wrong["apps"]?.array?.first?.object
        #expect(refused?["ok"]?.bool == false)
        #expect(refused?["problem"]?.string?.contains("invalid_client") == true, "\(wrong)")
        #expect(wrong["warnings"]?.array?.isEmpty == true, "the simulated dialog takes any redirect URI")
        try await deployment.simulator.ask(
            "PATCH",
            "openid/issuers/checked",
            #"{"claimedIssuer": "https://evil.example"}"#
        )
        try await issuers.provide("checked", #""title": "Afresh""#)
        let liar = try await admin.ask("POST", path)
        let told = liar["apps"]?.array?.first?.object?["problem"]?.string
        #expect(told?.contains("names another issuer") == true, "\(liar)")
    }

    @Test("with userinfo, a code brings the claims that the ID token lacks; another user's are refused")
    func userinfo() async throws {
        try await issuers.make(
            "wordy",
            #""userinfo": {"sub": "u1", "given_name": "Ann", "email": "other@example.com"}"#,
            #""userinfo": true"#
        )
        let body = try await issuers.codeBody("wordy", #"{"sub": "u1", "email": "wordy.canary@example.com"}"#)
        let login = try deployment.signedIn(try await issuers.login("wordy", body))
        let row = try await deployment.row(of: login.objectID)
        #expect(row?["givenName"]?.string == "Ann")
        #expect(row?["email"]?.string == "wordy.canary@example.com", "the signed claim counts before")
        let other = try await issuers.codeBody("wordy", #"{"sub": "u2"}"#)
        try expectProblem(try await issuers.login("wordy", other), "credential_invalid")
    }

    @Test("an address counts as confirmed where the issuer owns it and the operator says so, and finds nobody")
    func confirmedAddress() async throws {
        try await issuers.make("owner", "", #""confirmEmail": true, "emailDomains": ["owner.example"]"#)
        for (subject, address, verified, isConfirmed) in [
            ("c1", "ann@owner.example", "true", true), ("c2", "bob@owner.example", "false", false),
            ("c3", "cid@other.example", "true", false),
        ] {
            let claims = #"{"sub": "\#(subject)", "email": "\#(address)", "email_verified": \#(verified)}"#
            let token = try await issuers.token("owner", #""claims": \#(claims)"#)
            let login = try deployment.signedIn(try await issuers.login("owner", #"{"idToken": "\#(token)"}"#))
            #expect(login.created)
            #expect(try await deployment.row(of: login.objectID)?["email_verified"]?.bool == isConfirmed, "\(address)")
        }
        let twin = try await issuers.token(
            "owner",
            #""claims": {"sub": "c9", "email": "ann@owner.example", "email_verified": true}"#
        )
        let login = try deployment.signedIn(try await issuers.login("owner", #"{"idToken": "\#(twin)"}"#))
        #expect(login.created, "D6: the same address makes another user")
    }

    @Test("mappings read claims that have a URL as their name, and names in upper case")
    func namespacedClaims() async throws {
        try await issuers.make("named")
        let admin = try await deployment.admin()
        try await admin.ask(
            "PUT",
            "applications/demo/mappings/named",
            #"{"https://example.com/claims.team": "team", "customClaim": "givenName"}"#
        )
        let token = try await issuers.token(
            "named",
            #""claims": {"sub": "n1", "https://example.com/claims": {"team": "Rowing"}, "customClaim": "Ann"}"#
        )
        let login = try deployment.signedIn(try await issuers.login("named", #"{"idToken": "\#(token)"}"#))
        let row = try await deployment.row(of: login.objectID)
        #expect(row?["team"]?.string == "Rowing" && row?["givenName"]?.string == "Ann")
    }
}
