import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("Issuers in the service's own network", .serialized, .deployed(Document(mapping: #"{"email": "email"}"#)))
struct PrivateIssuerTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test(
        "T-116: an address that is not of the public internet is not called, whatever the kind and the option",
        arguments: zip(
            ["one", "two", "three", "four"],
            [
                #""kind": "oidc", "issuer": "SIMULATOR/oidc/inner""#,
                #""kind": "oidc", "issuer": "https://localhost:9/oidc/inner""#,
                #""kind": "oidc", "issuer": "https://id.example.com", "pinned": {"jwks_uri": "SIMULATOR/oidc/inner/keys"}"#,
                #""kind": "oauth2", "preset": "github", "tokenCheckUrl": "SIMULATOR/oauth2/inner/token""#,
            ]
        )
    )
    func refused(_ name: String, _ options: String) async throws {
        let admin = try await deployment.admin()
        try await admin.ask(
            "PUT",
            "applications/demo/providers/\(name)",
            """
            {\(options.replacing("SIMULATOR", with: deployment.simulator.url)),
             "apps": [{"clientId": "web", "clientSecret": "secret-of-web"}]}
            """
        )
        let requests = try await deployment.simulator.requests {
            let token = options.contains("oidc") ? #""idToken": "\#(Self.idToken)""# : #""accessToken": "a""#
            let reply = try await deployment.client.post(
                deployment.path("users/social/\(name)/login"),
                json: "{\(token)}"
            )
            try expectProblem(reply, "provider_misconfigured")
        }
        #expect(requests.isEmpty)
    }

    /// A token of which only the header counts before the keys are fetched: `{"alg":"RS256","kid":"a"}`.
    private static let idToken = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.e30.AAAA"
}
