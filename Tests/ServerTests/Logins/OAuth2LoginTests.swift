import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Logins by OAuth 2.0 servers without ID tokens",
    .serialized,
    .deployed(
        Document(properties: #"{"name": {"type": "STRING"}}"#, mapping: #"{"email": "email"}"#),
        environment: Issuers.environment
    )
)
struct OAuth2LoginTests {
    let deployment: Deployment
    let issuers: Issuers

    init() throws {
        deployment = try Deployment.current
        issuers = Issuers(deployment: deployment)
    }

    /// The addresses of each simulated server below `/oauth2/NAME/`, in the order of `options`.
    private static let addresses = [
        "github": [
            "login/oauth/authorize", "login/oauth/access_token", "user", "applications/{clientId}/token",
            "applications/{clientId}/grant",
        ],
        "discord": [
            "oauth2/authorize", "api/oauth2/token", "api/users/@me", "api/oauth2/@me", "api/oauth2/token/revoke",
        ],
        "linkedin": [
            "oauth/v2/authorization", "oauth/v2/accessToken", "v2/userinfo", "oauth/v2/introspectToken",
            "oauth/v2/revoke",
        ],
    ]

    private static let users = [
        "github": #"{"id": 583231, "login": "octocat", "name": "Ann", "email": "github.canary@example.com"}"#,
        "discord":
            #"{"id": "80351110224678912", "username": "ann", "global_name": "Ann", "email": "discord.canary@example.com"}"#,
        "linkedin": #"{"sub": "782bbtaQ", "name": "Ann", "email": "linkedin.canary@example.com"}"#,
    ]

