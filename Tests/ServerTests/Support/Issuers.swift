import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// The simulated issuers of OpenID Connect and OAuth 2.0 servers of a deployment, with a provider of the application
/// for each.
struct Issuers {
    let deployment: Deployment

    /// The environment in which the service calls servers of this machine.
    static let environment = [
        "FEDERATION_OAUTH_PRIVATE_SERVERS": "allow", "FEDERATION_PUBLIC_URL": "http://127.0.0.1:9",
        "FEDERATION_MODE": "development",
    ]

    func url(of issuer: String) -> String { "\(deployment.simulator.url)/oidc/\(issuer)" }

    /// Makes an issuer with the clients `web` and `zone`, and a provider of the application for it.
    ///
    /// - Parameters:
    ///   - name: The name of both.
    ///   - members: Further members of the issuer.
    ///   - options: Further options of the provider.
    /// - Throws: A failed requirement.
    func make(_ name: String, _ members: String = "", _ options: String = "") async throws {
        let more = members.isEmpty ? "" : ", " + members
        try await deployment.simulator.ask(
            "PUT",
            "openid/issuers/\(name)",
            #"{"clients": {"web": "secret-of-web", "zone": "secret-of-zone"}\#(more)}"#
        )
        try await provide(name, options)
    }

    /// Makes a provider of the application for an issuer.
    func provide(
        _ name: String,
        _ options: String = "",
        apps: String = #""clientIds": ["mobile"], "apps": [{"clientId": "web", "clientSecret": "secret-of-web"}]"#
    ) async throws {
        let admin = try await deployment.admin()
        let options = options.isEmpty ? "" : ", " + options
        try await admin.ask(
            "PUT",
            "applications/demo/providers/\(name)",
            """
            {"kind": "oidc", "issuer": "\(url(of: name))", \(apps), "returnUrls": ["https://app.example.com/done"],
             "redirectUris": ["https://app.example.com/back"]\(options)}
            """
        )
        try await admin.ask(
            "PUT",
            "applications/demo/mappings/\(name)",
            #"{"email": "email", "given_name": "givenName", "org.team": "team"}"#
        )
    }

    /// Returns a text of a response of the simulator's control.
    func made(_ path: String, _ body: String, _ member: String) async throws -> String {
        let made = try await deployment.simulator.ask("POST", path, body)
        return try #require(made[member]?.string, "\(path): \(made)")
    }

    /// Makes an ID token, or another signed token.
    func token(_ issuer: String, _ members: String) async throws -> String {
        try await made(
            "openid/tokens",
            #"{"issuer": "\#(issuer)", "origin": "\#(deployment.simulator.url)", \#(members)}"#,
            "token"
        )
    }

    /// Makes an ID token for a user, with an id of its own: two tokens of one second would be the same otherwise.
    func idToken(
        _ issuer: String,
        client: String = "web",
        of subject: String,
        session: String? = nil
    ) async throws -> String {
        let id = UInt64.random(in: .min ... .max)
        let sid = session.map { #", "sid": "\#($0)""# } ?? ""
        return try await token(
            issuer,
            #""client": "\#(client)", "claims": {"sub": "\#(subject)", "jti": "\#(id)"\#(sid)}"#
        )
    }

    /// Makes an access token as the SDK of an app would have it.
    func accessToken(_ issuer: String, client: String = "web", _ user: String) async throws -> String {
        try await made(
            "openid/access-tokens",
            #"{"issuer": "\#(issuer)", "client": "\#(client)", "user": \#(user), "scopes": ["openid", "email"]}"#,
            "accessToken"
        )
    }

    /// Makes the body of a login by an authorization code of a dialog that a client has opened.
    func codeBody(_ issuer: String, client: String = "web", _ user: String, _ more: String = "") async throws -> String
    {
        let back = #""redirectUri": "https://app.example.com/back""#
        let code = try await code(issuer, client: client, user, more.isEmpty ? back : "\(back), \(more)")
        return #"{"code": "\#(code)", \#(back)}"#
    }

    /// Makes an authorization code, without a redirect URI as an SDK gets it.
    func code(_ issuer: String, client: String = "web", _ user: String, _ more: String = "") async throws -> String {
        let more = more.isEmpty ? "" : ", " + more
        return try await made(
            "openid/codes",
            #"{"issuer": "\#(issuer)", "client": "\#(client)", "user": \#(user)\#(more)}"#,
            "code"
        )
    }

    func login(_ issuer: String, _ body: String) async throws -> HTTPReply {
        try await deployment.client.post(deployment.path("users/social/\(issuer)/sdk/login"), json: body)
    }

    /// Returns the states of an issuer's tokens, such as `refresh active`, in the order of their issue.
    func tokens(_ issuer: String) async throws -> [String] {
        let reply = try await deployment.simulator.control.get("/openid/tokens")
        return try #require(JSON.value(reply.text)?.array).compactMap { token in
            guard let token = token.object, token["issuer"]?.string == issuer else { return nil }
            return "\(token["kind"]?.string ?? "") \(token["state"]?.string ?? "")"
        }
    }

    /// Sends an event to the provider's webhook.
    func report(_ issuer: String, _ body: String, type: String = "application/secevent+jwt") async throws -> HTTPReply {
        try await deployment.client.send(
            "POST",
            deployment.path("users/oauth/\(issuer)/webhook"),
            headers: [("Content-Type", type)],
            body: Array(body.utf8)
        )
    }
}
