import Domain
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let document = Document(
    options: #""keepTokens": true"#,
    mapping: #"{"email": "email", "name": "name"}"#
)

@Suite("Our permissions at Facebook end with the data here", .serialized, .deployed(document))
struct PermissionRevocationTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Erases a user as an operator does, and requires success.
    private func erase(_ session: LoginResult, of application: String = "demo") async throws {
        let path = "applications/\(application)/users/\(session.objectID)?confirm=\(session.objectID)"
        try await deployment.admin().ask("DELETE", path)
    }

    /// Returns the outcomes of given-up permissions in audit entries.
    private func outcomes(_ entries: [JSONObject]) -> [String?] {
        entries.filter { $0["action"]?.string == "permissions.remove" }
            .map { $0["details"]?.object?["to"]?.object?["outcome"]?.string }
    }

    @Test("erasing a user gives up our permissions with the kept token and its proof, once")
    func erased() async throws {
        // Create the operator first, since that leaves audit entries of its own.
        _ = try await deployment.admin()
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann)
        var entries: [JSONObject] = []
        let requests = try await deployment.simulator.requests {
            entries = try await deployment.audited { try await erase(session) }
        }
        let removals = requests.filter { $0.method == "DELETE" }
        try #require(removals.count == 1)
        #expect(removals[0].uri.contains("/\(ann.id)/permissions?"))
        #expect(!removals[0].uri.contains(ann.token))
        #expect(removals[0].header("Authorization") == "Bearer " + ann.token)
        #expect(removals[0].values(of: "appsecret_proof").count == 1)
        #expect(entries.map { $0["action"]?.string } == ["user.erase", "permissions.remove"])
        #expect(outcomes(entries) == ["removed"])
        // Facebook has revoked the token.
        try expectProblem(try await deployment.login(ann), "credential_revoked")
        #expect(try await deployment.rowCount(of: session.objectID) == "0")
    }

    @Test("unlinking gives up the permissions of that identity alone")
    func unlinked() async throws {
        _ = try await deployment.admin()
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann)
        try await deployment.database.psql(
            """
            insert into demo.identities (provider, provider_app, subject, object_id)
            values ('facebook', '99', '\(ann.id)', '\(session.objectID)')
            """
        )
        let path = "applications/demo/users/\(session.objectID)/identities/facebook/1234567890/\(ann.id)"
        let entries = try await deployment.audited {
            try await deployment.admin().ask("DELETE", path)
        }
        #expect(entries.map { $0["action"]?.string } == ["user.unlink", "permissions.remove"])
        #expect(outcomes(entries) == ["removed"])
        try expectProblem(try await deployment.login(ann), "credential_revoked")
    }

    @Test("an ID token gives them up by the uninstall of Limited Login")
    func limited() async throws {
        let ann = try await deployment.newcomer()
        let token = try await deployment.idToken(of: ann, #""nonce": "n""#)
        let session = try deployment.signedIn(try await deployment.login(idToken: token, nonce: "n"))
        var entries: [JSONObject] = []
        let requests = try await deployment.simulator.requests {
            entries = try await deployment.audited { try await erase(session) }
        }
        let calls = requests.filter { $0.uri.hasPrefix("/platform/uninstall/") }
        try #require(calls.count == 1)
        #expect(calls[0].method == "POST" && !calls[0].uri.contains(token))
        #expect(calls[0].values(of: "id_token") == [token])
        #expect(calls[0].values(of: "app_id") == ["1234567890"])
        #expect(outcomes(entries) == ["removed"])
        try expectProblem(try await deployment.login(ann), "credential_revoked")
    }

    @Test("a token that is dead already is no failure, and says so")
    func dead() async throws {
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann)
        try await deployment.simulator.patch(token: ann.token, #"{"kind": "appRemoved"}"#)
        let entries = try await deployment.audited { try await erase(session) }
        #expect(outcomes(entries) == ["tokenIsDead"])
    }

    @Test(
        "whatever Facebook does, the erasure stands, and the audit log says what became of the permissions",
        arguments: [
            #"{"effect": "html502"}"#, #"{"effect": "error", "code": 2, "message": "canary"}"#, #"{"effect": "false"}"#,
            #"{"effect": "truncated"}"#, #"{"effect": "rateLimit"}"#, #"{"effect": "reset"}"#,
        ]
    )
    func failing(fault: String) async throws {
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann)
        try await deployment.simulator.withFault(fault) {
            let entries = try await deployment.audited { try await erase(session) }
            #expect(outcomes(entries) == ["failed"], "\(fault)")
        }
        #expect(try await deployment.rowCount(of: session.objectID) == "0")
    }

    @Test("an operator at the command line is told when they could not be given up")
    func command() async throws {
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann)
        try await deployment.simulator.withFault(#"{"effect": "html502"}"#) {
            let erasing = try await deployment.federation(
                "user",
                "erase",
                "demo",
                session.objectID,
                "--confirm",
                session.objectID
            )
            #expect(erasing.exitStatus == .exited(0))
            #expect(erasing.standardError.contains("could not be given up"), "\(erasing.standardError)")
        }
        #expect(try await deployment.rowCount(of: session.objectID) == "0")
    }

    @Test("a deletion that Facebook asks for gives them up as well, and does not fail when it cannot")
    func deletion() async throws {
        let (ann, ben) = (try await deployment.newcomer(), try await deployment.newcomer())
        _ = try await deployment.loggedIn(ann)
        _ = try await deployment.loggedIn(ben)
        #expect(try await deployment.deliver("deletion", ann).status == 200)
        try expectProblem(try await deployment.login(ann), "credential_revoked")
        try await deployment.simulator.withFault(#"{"effect": "html502"}"#) {
            let reply = try await deployment.deliver("deletion", ben)
            #expect(reply.status == 200)
        }
        #expect(try await deployment.identity(of: ben) == nil)
    }

    @Test("an application that keeps no token asks nothing of Facebook")
    func nothingKept() async throws {
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann, to: .witness)
        let requests = try await deployment.simulator.requests {
            try await erase(session, of: "witness")
        }
        #expect(requests.isEmpty)
    }

    @Test("the export for the person says that a token is kept, and not which")
    func export() async throws {
        let ann = try await deployment.newcomer()
        let session = try await deployment.loggedIn(ann)
        let reply = try await deployment.admin().send("GET", "applications/demo/users/\(session.objectID)/export")
        let identity = try #require(JSON.object(reply.text)?["identities"]?.array?.first?.object)
        #expect(identity["tokenKept"]?.bool == true && identity["revoked"]?.isNull == true)
        #expect(identity["declinedScopes"]?.array != nil && identity["checked"]?.integer != nil)
        #expect(!reply.text.contains(ann.token))
        let shown = try await deployment.command("get", "applications/demo/users/\(session.objectID)")
        #expect(shown.contains("TOKEN KEPT") && shown.contains("REVOKED"))
    }
}
