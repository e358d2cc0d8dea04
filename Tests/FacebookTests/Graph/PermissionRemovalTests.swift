import Curl
import Domain
@testable import Facebook
import GraphSimulator
import Providers
import Testing

@Suite("Giving up permissions")
struct PermissionRemovalTests {
    @Test(
        "an access token gives them up by one call with its proof, and is dead after that",
        arguments: ProofForm.allCases
    )
    func removed(form: ProofForm) async throws {
        try await withFacebook { facebook in
            let token = try facebook.simulator.mint(.long, person: "ann").text
            #expect(await facebook.remove(token, form: form) == "removed")
            let requests = facebook.simulator.requests()
            try #require(requests.count == 1)
            #expect(requests[0].method == "DELETE")
            #expect(requests[0].uri.hasPrefix("/v25.0/\(Facebook.subject)/permissions?"))
            let names = ["appsecret_proof"] + (form == .timed ? ["appsecret_time"] : [])
            #expect(requests[0].parameters.map(\.name) == names)
            #expect(requests[0].header("Authorization") == "Bearer " + token)
            #expect(facebook.simulator.token(token)?.kind == .appRemoved)
            #expect(await facebook.remove(token, form: form) == "tokenIsDead credential_revoked")
        }
    }

    @Test("an ID token gives them up by the uninstall of Limited Login, in a form")
    func limited() async throws {
        try await withFacebook { facebook in
            let access = try facebook.simulator.mint(.long, person: "ann").text
            let token = try facebook.simulator.idToken(person: "ann", nonce: "n")
            #expect(await facebook.remove(token, kind: .id) == "removed")
            let requests = facebook.simulator.requests()
            try #require(requests.count == 1)
            #expect(requests[0].method == "POST" && requests[0].uri == "/platform/uninstall/")
            #expect(requests[0].parameters.map(\.name) == ["id_token", "app_id"])
            #expect(requests[0].parameters.map(\.value) == [token, Facebook.app])
            #expect(requests[0].header("Authorization") == nil)
            #expect(facebook.simulator.token(access)?.kind == .appRemoved)
        }
    }

    @Test(
        "a token that Facebook refuses is dead, whyever it is",
        arguments: [
            (.appRemoved, "credential_revoked"), (.passwordChanged, "credential_revoked"),
            (.loggedOut, "credential_revoked"), (.expired, "credential_expired"),
        ] as [(GraphSimulator.TokenKind, String)]
    )
    func dead(kind: GraphSimulator.TokenKind, reason: String) async throws {
        try await withFacebook { facebook in
            let token = try facebook.simulator.mint(kind, person: "ann").text
            #expect(await facebook.remove(token) == "tokenIsDead \(reason)")
        }
    }

    @Test("a token that nobody knows is dead, and so is another person's to this one, who loses nothing by it")
    func notTheirs() async throws {
        try await withFacebook { facebook in
            #expect(await facebook.remove("EAAmadeup") == "tokenIsDead credential_invalid")
            let token = try facebook.simulator.mint(.long, person: "ben").text
            #expect(await facebook.remove(token) == "tokenIsDead credential_invalid")
            #expect(facebook.simulator.token(token)?.kind == .long)
        }
    }

    @Test("an app secret or an app that Facebook refuses fails, and says nothing of the token")
    func appRefused() async throws {
        try await withFacebook { facebook in
            let token = try facebook.simulator.mint(.long, person: "ann").text
            #expect(await facebook.remove(token, secret: "another") == "failed provider_misconfigured")
            #expect(await facebook.remove(token, secret: "a b") == "failed provider_misconfigured")
            let idToken = try facebook.simulator.idToken(person: "ann", nonce: "n")
            #expect(await facebook.remove(idToken, kind: .id, app: "999") == "failed provider_misconfigured")
            #expect(facebook.simulator.token(token)?.kind == .long)
        }
    }

    @Test(
        "Facebook that is down, silent or talks rubbish is asked once, and nothing is taken for an end of the token",
        arguments: [
            (.interrupt(.request, .reset), "provider_unavailable"), (.interrupt(.body, .close), "provider_unavailable"),
            (.interrupt(.request, .hang), "provider_timeout"), (.html502, "provider_unavailable"),
            (.empty, "provider_bad_reply"), (.bareFalse, "provider_bad_reply"),
            (.json(["success": false]), "provider_bad_reply"), (.json(["success": "true"]), "provider_bad_reply"),
            (.json(["id": "1"]), "provider_bad_reply"),
            (.json(["success": true], status: 500), "provider_unavailable"),
            (.json(["success": true], status: 400), "provider_bad_reply"), (.damage(.truncated), "provider_bad_reply"),
            (.redirect(to: "/elsewhere"), "provider_bad_reply"),
            (.rateLimit(code: 4, usage: .init(), status: nil, retryAfter: nil), "provider_rate_limited"),
        ] as [(GraphSimulator.Fault.Effect, String)]
    )
    func trouble(effect: GraphSimulator.Fault.Effect, reason: String) async throws {
        try await withFacebook(callTimeout: .milliseconds(400)) { facebook in
            for kind in [ProviderToken.Kind.access, .id] {
                facebook.simulator.removeFaults()
                let token =
                    kind == .access
                    ? try facebook.simulator.mint(.long, person: "ann").text
                    : try facebook.simulator.idToken(person: "ann", nonce: "n")
                facebook.simulator.clearRequests()
                facebook.simulator.add(.init(effect))
                #expect(await facebook.remove(token, kind: kind) == "failed \(reason)", "\(kind)")
                #expect(facebook.simulator.requests().count == 1)
            }
        }
    }

