import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Facebook as it forgets the dialog's challenge, and as it holds codes to it",
    .serialized,
    .deployed(Document(options: #""returnUrls": ["https://app.example.com/done"]"#))
)
struct DialogChallengeTests {
    private static let home = "https://app.example.com/done?"
    private static let path = "applications/demo/providers/facebook"

    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Sets the policy and waits until it applies.
    private func set(pkce: String, opensWithChallenge: Bool) async throws {
        try await deployment.admin().ask("PATCH", Self.path, #"{"pkce": "\#(pkce)"}"#)
        try await eventually("the change counts") { try await hasChallenge() == opensWithChallenge }
    }

    private func hasChallenge(_ body: String = "{}") async throws -> Bool {
        try await deployment.dialog(body)["code_challenge"] != nil
    }

    /// Logs in and returns the parameters appended to the return URL.
    private func end(_ person: Visitor) async throws -> String {
        let end = try await deployment.login(as: person)
        return String(try #require(end.header("Location")).dropFirst(Self.home.count))
    }

    private func withForgetfulFacebook(_ body: () async throws -> Void) async throws {
        try await deployment.simulator.ask("PATCH", "apps/1234567890", #"{"dropChallenge": true}"#)
        do {
            try await body()
        } catch {
            _ = try? await deployment.simulator.ask("PATCH", "apps/1234567890", #"{"dropChallenge": false}"#)
            throw error
        }
        try await deployment.simulator.ask("PATCH", "apps/1234567890", #"{"dropChallenge": false}"#)
        try await deployment.database.psql("delete from demo.single_use where kind = 'noChallenge'")
    }

    private var warnings: [JSONObject] {
        deployment.service.process.standardOutput.split(separator: "\n").compactMap { JSON.object(String($0)) }.filter {
            $0["level"]?.string == "warning" && $0["message"]?.string?.contains("PKCE challenge") == true
        }
    }

    @Test("with auto the person logs in again once, and for an hour dialogs go without a challenge, on every instance")
    func auto() async throws {
        let ann = try await deployment.newcomer()
        #expect(try await hasChallenge())
        try await withForgetfulFacebook {
            let before = warnings.count
            #expect(try await end(ann) == "error=8112&reason=credential_invalid", "no moment's trouble: 8141")
            #expect(try await end(ann).hasPrefix("loginCode="))
            #expect(try await !hasChallenge(#"{"codeChallenge": "\#(ProofKey.challenge)"}"#))
            try await eventually("the log says it") { warnings.count == before + 1 }
            #expect(warnings.last?["app"]?.string == "1234567890")
            try await withSecondInstance(of: deployment) { other in
                let path = deployment.path("users/oauth/facebook/request_url")
                let wish = #"{"codeChallenge": "\#(ProofKey.challenge)"}"#
                let dialog = try Address(try await other.post(path, json: wish).text)
                #expect(dialog["code_challenge"] == nil)
            }

            let shown = try await deployment.admin().ask("POST", Self.path + "/check")
            let asked = (shown["warnings"]?.array ?? []).compactMap(\.string)
            #expect(asked.contains { $0.contains("lost the PKCE challenge") && $0.contains("1234567890") })
            let command = try await deployment.federation("provider", "check", "demo")
            #expect(command.exitStatus == .exited(0))
            #expect(command.standardError.contains("lost the PKCE challenge"), "\(command.standardError)")

            try await deployment.database.psql(
                "update demo.single_use set expires = now() where kind = 'noChallenge'"
            )
            #expect(try await hasChallenge(), "after the hour it is tried again")
            let later = try await deployment.federation("provider", "check", "demo")
            #expect(!later.standardError.contains("lost the PKCE challenge"))
        }
    }

    @Test("with on every dialog has a challenge, and with off none has, whatever Facebook does")
    func fixed() async throws {
        let ann = try await deployment.newcomer()
        try await set(pkce: "off", opensWithChallenge: false)
        #expect(try await end(ann).hasPrefix("loginCode="))
        try await withForgetfulFacebook {
            let location = try await end(ann)
            #expect(location.hasPrefix("loginCode="))
        }
        try await set(pkce: "on", opensWithChallenge: true)
        #expect(try await end(ann).hasPrefix("loginCode="))
        try await withForgetfulFacebook {
            for _ in 0..<2 {
                let location = try await end(ann)
                #expect(location == "error=8112&reason=credential_invalid")
            }
            #expect(try await hasChallenge())
        }
        try await set(pkce: "auto", opensWithChallenge: true)
        let refused = try await deployment.admin().send("PATCH", Self.path, #"{"pkce": "sometimes"}"#)
        #expect(refused.status == 400)
    }

    @Test("T-74: what a client's own code comes to does not weaken our dialogs")
    func codesOfClients() async throws {
        try await deployment.admin().ask("PATCH", Self.path, #"{"redirectUris": ["https://app.example.com/cb"]}"#)
        let ann = try await deployment.newcomer()
        let code = try await deployment.code(of: ann, redirectURI: "https://app.example.com/cb")
        try await eventually("the change counts") {
            let reply = try await deployment.login(body: #"{"code": "x", "redirectUri": "https://app.example.com/cb"}"#)
            return !reply.text.contains("redirectUris")
        }
        let reply = try await deployment.login(
            body:
                #"{"code": "\#(code)", "redirectUri": "https://app.example.com/cb", "codeVerifier": "\#(ProofKey.verifier)"}"#
        )
        try expectProblem(reply, "credential_invalid")
        #expect(reply.text.contains("Log in with Facebook again"))
        #expect(reply.header("Retry-After") == nil)
        #expect(try await hasChallenge())
    }
}
