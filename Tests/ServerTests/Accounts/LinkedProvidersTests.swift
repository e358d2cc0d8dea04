import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "One user with Facebook, Apple and Google",
    .serialized,
    .deployed(
        Document(
            options: #""keepTokens": true"#,
            properties: #"{"givenName": {"type": "STRING"}, "team": {"type": "STRING"}}"#,
            mapping: #"{"email": "email"}"#
        ),
        environment: Issuers.environment
    )
)
struct LinkedProvidersTests {
    let deployment: Deployment
    let issuers: Issuers

    init() throws {
        deployment = try Deployment.current
        issuers = Issuers(deployment: deployment)
    }

    private func linked(_ provider: String, _ code: String, _ session: LoginResult) async throws {
        let reply = try await deployment.send(
            "POST",
            "users/identities/\(provider)",
            #"{"code": "\#(code)"}"#,
            token: session.token
        )
        try #require(reply.status == 200, "\(provider): \(reply.text)")
    }

    private func logIn(_ provider: String, client: String = "web", _ subject: String) async throws -> LoginResult {
        let token = try await issuers.idToken(provider, client: client, of: subject)
        return try deployment.signedIn(try await issuers.login(provider, #"{"idToken": "\#(token)"}"#))
    }

    private func refreshTokens(_ issuer: String) async throws -> [String] {
        try await issuers.tokens(issuer).filter { $0.hasPrefix("refresh") }
    }

    @Test("each provider finds the user, each can go, and with the user each provider's demands are met")
    func story() async throws {
        for (name, method) in [("apple", "client_secret_post"), ("google", "client_secret_basic")] {
            try await issuers.make(
                name,
                #""refreshTokens": true, "authentication": "\#(method)""#,
                #""preset": "\#(name)", "keepTokens": true"#
            )
        }
        let ann = try await deployment.newcomer(#"{"first_name": "Ann"}"#)
        let session = try await deployment.loggedIn(ann)
        for name in ["apple", "google"] {
            try await linked(name, try await issuers.code(name, #"{"sub": "ann-at-\#(name)"}"#), session)
        }
        // Found by each, and by two clients of one issuer.
        #expect(try await deployment.loggedIn(ann).objectID == session.objectID)
        for (name, client) in [("apple", "web"), ("google", "web"), ("google", "mobile")] {
            #expect(try await logIn(name, client: client, "ann-at-\(name)").objectID == session.objectID, "\(name)")
        }
        // Another user cannot take an identity.
        let bob = try await logIn("google", "bob")
        let token = try await issuers.idToken("apple", of: "ann-at-apple")
        let taken = try await deployment.send(
            "POST",
            "users/identities/apple",
            #"{"idToken": "\#(token)"}"#,
            token: bob.token
        )
        try expectProblem(taken, "identity_taken")
        // Unlinked, with its token.
        let unlinked = try await deployment.send("DELETE", "users/identities/google", token: session.token)
        #expect(unlinked.status == 204, "\(unlinked.text)")
        #expect(try await refreshTokens("google") == ["refresh revoked"])
        #expect(try await logIn("google", "ann-at-google").objectID != session.objectID)
        #expect(try await refreshTokens("apple") == ["refresh active"])
        // Erased, with what each provider demands.
        let admin = try await deployment.admin()
        try await admin.ask("DELETE", "applications/demo/users/\(session.objectID)?confirm=\(session.objectID)")
        #expect(try await refreshTokens("apple") == ["refresh revoked"])
        let outcomes = try await deployment.value(
            """
            select string_agg(o ->> 'provider' || ' ' || (o ->> 'outcome'), ',' order by o ->> 'provider')
            from federation.audit_log, jsonb_extract_path(details, 'to') o where action = 'permissions.remove'
            """
        )
        #expect(outcomes == "apple removed,facebook removed,google removed")
    }
}