    /// Makes a server and a provider of the application for it, both with the name of the style.
    private func make(_ style: String, _ options: String = #""keepTokens": true"#) async throws {
        try await deployment.simulator.ask(
            "PUT",
            "oauth2/providers/\(style)",
            """
            {"style": "\(style)", "clients": {"web": "secret-of-web", "zone": "secret-of-zone"},
             "user": \(Self.users[style] ?? "{}")}
            """
        )
        let names = ["authorizationUrl", "tokenUrl", "profileUrl", "tokenCheckUrl", "revocationUrl"]
        let addresses = zip(names, Self.addresses[style] ?? []).map { name, path in
            "\"\(name)\": \"\(deployment.simulator.url)/oauth2/\(style)/\(path)\""
        }
        let admin = try await deployment.admin()
        try await admin.ask(
            "PUT",
            "applications/demo/providers/\(style)",
            """
            {"kind": "oauth2", "preset": "\(style)", "apps": [{"clientId": "web", "clientSecret": "secret-of-web"}],
             "returnUrls": ["https://app.example.com/done"], \(addresses.joined(separator: ", ")), \(options)}
            """
        )
        let name = style == "discord" ? "global_name" : "name"
        try await admin.ask("PUT", "applications/demo/mappings/\(style)", #"{"email": "email", "\#(name)": "name"}"#)
    }

    private func accessToken(_ style: String, client: String = "web") async throws -> String {
        try await issuers.made(
            "oauth2/access-tokens",
            """
            {"provider": "\(style)", "client": "\(client)", "user": \(Self.users[style] ?? "{}"),
             "scopes": ["identify", "email"]}
            """,
            "accessToken"
        )
    }

    private func logInByDialog(_ style: String) async throws -> LoginResult {
        let started = try await deployment.requestURL(path: "users/oauth/\(style)/request_url")
        try #require(started.status == 200, "\(started.text)")
        let dialog = try await deployment.open(try Address(started.text))
        #expect((dialog["code_challenge"] == nil) == (style == "linkedin"))
        let reply = try await deployment.simulator.graph.get(dialog.path + "?" + Address.encode(dialog.query))
        let ended = try await deployment.comeBack(
            to: try Address(try #require(reply.header("Location"), "\(reply.text)"))
        )
        let location = try #require(ended.header("Location"), "\(ended.status) \(ended.text)")
        let code = try #require(try Address(location)["loginCode"], "\(location)")
        return try deployment.signedIn(try await issuers.login(style, #"{"loginCode": "\#(code)"}"#))
    }

    @Test("the dialog and an access token find the same user", arguments: ["github", "discord", "linkedin"])
    func logins(_ style: String) async throws {
        try await make(style)
        let byDialog = try await logInByDialog(style)
        let row = try await deployment.row(of: byDialog.objectID)
        #expect(row?["name"]?.string == "Ann" && row?["email"]?.string == "\(style).canary@example.com")
        #expect(row?["email_verified"]?.bool == false)
        let token = try await accessToken(style)
        let byToken = try deployment.signedIn(try await issuers.login(style, #"{"accessToken": "\#(token)"}"#))
        #expect(byToken.objectID == byDialog.objectID && !byToken.created)
    }

    @Test("an access token of the second app logs in without appId", arguments: ["github", "discord", "linkedin"])
    func secondApp(_ style: String) async throws {
        try await make(style)
        let admin = try await deployment.admin()
        let zone = #"{"clientId": "zone", "clientSecret": "secret-of-zone"}"#
        let (good, wrong) = (#"{"clientId": "web"}"#, #"{"clientId": "web", "clientSecret": "wrong-canary-secret"}"#)
        // LinkedIn's introspection authenticates as the first app, whose secret must be right there.
        for first in style == "linkedin" ? [good] : [good, wrong] {
            try await admin.ask("PATCH", "applications/demo/providers/\(style)", #"{"apps": [\#(first), \#(zone)]}"#)
            let token = try await accessToken(style, client: "zone")
            _ = try deployment.signedIn(try await issuers.login(style, #"{"accessToken": "\#(token)"}"#))
        }
    }

    @Test(
        "T-01: a token of another app, an unknown one and an ID token log nobody in",
        arguments: ["github", "discord", "linkedin"]
    )
    func refused(_ style: String) async throws {
        try await make(style)
        let foreign = try await accessToken(style, client: "zone")
        try await deployment.expectNothingWritten {
            try expectProblem(
                try await issuers.login(style, #"{"accessToken": "\#(foreign)"}"#),
                "credential_invalid"
            )
            let code = try await deployment.client.post(
                deployment.path("users/social/\(style)/login"),
                json: #"{"code": "c"}"#
            )
            try expectProblem(code, "credential_missing")
            let unknown = try await issuers.login(style, #"{"accessToken": "unknown"}"#)
            #expect(unknown.status == 401, "\(unknown.text)")
            try expectProblem(
                try await issuers.login(style, #"{"idToken": "eyJh.eyJh.AAAA"}"#),
                "credential_wrong_kind"
            )
        }
    }

    @Test("a kept token is revoked with the user", arguments: ["github", "discord", "linkedin"])
    func revocation(_ style: String) async throws {
        try await make(style)
        let login = try await logInByDialog(style)
        let admin = try await deployment.admin()
        try await admin.ask("POST", "applications/demo/users/\(login.objectID)/refresh")
        try await admin.ask("DELETE", "applications/demo/users/\(login.objectID)?confirm=\(login.objectID)")
        let reply = try await deployment.simulator.control.get("/oauth2/tokens")
        let states = try #require(JSON.value(reply.text)?.array).compactMap(\.object)
            .filter { $0["provider"]?.string == style && $0["client"]?.string == "web" }
            .compactMap { $0["state"]?.string }
        #expect(states.contains("revoked"), "\(states)")
    }

    @Test("what a server sends too long, too late or too strange is refused, and stops nobody else")
    func strange() async throws {
        try await make("github")
        let good = try await accessToken("github")
        func fault(_ path: String, _ members: String) async throws {
            try await deployment.simulator.ask(
                "POST",
                "faults",
                #"{"effect": "reply", "path": "oauth2/github/\#(path)", "count": 1, \#(members)}"#
            )
        }
        let endless = #"{"access_token": "a", "token_type": "bearer", "expires_in": 9223372036854775807}"#
        try await fault("login/oauth/access_token", #""json": \#(endless)"#)
        let never = try await logInByDialogFailing("github")
        #expect(never.contains("credential_invalid") || never.contains("provider_bad_reply"), "\(never)")
        for (status, reason) in [
            (403, "provider_bad_reply"), (429, "provider_rate_limited"), (500, "provider_unavailable"),
        ] {
            try await fault("user", #""status": \#(status), "json": {}"#)
            try expectProblem(try await issuers.login("github", #"{"accessToken": "\#(good)"}"#), reason)
            _ = try deployment.signedIn(try await issuers.login("github", #"{"accessToken": "\#(good)"}"#))
        }
    }

    /// Returns the address to which a login by the dialog that fails redirects.
    private func logInByDialogFailing(_ style: String) async throws -> String {
        let started = try await deployment.requestURL(path: "users/oauth/\(style)/request_url")
        let dialog = try await deployment.open(try Address(started.text))
        let reply = try await deployment.simulator.graph.get(dialog.path + "?" + Address.encode(dialog.query))
        let ended = try await deployment.comeBack(to: try Address(try #require(reply.header("Location"))))
        return ended.header("Location") ?? ""
    }

    @Test("a wrong secret, a preset that is unknown, and a server that is gone have clear errors")
    func broken() async throws {
        try await make("github")
        let admin = try await deployment.admin()
        let unknown = try await admin.send(
            "PUT",
            "applications/demo/providers/none",
            #"{"kind": "oauth2", "preset": "none", "apps": [{"clientId": "web", "clientSecret": "secret-of-web"}]}"#
        )
        #expect(unknown.text.contains("\"/preset\""), "\(unknown.text)")
        try await admin.ask(
            "PATCH",
            "applications/demo/providers/github",
            #"{"apps": [{"clientId": "web", "clientSecret": "not-the-secret"}]}"#
        )
        let token = try await accessToken("github")
        try expectProblem(try await issuers.login("github", #"{"accessToken": "\#(token)"}"#), "provider_misconfigured")
        try await admin.ask(
            "PATCH",
            "applications/demo/providers/github",
            #"{"tokenCheckUrl": "http://127.0.0.1:9/none"}"#
        )
        try expectProblem(try await issuers.login("github", #"{"accessToken": "\#(token)"}"#), "provider_unavailable")
    }
}
