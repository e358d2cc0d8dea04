import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Logins by an OpenID issuer",
    .serialized,
    .deployed(
        Document(
            properties: #"{"givenName": {"type": "STRING"}, "team": {"type": "STRING"}}"#,
            mapping: #"{"email": "email"}"#
        ),
        environment: [
            "FEDERATION_OAUTH_PRIVATE_SERVERS": "allow", "FEDERATION_PUBLIC_URL": "http://127.0.0.1:9",
            "FEDERATION_MODE": "development",
        ]
    )
)
struct OpenIDTests {
    let deployment: Deployment
    let issuers: Issuers

    init() throws {
        deployment = try Deployment.current
        issuers = Issuers(deployment: deployment)
    }

    private func issuer(_ name: String, _ members: String = "", _ options: String = "") async throws {
        try await issuers.make(name, members, options)
    }

    private func token(_ issuer: String, _ members: String) async throws -> String {
        try await issuers.token(issuer, members)
    }

    private func login(_ issuer: String, _ body: String) async throws -> HTTPReply {
        try await issuers.login(issuer, body)
    }

    @Test("an ID token logs in by each algorithm, creates the user once, and writes nested claims by the mapping")
    func algorithms() async throws {
        for algorithm in ["RS256", "ES256", "EdDSA"] {
            let name = "i" + algorithm.lowercased()
            try await issuer(name, #""algorithm": "\#(algorithm)""#, #""algorithms": ["\#(algorithm)"]"#)
            let claims = """
                "claims": {"sub": "\(name)-1", "email": "\(name).canary@example.com", "given_name": "Ann",
                           "org": {"team": "Rowing"}}
                """
            let first = try deployment.signedIn(
                try await login(name, #"{"idToken": "\#(try await token(name, claims))"}"#)
            )
            #expect(first.created)
            let row = try await deployment.row(of: first.objectID)
            #expect(row?["givenName"]?.string == "Ann" && row?["team"]?.string == "Rowing")
            #expect(row?["email_verified"]?.bool == false, "an issuer's address is unverified (D6)")
            let mobile = try await token(name, #""client": "mobile", "# + claims)
            let again = try deployment.signedIn(try await login(name, #"{"accessToken": "\#(mobile)"}"#))
            #expect(!again.created && again.objectID == first.objectID, "one user for all clients of an issuer")
            let kept = try await deployment.value(
                "select provider_app from demo.identities where object_id = '\(first.objectID)'"
            )
            #expect(kept == "global")
            try expectProblem(try await login(name, #"{"idToken": "\#(mobile)"}"#), "credential_replayed")
        }
    }

    @Test("T-20 to T-29: each rule of an ID token refuses by itself, and nothing is written")
    func refused() async throws {
        try await issuer("strict")
        try await issuer("elsewhere")
        let sub = #""sub": "strict-9""#
        let now = Int(try await deployment.value("select floor(extract(epoch from now()))::bigint") ?? "") ?? 0
        let cases: [(String, String)] = [
            (#""claims": {\#(sub), "iss": "https://evil.example"}"#, "credential_invalid"),
            (#""claims": {\#(sub), "iss": null}"#, "credential_invalid"),
            (#""claims": {\#(sub), "aud": "stranger"}"#, "credential_invalid"),
            (#""claims": {\#(sub), "aud": ["web", "stranger"], "azp": "web"}"#, "credential_invalid"),
            (#""claims": {\#(sub), "aud": ["web", "mobile"]}"#, "credential_invalid"),
            (#""claims": {\#(sub), "azp": "stranger"}"#, "credential_invalid"),
            (#""claims": {\#(sub), "exp": \#(now - 120)}"#, "credential_expired"),
            (#""claims": {\#(sub), "exp": null}"#, "credential_invalid"),
            (#""claims": {\#(sub), "iat": \#(now + 3600)}"#, "credential_invalid"),
            (#""claims": {\#(sub), "iat": \#(now - 7200)}"#, "credential_expired"),
            (#""claims": {"sub": ""}"#, "credential_invalid"), (#""claims": {}"#, "credential_invalid"),
            (#""header": {"alg": "none"}, "claims": {\#(sub)}"#, "credential_invalid"),
            (#""header": {"alg": "HS256"}, "claims": {\#(sub)}"#, "credential_invalid"),
            (#""header": {"alg": "ES256"}, "claims": {\#(sub)}"#, "credential_invalid"),
            (#""header": {"jku": "https://evil.example"}, "claims": {\#(sub)}"#, "credential_invalid"),
            (#""header": {"crit": ["x"]}, "claims": {\#(sub)}"#, "credential_invalid"),
            (#""header": {"kid": "unknown"}, "claims": {\#(sub)}"#, "credential_invalid"),
            (#""header": {"typ": "logout+jwt"}, "claims": {\#(sub)}"#, "credential_invalid"),
        ]
        // The keys are fetched before.
        _ = try deployment.signedIn(
            try await login("strict", #"{"idToken": "\#(try await token("strict", #""claims": {"sub": "known"}"#))"}"#)
        )
        try await deployment.expectNothingWritten {
            for (members, reason) in cases {
                let text = try await token("strict", members)
                let reply = try await login("strict", #"{"idToken": "\#(text)"}"#)
                let data = JSON.object(reply.text)?["errorData"]?.object
                #expect(data?["reason"]?.string == reason, "\(members): \(reply.text)")
            }
            let foreign = try await token("elsewhere", #""claims": {\#(sub)}"#)
            try expectProblem(try await login("strict", #"{"idToken": "\#(foreign)"}"#), "credential_invalid")
            let bound = try await token("strict", #""nonce": "n1", "claims": {\#(sub)}"#)
            try expectProblem(
                try await login("strict", #"{"idToken": "\#(bound)", "nonce": "n2"}"#),
                "credential_invalid"
            )
            try expectProblem(try await login("strict", #"{"accessToken": "opaque"}"#), "credential_wrong_kind")
            try expectProblem(try await login("strict", "{}"), "credential_missing")
        }
    }

    @Test("the dialog through the server: state, PKCE and nonce; a code counts once, and a refusal is told")
    func dialog() async throws {
        try await issuer("dialog", #""user": {"sub": "d1", "email": "dialog.canary@example.com"}"#)
        func redirected() async throws -> Address {
            let started = try await deployment.requestURL(path: "users/oauth/dialog/request_url")
            try #require(started.status == 200, "\(started.text)")
            let dialog = try await deployment.open(try Address(started.text))
            #expect(dialog["code_challenge_method"] == "S256" && dialog["nonce"] != nil && dialog["state"] != nil)
            #expect(dialog["scope"] == "openid email profile")
            let reply = try await deployment.simulator.graph.get(dialog.path + "?" + Address.encode(dialog.query))
            try #require(reply.status == 302, "\(reply.text)")
            return try Address(try #require(reply.header("Location")))
        }
        let back = try await redirected()
        let ended = try await deployment.comeBack(to: back)
        let location = try #require(ended.header("Location"), "\(ended.status) \(ended.text)")
        let code = try #require(try Address(location)["loginCode"])
        let login = try deployment.signedIn(
            try await deployment.client.post(
                deployment.path("users/social/dialog/sdk/login"),
                json: #"{"loginCode": "\#(code)"}"#
            )
        )
        #expect(try await deployment.row(of: login.objectID)?["email"]?.string == "dialog.canary@example.com")
        let again = try await deployment.comeBack(to: back)
        #expect(again.header("Location").map { !$0.contains("loginCode") } ?? true, "the state counts once")
        for issuer in [[], [(name: "iss", value: "https://another.example.com")]] {
            var mixedUp = try await redirected()
            mixedUp.query = mixedUp.query.filter { $0.name != "iss" } + issuer
            let ended = try await deployment.comeBack(to: mixedUp)
            #expect(ended.header("Location")?.contains("login_state_invalid") == true, "\(ended.headers)")
        }
        try await deployment.simulator.ask("PATCH", "openid/issuers/dialog", #"{"refuses": true}"#)
        let refused = try await deployment.comeBack(to: try await redirected())
        #expect(refused.header("Location")?.contains("login_cancelled") == true, "\(refused.headers)")
    }

    @Test("a discovery document that lies, or an issuer that is gone, refuses logins by its provider alone")
    func broken() async throws {
        try await issuer("liar", #""claimedIssuer": "https://evil.example""#)
        try await issuer("honest")
        let text = try await token("liar", #""claims": {"sub": "1"}"#)
        try expectProblem(try await login("liar", #"{"idToken": "\#(text)"}"#), "provider_misconfigured")
        let admin = try await deployment.admin()
        try await admin.ask(
            "PUT",
            "applications/demo/providers/gone",
            #"{"kind": "oidc", "issuer": "http://127.0.0.1:9/none", "apps": [{"clientId": "web", "clientSecret": "secret-of-web"}]}"#
        )
        try expectProblem(try await login("gone", #"{"idToken": "\#(text)"}"#), "provider_unavailable")
        let good = try await token("honest", #""claims": {"sub": "1"}"#)
        _ = try deployment.signedIn(try await login("honest", #"{"idToken": "\#(good)"}"#))
    }

    @Test("keys rotate without a restart")
    func rotation() async throws {
        try await issuer("turning")
        for subject in ["r1", "r2"] {
            let text = try await token("turning", #""claims": {"sub": "\#(subject)"}"#)
            _ = try deployment.signedIn(try await login("turning", #"{"idToken": "\#(text)"}"#))
            _ = try await deployment.simulator.control.post("/keys/rotate", json: "{}")
        }
    }

    @Test("settings that contradict each other are refused with their place")
    func settings() async throws {
        let admin = try await deployment.admin()
        let apps = #""apps": [{"clientId": "web", "clientSecret": "secret-of-web"}]"#
        for (options, place) in [
            ("", "/issuer"), (#", "preset": "nobody""#, "/preset"), (#", "preset": "keycloak""#, "/issuer"),
            (#", "issuer": "http://id.example.com""#, "/issuer"), (#", "issuer": "https://a?b""#, "/issuer"),
            (#", "preset": "google", "scopes": ["email"]"#, "/scopes"),
            (#", "preset": "google", "algorithms": ["HS256"]"#, "/algorithms/0"),
            (#", "preset": "google", "subject": "email""#, "/subject"),
        ] {
            let reply = try await admin.send(
                "PUT",
                "applications/demo/providers/staff",
                #"{"kind": "oidc", \#(apps)\#(options)}"#
            )
            #expect(reply.status == 422 || reply.status == 400, "\(options): \(reply.status)")
            #expect(reply.text.contains("\"\(place)\""), "\(options): \(reply.text)")
        }
        let google = try await admin.send(
            "PUT",
            "applications/demo/providers/google",
            #"{"kind": "oidc", "preset": "google", \#(apps)}"#
        )
        #expect(google.status == 200 || google.status == 201, "\(google.text)")
    }
}