    @Test("a bare true is an end, too, as Facebook documents it")
    func bareTrue() async throws {
        try await withFacebook { facebook in
            facebook.simulator.add(.init(.json(true)))
            #expect(await facebook.remove("EAAx") == "removed")
        }
    }

    @Test("without time nothing is sent")
    func noTime() async throws {
        try await withFacebook { facebook in
            let token = try facebook.simulator.mint(.long, person: "ann").text
            #expect(await facebook.remove(token, within: .zero) == "failed provider_timeout")
            #expect(facebook.simulator.requests().isEmpty)
        }
    }

    @Test("it is asked while the circuit breaker keeps logins away, and its failures keep no login away")
    func breaker() async throws {
        let graph = try FakeGraph { $0.path.hasSuffix("/permissions") ? .reply(500, "") : FakeGraph.good($0) }
        defer { graph.stop() }
        for _ in 0...CircuitBreaker.longestRun {
            #expect(await graph.client.remove("EAAx", of: "1") == "failed provider_unavailable")
        }
        #expect(graph.count == CircuitBreaker.longestRun + 1)
        #expect(await graph.evidence().words == "token, user")
    }

    @Test("T-110: the token is in no failure")
    func canary() async throws {
        for status in [200, 400, 500] {
            let graph = try FakeGraph { _ in .reply(status, #"{"error":{"code":190,"message":"CANARY"},"x":"CANARY"}"#)
            }
            defer { graph.stop() }
            let removal = await graph.client.removal("CANARY", of: "1")
            #expect(!String(reflecting: removal).contains("CANARY"))
        }
    }
}

/// A simulator with one app and two users, and a client that uses it as Facebook.
private struct Facebook: Sendable {
    static let app = "1234567890"
    static let secret = "s3cret"
    static let subject = "10150000000000001"

    let simulator: GraphSimulator
    let client: GraphClient

    func remove(
        _ token: String,
        kind: ProviderToken.Kind = .access,
        app: String = app,
        secret: String = secret,
        form: ProofForm = .timed,
        within limit: Duration = .seconds(60)
    ) async -> String {
        await client.remove(
            token,
            kind: kind,
            of: Self.subject,
            app: app,
            secret: secret,
            form: form,
            now: Int64(simulator.now),
            within: limit
        )
    }
}

private func withFacebook(
    callTimeout: Duration = .seconds(30),
    _ body: (Facebook) async throws -> Void
) async throws {
    var dataset = GraphSimulator.Dataset()
    dataset.apps = [GraphSimulator.App(id: Facebook.app, secret: Facebook.secret)]
    var ann = GraphSimulator.Person("ann", fields: ["first_name": "Ann"])
    ann.ids = [Facebook.app: Facebook.subject]
    dataset.people = [ann, GraphSimulator.Person("ben", fields: ["first_name": "Ben"])]
    let simulator = try await GraphSimulator.start(dataset)
    let client = GraphClient(
        curl: try CurlClient(),
        configuration: try GraphConfiguration(
            baseURL: simulator.url,
            limitedURL: simulator.url,
            callTimeout: callTimeout
        )
    )
    do {
        try await body(Facebook(simulator: simulator, client: client))
    } catch {
        await simulator.stop()
        throw error
    }
    await simulator.stop()
}

extension GraphClient {
    /// Removes permissions and returns the outcome in a word or two.
    fileprivate func remove(
        _ token: String,
        kind: ProviderToken.Kind = .access,
        of subject: String,
        app: String = "123",
        secret: String = "s3cret",
        form: ProofForm = .timed,
        now: Int64 = 1_700_000_000,
        within limit: Duration = .seconds(60)
    ) async -> String {
        switch await removal(
            token,
            kind: kind,
            of: subject,
            app: app,
            secret: secret,
            form: form,
            now: now,
            within: limit
        ) {
        case .removed: "removed"
        case .tokenIsDead(let failure): "tokenIsDead \(failure.reason.rawValue)"
        case .failed(let failure): "failed \(failure.reason.rawValue)"
        }
    }

    fileprivate func removal(
        _ token: String,
        kind: ProviderToken.Kind = .access,
        of subject: String,
        app: String = "123",
        secret: String = "s3cret",
        form: ProofForm = .timed,
        now: Int64 = 1_700_000_000,
        within limit: Duration = .seconds(60)
    ) async -> PermissionRemoval {
        guard let id = ProviderAppID(app), let subject = Subject(subject), let application = ApplicationID("demo")
        else { preconditionFailure("ids of this test") }
        let app = ProviderApp(id: id, secret: Secret(secret))
        return await removePermissions(
            by: ProviderToken(kind: kind, text: Secret(token), expiresAt: nil),
            of: subject,
            app: app,
            settings: FacebookSettings(enabled: true, graphVersion: "v25.0", proof: form, apps: [app]),
            application: application,
            deadline: .now + limit,
            now: now
        )
    }
}
