@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "T-110: secrets and personal values stay where they belong",
    .serialized,
    .deployed(
        Document(
            properties: #"{"nick": {"type": "STRING"}, "score": {"type": "INT", "clientMappable": true}}"#,
            mapping: """
                [{"from": "email", "to": "email"}, {"from": "name", "to": "name"},
                 {"from": "first_name", "to": "nick", "sync": "untilEdited"}]
                """
        ),
        sql: "create unique index users_one_email on demo.users (email)",
        environment: ["FEDERATION_LOG_LEVEL": "trace"]
    )
)
struct CanaryTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let profile = #"{"email": "ann.canary@example.com", "name": "Ann Canary", "first_name": "Canarina"}"#

    @Test("T-110: after logins of every outcome no secret is in the log, and each is in the columns meant for it only")
    func outcomes() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let session = try await deployment.loggedIn(ann)
        _ = try await deployment.get("users/isvalidusertoken/\(session.token)")
        _ = try await deployment.get("users/\(session.objectID)", token: session.token)
        try await failEveryWay()
        _ = try await deployment.get("users/logout", token: session.token)

        // The rest of the log is searched when the suite ends; the session token is known only here.
        #expect(!deployment.service.process.standardOutput.contains(session.token))
        #expect(
            deployment.service.process.standardOutput.contains(#""message":"login""#),
            "there is a log to look through"
        )
        let places = try await deployment.database.psql(
            "select distinct place from canaries('\(Canary.mark)', '\(session.token)') as place order by 1"
        )
        let expected = [
            "demo.identities.written", "demo.users.email", "demo.users.name", "demo.users.nick", "witness.users.email",
        ]
        #expect(Set(places.flatMap(\.self)).isSubset(of: Set(expected)), "\(places)")
        #expect(places.contains([expected[1]]), "what is there is found")
    }

    /// Sends requests with canaries that fail in every way, and searches every response.
    private func failEveryWay() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let login = deployment.path("users/loginWithFacebook")
        try expectProblem(try await deployment.login(ann), "constraint_violation")
        try expectProblem(try await deployment.login(ann, mapping: #"{"name": "score"}"#), "value_not_convertible")
        // The response names the wrong entry, which is the client's own text.
        try expectProblem(
            try await deployment.login(ann, mapping: #"{"name": "canary"}"#),
            oneOf: ["mapping_target_not_allowed"],
            allowsCanary: true
        )
        try expectProblem(
            try await deployment.login(body: #"{"accessToken": "\#(ann.token)" "canary"}"#),
            "malformed_request"
        )
        try expectProblem(try await deployment.login(body: #"{"accessToken": "canary canary"}"#), "credential_invalid")
        try expectProblem(
            try await deployment.client.post("/canary/\(Canary.apiKey)/users/loginWithFacebook", json: "{}"),
            "unknown_application"
        )
        try expectProblem(try await deployment.client.get("\(login)?accessToken=\(ann.token)"), "method_not_allowed")
        try expectProblem(try await deployment.client.get("/\(ann.token)"), "not_found")
        try expectProblem(
            try await deployment.login(try await deployment.newcomer(Self.profile, app: "2345678901")),
            "credential_invalid"
        )
        for kind in ["expired", "checkpointed", "page", "malformed"] {
            let visitor = try await deployment.newcomer(Self.profile, kind: kind)
            let reply = try await deployment.login(visitor)
            try expectProblem(
                reply,
                oneOf: ["credential_expired", "credential_invalid", "user_action_required", "credential_wrong_kind"]
            )
        }
        for effect in [
            #""effect": "error", "code": 190, "message": "Malformed access token \#(ann.token)""#,
            #""effect": "error", "code": 100, "message": "canary.mail@example.com is \#(Canary.appSecret(of: "1234567890"))""#,
            #""effect": "error", "code": 2, "message": "canary""#, #""effect": "html502""#, #""effect": "truncated""#,
            #""effect": "false""#,
            #""effect": "rateLimit""#,
        ] {
            try await deployment.simulator.withFault("{\(effect)}") {
                let reply = try await deployment.login(ann)
                #expect(reply.status >= 400)
                #expect(!reply.text.lowercased().contains(Canary.mark), "\(reply.text)")
            }
        }
        // PostgreSQL's own error messages repeat values.
        try await deployment.database.psql("alter table demo.sessions rename to sessions_away")
        let broken = try await deployment.login(try await deployment.newcomer(#"{"email": "eve.canary@example.com"}"#))
        try await deployment.database.psql("alter table demo.sessions_away rename to sessions")
        #expect([500, 503].contains(broken.status))
        #expect(!broken.text.lowercased().contains(Canary.mark) && !broken.text.contains("sessions"), "\(broken.text)")
    }
}
