import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The paths of logins, and several Facebook apps",
    .serialized,
    .deployed(
        Document(mapping: #"{"name": "name"}"#),
        Document(
            application: "family",
            apps: ["1000000001", "1000000002", "1000000003"],
            mapping: #"{"name": "name"}"#
        )
    )
)
struct LoginPathTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("the four login paths are one, and the provider's name is taken in any case")
    func paths() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let body = #"{"accessToken": "\#(ann.token)", "fieldsMapping": {"email": "email"}}"#
        var ids: Set<String> = []
        for endpoint in [
            "users/loginWithFacebook", "users/social/facebook/sdk/login", "users/social/facebook/login",
            "users/oauth/facebook/login", "users/social/Facebook/sdk/login", "users/social/FACEBOOK/login",
            "users/oauth/faceBook/login",
        ] {
            let reply = try await deployment.client.post(deployment.path(endpoint), json: body)
            ids.insert(try deployment.signedIn(reply).objectID)
        }
        #expect(ids.count == 1)
    }

    @Test("a provider that does not exist is not found, before the credential is looked at")
    func unknownProviders() async throws {
        let token = try await deployment.newcomer().token
        let requests = try await deployment.simulator.requests {
            try await deployment.expectNothingWritten {
                for provider in [
                    "google", "facebook2", "f\u{430}cebook", "%20facebook", "facebook%00", "faceboo\u{212A}",
                ] {
                    for endpoint in [
                        "users/social/\(provider)/sdk/login", "users/social/\(provider)/login",
                        "users/oauth/\(provider)/login",
                    ] {
                        let path = deployment.path(endpoint.escapingNonASCII)
                        let reply = try await deployment.client.post(path, json: #"{"accessToken": "\#(token)"}"#)
                        try expectProblem(reply, "not_found", "\(provider)")
                    }
                }
            }
        }
        #expect(requests.isEmpty)
    }

    @Test("of several Facebook apps each is asked in turn until one says that the token is its own")
    func inTurn() async throws {
        let family = deployment.documents[1]
        for (position, app) in family.apps.enumerated() {
            let ann = try await deployment.newcomer(#"{"name": "Ann"}"#, app: app)
            let requests = try await deployment.simulator.requests {
                let signedIn = try await deployment.loggedIn(ann, to: family)
                let identity = try await deployment.rows(
                    "select to_jsonb(i) from family.identities i where object_id = '\(signedIn.objectID)'"
                ).first
                #expect(identity?["provider_app"]?.string == app)
                #expect(identity?["subject"]?.string == ann.id)
            }
            let asked = requests.filter { $0.path == "debug_token" }.count
            #expect(asked == position + 1, "the first app costs one round trip")
        }
    }

    @Test("an app that the client names is asked alone")
    func named() async throws {
        let family = deployment.documents[1]
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#, app: "1000000003")
        func login(as app: String) async throws -> HTTPReply {
            try await deployment.login(body: #"{"accessToken": "\#(ann.token)", "appId": "\#(app)"}"#, to: family)
        }
        let requests = try await deployment.simulator.requests {
            _ = try deployment.signedIn(try await login(as: "1000000003"))
        }
        #expect(requests.count == 2)
        try await deployment.expectNothingWritten {
            try expectProblem(try await login(as: "1000000001"), "credential_invalid")
            try expectProblem(try await login(as: "1234567890"), "provider_not_configured")
        }
    }

    @Test("a token of none of the apps is refused")
    func foreign() async throws {
        let family = deployment.documents[1]
        let stranger = try await deployment.newcomer()
        try await deployment.expectNothingWritten {
            try expectProblem(try await deployment.login(stranger, to: family), "credential_invalid")
        }
    }

    @Test("two apps never share an id: the same number at another app is another person")
    func scopedIDs() async throws {
        let family = deployment.documents[1]
        let ann = try await deployment.newcomer(app: "1000000001")
        let first = try await deployment.loggedIn(ann, to: family)
        let other = try await deployment.newcomer(app: "1000000002")
        try await deployment.simulator.patch(person: other.key, #"{"ids": {"1000000002": "\#(ann.id)"}}"#)
        let second = try await deployment.loggedIn(other, to: family)
        #expect(second.created)
        #expect(second.objectID != first.objectID)
    }
}

extension String {
    /// The text with every non-ASCII byte percent-encoded.
    fileprivate var escapingNonASCII: String {
        utf8.reduce(into: "") { $0 += $1 < 0x80 ? String(UnicodeScalar($1)) : "%" + String($1, radix: 16) }
    }
}
