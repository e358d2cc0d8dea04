@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "T-94: text that is expensive to hash costs no more than other text",
    .serialized,
    .deployed(
        Document(settings: #"{"dynamicProperties": true}"#, mapping: #"{"name": "name"}"#)
    )
)
struct HostileTextTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Returns alternating combining marks, which Swift's `String` hashes and compares in quadratic time (decision D5).
    ///
    /// 60 KB cost half a second in a release build and many times that in a debug build, in which these tests run.
    private static func marks(_ bytes: Int) -> String {
        "e" + String(repeating: "\u{301}\u{323}", count: bytes / 4)
    }

    /// The average processor time allowed per hostile request, of ten, in a debug build and on a busy machine.
    private static let bound = Duration.milliseconds(60)

    private func expectCheap(
        _ what: String,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ request: () async throws -> HTTPReply
    ) async throws {
        let before = try deployment.service.process.usage().processorTime
        for _ in 0..<10 {
            let reply = try await request()
            #expect(reply.status < 500, "\(what): \(reply.text.prefix(300))", sourceLocation: sourceLocation)
        }
        let time = (try deployment.service.process.usage().processorTime - before) / 10
        #expect(time < Self.bound, "\(what)", sourceLocation: sourceLocation)
    }

    @Test("T-94: in the body, wherever a text may stand")
    func bodies() async throws {
        let token = try await deployment.newcomer().token
        let marks = Self.marks(60_000)
        let half = Self.marks(30_000)
        let bodies = [
            "a key": #"{"\#(marks)": 1}"#,
            "two keys": #"{"\#(half)": 1, "\#(half)": 2}"#,
            "accessToken": #"{"accessToken": "\#(marks)"}"#,
            "idToken": #"{"idToken": "\#(marks)"}"#,
            "code": #"{"code": "\#(half)", "redirectUri": "\#(half)"}"#,
            "appId": #"{"accessToken": "\#(token)", "appId": "\#(marks)"}"#,
            "a field of the mapping": #"{"accessToken": "\#(token)", "fieldsMapping": {"\#(marks)": "name"}}"#,
            "a property of the mapping": #"{"accessToken": "\#(token)", "fieldsMapping": {"name": "\#(marks)"}}"#,
            "properties of the mapping":
                #"{"accessToken": "\#(token)", "fieldsMapping": {"name": "\#(half)", "id": "\#(half)"}}"#,
            "the mapping": #"{"accessToken": "\#(token)", "fieldsMapping": "\#(marks)"}"#,
            "both mappings":
                #"{"accessToken": "\#(token)", "fieldsMapping": {"id": "\#(half)"}, "fieldsMappings": {"id": "\#(half)x"}}"#,
            "an unknown member": #"{"accessToken": "\#(token)", "guestUser": {"name": "\#(marks)"}}"#,
        ]
        for (what, body) in bodies {
            try await expectCheap(what) { try await deployment.login(body: body) }
        }
    }

    @Test("T-94: in the path, the query and the headers")
    func heads() async throws {
        let marks = Self.marks(15_000)
        let escaped = String(repeating: "%CC%81%CC%A3", count: 600)
        let body = Array("{}".utf8)
        let path = deployment.path("users/loginWithFacebook")
        let json = ("Content-Type", "application/json")
        for path in [
            "/\(escaped)/\(Canary.apiKey)/users/loginWithFacebook", "/demo/\(escaped)/users/loginWithFacebook",
            deployment.path("users/social/e\(escaped)/login"), deployment.path(escaped),
            "\(path)?\(escaped)=\(escaped)&\(escaped)=1",
        ] {
            try await expectCheap("\(path.prefix(60))…") {
                try await deployment.client.send("POST", path, headers: [json], body: body)
            }
        }
        for path in [
            deployment.path("users/isvalidusertoken/e\(escaped)"),
            deployment.path("users/e\(escaped)?props=e\(escaped)"),
        ] {
            try await expectCheap("\(path.prefix(60))…") { try await deployment.client.get(path) }
        }
        for header in ["user-token", "Origin", "Content-Type", "Cookie", "X-Request-Id", "Accept"] {
            try await expectCheap(header) {
                try await deployment.client.send("POST", path, headers: [json, (header, marks)], body: body)
            }
        }
    }

    @Test("T-94: in forms, in what a dialog is asked for, and in what comes back from it")
    func callbacks() async throws {
        let marks = Self.marks(60_000)
        let form = ("Content-Type", "application/x-www-form-urlencoded")
        for path in ["users/oauth/facebook/deletion", "users/oauth/facebook/deauthorize"] {
            for body in [marks, "signed_request=\(marks)", "\(marks)=1"] {
                try await expectCheap(path) {
                    let path = deployment.path(path)
                    return try await deployment.client.send("POST", path, headers: [form], body: Array(body.utf8))
                }
            }
        }
        let dialog = deployment.path("users/oauth/facebook/request_url")
        for json in [
            #"{"permissions": "\#(marks)"}"#, #"{"permissions": ["\#(marks)"]}"#,
            #"{"redirectAfterLoginUrl": "\#(marks)"}"#,
            #"{"callbackUrlDomain": "\#(marks)"}"#, #"{"codeChallenge": "\#(marks)"}"#, #"{"authType": "\#(marks)"}"#,
        ] {
            try await expectCheap(String(json.prefix(20))) { try await deployment.client.post(dialog, json: json) }
        }
        let escaped = String(repeating: "%CC%81%CC%A3", count: 600)
        for query in ["state=e\(escaped)", "e\(escaped)=1", "state=x&denied_scopes=e\(escaped)"] {
            try await expectCheap(String(query.prefix(20))) {
                let reply = try await deployment.client.get(deployment.path("users/oauth/facebook/authorize?\(query)"))
                #expect(reply.status == 400)
                return reply
            }
        }
    }

    @Test("T-94: in Facebook's replies")
    func profiles() async throws {
        let token = try await deployment.newcomer().token
        let marks = Self.marks(60_000)
        for patch in [
            #"{"name": "\#(marks)"}"#, #"{"\#(marks)": 1}"#, #"{"id": "\#(marks)"}"#,
            #"{"name": {"\#(marks)": "\#(marks)"}}"#,
        ] {
            try await deployment.simulator.withFault(#"{"effect": "merge", "path": "me", "json": \#(patch)}"#) {
                let before = try deployment.service.process.usage().processorTime
                for _ in 0..<10 {
                    _ = try await deployment.login(
                        body: #"{"accessToken": "\#(token)", "fieldsMapping": {"name": "whole"}}"#
                    )
                }
                let time = (try deployment.service.process.usage().processorTime - before) / 10
                #expect(time < Self.bound, "\(patch.prefix(20))…")
            }
        }
    }
}
