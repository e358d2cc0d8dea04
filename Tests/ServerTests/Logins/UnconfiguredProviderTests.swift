@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "T-02: an application without app id and secret refuses every Facebook login",
    .serialized,
    .deployed(
        Document(application: "unset", apps: []),
        Document(application: "emptied"),
        Document(application: "blank"),
        Document(application: "off"),
        sql: """
            delete from federation.provider_settings where application_id = 'unset';
            delete from federation.provider_apps where application_id = 'emptied';
            update federation.provider_apps set secret = '' where application_id = 'blank';
            update federation.provider_settings set enabled = false where application_id = 'off';
            """
    )
)
struct UnconfiguredProviderTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("T-02: whatever is missing, a good token of some app is refused and Facebook not even asked")
    func refusals() async throws {
        let visitor = try await deployment.newcomer()
        let requests = try await deployment.simulator.requests {
            try await deployment.expectNothingWritten {
                for document in deployment.documents {
                    let reply = try await deployment.login(visitor, to: document)
                    let reason =
                        document.application == "blank" ? "provider_misconfigured" : "provider_not_configured"
                    try expectProblem(reply, reason, "\(document.application)")
                }
            }
        }
        #expect(requests.isEmpty)
    }

    @Test("T-02: a document that leaves app id or secret open is not accepted")
    func incompleteDocuments() async throws {
        let providers = [
            #"{"enabled": true}"#, #"{"enabled": true, "apps": []}"#, #"{"apps": [{"appId": "1234567890"}]}"#,
            #"{"apps": [{"appId": "", "appSecret": {"env": "SECRET"}}]}"#,
            #"{"apps": [{"appId": " 1234567890", "appSecret": {"env": "SECRET"}}]}"#,
            #"{"apps": [{"appId": 1234567890, "appSecret": {"env": "SECRET"}}]}"#,
            #"{"apps": [{"appSecret": {"env": "SECRET"}}]}"#, #"{"apps": "1234567890"}"#,
            #"{"apps": [{"appId": "1234567890", "appSecret": "canary-in-a-document"}]}"#,
            #"{"apps": [{"appId": "1234567890", "appSecret": {"env": "UNSET_SECRET"}}]}"#,
        ]
        var environment = Deployment.environment(database: deployment.database)
        environment["SECRET"] = "canary-secret"
        try await deployment.expectNothingWritten {
            for facebook in providers {
                let text = #"{"application": "incomplete", "providers": {"facebook": \#(facebook)}}"#
                let applied = try await Document.run("apply", text, environment: environment)
                #expect(applied.exitStatus == .exited(65), "\(facebook): \(applied.standardError)")
                #expect(!applied.standardError.contains(Canary.mark), "\(facebook)")
            }
        }
    }
}
