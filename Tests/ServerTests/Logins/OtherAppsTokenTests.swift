import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "A token of another app is refused",
    .serialized,
    .deployed(
        Document(apps: ["123456789"], mapping: #"{"email": "email", "name": "name"}"#),
        Document(application: "classic", apps: ["123456789"], proof: "classic", mapping: #"{"email": "email"}"#)
    )
)
struct OtherAppsTokenTests {
    private static let ours = "123456789"
    private static let theirs = "999999999"

    let deployment: Deployment

    init() async throws {
        deployment = try Deployment.current
        try await deployment.simulator.put(apps: [Self.ours, Self.theirs])
    }

    @Test("T-01: a good token that was made for another app opens no session, as Facebook really answers: code 100")
    func foreignToken() async throws {
        let visitor = try await deployment.newcomer(app: Self.theirs)
        try await deployment.expectNothingWritten {
            try expectProblem(try await deployment.login(visitor), "credential_invalid")
        }
    }

    @Test("T-01: nor when debug_token answers 200 and names another app")
    func otherAppNamed() async throws {
        let visitor = try await deployment.newcomer(app: Self.ours)
        let fault = #"{"effect": "merge", "path": "debug_token", "json": {"data": {"app_id": "\#(Self.theirs)"}}}"#
        try await deployment.simulator.withFault(fault) {
            try await deployment.expectNothingWritten {
                try expectProblem(try await deployment.login(visitor), "credential_invalid")
            }
        }
        #expect(try await deployment.loggedIn(visitor).created)
    }

    @Test("T-03: app ids are compared as a whole and as bytes")
    func similarAppIDs() async throws {
        let visitor = try await deployment.newcomer(app: Self.ours)
        try await deployment.expectNothingWritten {
            for id in [
                "3456", "12345678", "1234567890", "0123456789", " 123456789", "123456789 ", "", "12345678\u{669}",
            ] {
                let fault =
                    #"{"effect": "merge", "path": "debug_token", "json": {"data": {"app_id": \#(JSON.quoted(id))}}}"#
                try await deployment.simulator.withFault(fault) {
                    // A text that is no app id makes the response malformed; it is refused either way.
                    let reply = try await deployment.login(visitor)
                    try expectProblem(reply, oneOf: ["credential_invalid", "provider_bad_reply"], "app_id \(id)")
                }
            }
        }
    }

    @Test("T-04: a foreign token whose profile carries the e-mail of a user of ours does not become that user")
    func foreignTokenWithKnownEmail() async throws {
        let profile = #"{"email": "victim.canary@example.com", "name": "Victim"}"#
        let victim = try await deployment.loggedIn(try await deployment.newcomer(profile, app: Self.ours))
        #expect(victim.user["email"]?.string == "victim.canary@example.com")
        let attacker = try await deployment.newcomer(profile, app: Self.theirs)
        try await deployment.expectNothingWritten {
            try expectProblem(try await deployment.login(attacker), "credential_invalid")
        }
    }

    @Test("T-05, T-07: that /me answers is not enough; debug_token has to vouch for the token")
    func profileAlone() async throws {
        let visitor = try await deployment.newcomer(app: Self.ours)
        let fault = #"{"effect": "merge", "path": "debug_token", "json": {"data": {"is_valid": false}}}"#
        try await deployment.simulator.withFault(fault) {
            try await deployment.expectNothingWritten {
                try expectProblem(try await deployment.login(visitor), "credential_invalid")
            }
        }
    }

    @Test("T-06: a Graph that never looks at the proof does not make a foreign token count")
    func proofIgnored() async throws {
        for app in [Self.ours, Self.theirs] {
            try await deployment.simulator.put(
                app: app,
                #"{"secret": "\#(Canary.appSecret(of: app))", "ignoreProof": true}"#
            )
        }
        let visitor = try await deployment.newcomer(app: Self.theirs)
        try await deployment.expectNothingWritten {
            try expectProblem(try await deployment.login(visitor), "credential_invalid")
        }
    }

    @Test("T-06: a Graph that demands the proof finds ours right, in the timed and in the classic form")
    func proofDemanded() async throws {
        try await deployment.simulator.put(
            app: Self.ours,
            #"{"secret": "\#(Canary.appSecret(of: Self.ours))", "requireProof": true}"#
        )
        for document in deployment.documents {
            let visitor = try await deployment.newcomer(app: Self.ours)
            let requests = try await deployment.simulator.requests {
                _ = try await deployment.loggedIn(visitor, to: document)
            }
            let times = requests.filter { $0.path == "me" }.map { $0.values(of: "appsecret_time").count }
            #expect(times == [document.proof == "timed" ? 1 : 0])
            #expect(requests.count == 2, "two Graph calls for a login")
            for request in requests { #expect(request.values(of: "appsecret_proof").count == 1) }
        }
    }

    @Test("T-06: with a secret that is not the app's, nobody logs in")
    func wrongSecret() async throws {
        let visitor = try await deployment.newcomer(app: Self.ours)
        try await deployment.simulator.put(app: Self.ours, #"{"secret": "another"}"#)
        try await deployment.expectNothingWritten {
            try expectProblem(try await deployment.login(visitor), "provider_misconfigured")
        }
    }
}
