@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("What Facebook says of a token decides", .serialized, .deployed(Document(mapping: #"{"email": "email"}"#)))
struct TokenVerdictTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("T-17: only a person's token counts, although page, app and system-user tokens of our own app are valid, too")
    func kinds() async throws {
        try await deployment.expectNothingWritten {
            for kind in ["page", "app", "systemUser", "debugOnly"] {
                let visitor = try await deployment.newcomer(kind: kind)
                try expectProblem(try await deployment.login(visitor), "credential_wrong_kind", "\(kind)")
            }
        }
    }

    @Test("a token that has ended is refused with the reason")
    func endedTokens() async throws {
        let reasons = [
            "expired": "credential_expired", "dataAccessExpired": "credential_expired",
            "passwordChanged": "credential_revoked", "appRemoved": "credential_revoked",
            "invalidated": "credential_revoked", "loggedOut": "credential_revoked",
            "checkpointed": "user_action_required", "unconfirmed": "user_action_required",
            "malformed": "credential_invalid", "undecryptable": "credential_invalid",
        ]
        try await deployment.expectNothingWritten {
            for (kind, reason) in reasons {
                let visitor = try await deployment.newcomer(kind: kind)
                try expectProblem(try await deployment.login(visitor), reason, "\(kind)")
            }
        }
    }

    @Test("every other kind of user token logs in", arguments: ["short", "long", "never"])
    func goodTokens(kind: String) async throws {
        #expect(try await deployment.loggedIn(try await deployment.newcomer(kind: kind)).created)
    }

    @Test("T-13: a body that was good yesterday is asked about again today")
    func revokedMeanwhile() async throws {
        let ann = try await deployment.newcomer()
        _ = try await deployment.loggedIn(ann)
        try await deployment.simulator.patch(token: ann.token, #"{"kind": "appRemoved"}"#)
        try await deployment.expectNothingWritten {
            try expectProblem(try await deployment.login(ann), "credential_revoked")
        }
    }

    @Test("T-13: a body without its secret part is no login of a known person")
    func missingCredential() async throws {
        try await deployment.expectNothingWritten {
            for body in [
                "{}", #"{"accessToken": ""}"#, #"{"accessToken": null}"#, #"{"accessToken": null, "idToken": ""}"#,
            ] {
                try expectProblem(try await deployment.login(body: body), "credential_missing", "\(body)")
            }
        }
    }

    @Test("T-16: only when everything agrees does a token count: one wrong answer of many is enough to refuse")
    func truthTable() async throws {
        let ann = try await deployment.newcomer()
        _ = try await deployment.loggedIn(ann)
        try await deployment.expectNothingWritten {
            for combination in 1..<64 {
                let wrong = { (bit: Int) in combination >> bit & 1 == 1 }
                let inspection = """
                    {"effect": "merge", "path": "debug_token", "json": {"data": {
                        "is_valid": \(!wrong(0)), "app_id": "\(wrong(1) ? "999" : "1234567890")",
                        "type": "\(wrong(2) ? "PAGE" : "USER")", "expires_at": \(wrong(3) ? 1_500_000_000 : 0),
                        "data_access_expires_at": \(wrong(4) ? 1_500_000_000 : 0),
                        "user_id": "\(wrong(5) ? "42" : ann.id)"}}}
                    """
                try await deployment.simulator.withFault(inspection) {
                    let reply = try await deployment.login(ann)
                    #expect([400, 401].contains(reply.status), "combination \(combination): \(reply.text)")
                }
            }
        }
        let allRight = """
            {"effect": "merge", "path": "debug_token", "json": {"data": {"is_valid": true, "app_id": "1234567890",
                "type": "USER", "expires_at": 0, "data_access_expires_at": 0, "user_id": "\(ann.id)"}}}
            """
        // The row of the table where everything is right.
        _ = try await deployment.simulator.withFault(allRight) { try await deployment.loggedIn(ann) }
    }
}
