@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "A credential comes in one place, in one kind, once",
    .serialized,
    .deployed(Document(mapping: #"{"email": "email"}"#))
)
struct CredentialChannelTests {
    /// A JWT: `{"alg":"RS256","typ":"JWT"}`, some claims, some signature.
    private static let jwt = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjEifQ.c2lnbmF0dXJl"

    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test(
        "T-08, T-11: an ID token that names no key of Facebook's is refused in either field, and its issuer is not asked"
    )
    func idTokens() async throws {
        let members = [
            #""accessToken": "\#(Self.jwt)""#, #""idToken": "\#(Self.jwt)""#,
            #""idToken": "\#(Self.jwt)", "nonce": "n""#,
            // Facebook's issuer and audience, with algorithm none.
            #""accessToken": "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL3d3dy5mYWNlYm9vay5jb20iLCJhdWQiOiIxMjM0NTY3ODkwIn0.AA""#,
        ]
        let requests = try await deployment.simulator.requests {
            try await deployment.expectNothingWritten {
                for member in members {
                    try expectProblem(
                        try await deployment.login(body: "{\(member)}"),
                        "credential_invalid",
                        "\(member)"
                    )
                }
            }
        }
        #expect(requests.isEmpty)
    }

    @Test("T-09: a token counts in the body of a POST of JSON and nowhere else")
    func channels() async throws {
        let token = try await deployment.newcomer().token
        let path = deployment.path("users/loginWithFacebook")
        let json = ("Content-Type", "application/json")
        let body = Array(#"{"accessToken": "\#(token)"}"#.utf8)
        let form = [("Content-Type", "application/x-www-form-urlencoded")]
        let requests = try await deployment.simulator.requests {
            try await deployment.expectNothingWritten {
                let client = deployment.client
                try expectProblem(try await client.get("\(path)?accessToken=\(token)"), "method_not_allowed")
                try expectProblem(
                    try await client.send("GET", path, headers: [json], body: body),
                    "method_not_allowed"
                )
                try expectProblem(try await client.send("PUT", path, headers: [json], body: body), "method_not_allowed")
                try expectProblem(
                    try await client.post("\(path)?accessToken=\(token)&access_token=\(token)", json: "{}"),
                    "credential_missing"
                )
                try expectProblem(
                    try await client.send("POST", path, headers: form, body: Array("accessToken=\(token)".utf8)),
                    "unsupported_media_type"
                )
                for header in ["Authorization", "access_token", "accessToken", "Cookie"] {
                    try expectProblem(
                        try await client.post(path, json: "{}", headers: [(header, "Bearer \(token)")]),
                        "credential_missing"
                    )
                }
            }
        }
        #expect(requests.isEmpty)
    }

    @Test("T-10: two credentials are one too many, whichever they are")
    func twoCredentials() async throws {
        let token = try await deployment.newcomer().token
        let others = [
            #""idToken": "\#(Self.jwt)""#, #""code": "c", "redirectUri": "https://example.com/""#, #""code": "c""#,
            #""idToken": "\#(Self.jwt)", "code": "c""#,
        ]
        let requests = try await deployment.simulator.requests {
            try await deployment.expectNothingWritten {
                for other in others {
                    for body in [
                        #"{"accessToken": "\#(token)", \#(other)}"#, #"{\#(other), "accessToken": "\#(token)"}"#,
                    ] {
                        try expectProblem(try await deployment.login(body: body), "credential_ambiguous", "\(other)")
                    }
                }
            }
        }
        #expect(requests.isEmpty)
    }

    @Test("T-10: a member of another name changes neither the path nor the verdict")
    func otherMembers() async throws {
        let foreign = try await deployment.newcomer(app: "2345678901")
        let extras =
            #""token": "\#(Self.jwt)", "provider": "google", "authorization": {"accessToken": "x"}, "type": "oidc""#
        try await deployment.expectNothingWritten {
            try expectProblem(
                try await deployment.login(body: #"{"accessToken": "\#(foreign.token)", \#(extras)}"#),
                "credential_invalid"
            )
            try expectProblem(try await deployment.login(body: "{\(extras)}"), "credential_missing")
        }
    }

    @Test("T-12: ids in the request do not say who somebody is")
    func suppliedIDs() async throws {
        let victim = try await deployment.newcomer()
        let victimsUser = try await deployment.loggedIn(victim)
        let attacker = try await deployment.newcomer()
        let ids = [
            "id": victim.id, "userId": victim.id, "sub": victim.id, "user_id": victim.id,
            "objectId": victimsUser.objectID, "ownerId": victimsUser.objectID,
        ].map { #""\#($0)": "\#($1)""# }.joined(separator: ", ")
        try expectProblem(
            try await deployment.login(body: #"{"accessToken": "\#(attacker.token)", "guestUser": {\#(ids)}}"#),
            "guest_invalid"
        )
        for claim in [ids, ids + #", "guest": {\#(ids)}, "user": {\#(ids)}"#] {
            let reply = try await deployment.login(body: #"{"accessToken": "\#(attacker.token)", \#(claim)}"#)
            let signedIn = try deployment.signedIn(reply)
            #expect(signedIn.objectID != victimsUser.objectID)
            let subject = try await deployment.value(
                "select subject from demo.identities where object_id = '\(signedIn.objectID)'"
            )
            #expect(subject == attacker.id)
        }
    }

    @Test("T-15: the characters of a token cannot change our request to Graph")
    func injection() async throws {
        let tokens = [
            "x&fields=id,email&access_token=y", "x\r\nX-A: b", "x\nX-A: b", "x#", "x y", "x+y", "x%26y", "x%2By", "x?y",
            "x/../../y", "x;y", "x=y", "EAA&input_token=EAA", "ünï", "x\u{7F}", "\u{1F600}", "x\ty", "EAA\\", "EAA\"",
            String(repeating: "a", count: 8192), String(repeating: "a", count: 8193),
        ]
        try await deployment.expectNothingWritten {
            for token in tokens {
                let requests = try await deployment.simulator.requests {
                    let reply = try await deployment.login(body: #"{"accessToken": \#(JSON.quoted(token))}"#)
                    try expectProblem(reply, oneOf: ["credential_invalid", "credential_wrong_kind"], "\(token)")
                }
                for request in requests { expectUnchanged(token, in: request) }
            }
        }
    }

    /// Checks that the request carries the token once and only our own parameters.
    private func expectUnchanged(_ token: String, in request: GraphRequest) {
        let names = request.parameters.map(\.name).filter { $0 != "appsecret_time" }.sorted()
        #expect(request.method == "GET")
        switch request.path {
        case "debug_token":
            #expect(request.values(of: "input_token").map { Array($0.utf8) } == [Array(token.utf8)])
            #expect(names == ["appsecret_proof", "input_token"], "\(token)")
        case "me":
            #expect(request.header("Authorization") == "Bearer \(token)", "in a header, which no log of a proxy keeps")
            #expect(names == ["appsecret_proof", "fields"], "\(token)")
        default:
            Issue.record("nobody asked for \(request.path)")
        }
    }
}
