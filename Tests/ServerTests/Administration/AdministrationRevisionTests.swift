import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Nobody overwrites what they have not read",
    .serialized,
    .deployed(
        Document(
            properties: #"{"nick": {"type": "STRING"}, "age": {"type": "INT"}}"#,
            mapping: #"[{"from": "first_name", "to": "nick"}]"#
        )
    )
)
struct AdministrationRevisionTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Returns every change that needs `If-Match`, with a valid body.
    private func changes(of user: LoginResult, by visitor: Visitor) -> [(method: String, path: String, json: String?)] {
        let person = "applications/demo/users/\(user.objectID)"
        return [
            ("PATCH", "applications/demo", #"{"name": "Other"}"#),
            ("DELETE", "applications/demo?confirm=demo", nil),
            ("PATCH", "applications/demo/keys/tests", #"{"label": "other"}"#),
            ("DELETE", "applications/demo/keys/tests", nil),
            ("PUT", "applications/demo/providers/facebook", #"{"enabled": false, "apps": []}"#),
            ("PATCH", "applications/demo/providers/facebook", #"{"enabled": false}"#),
            ("DELETE", "applications/demo/providers/facebook", nil),
            ("POST", "applications/demo/properties", #"{"name": "more", "type": "INT"}"#),
            ("PATCH", "applications/demo/properties/nick", #"{"clientMappable": true}"#),
            ("DELETE", "applications/demo/properties/age?confirm=age", nil),
            ("PUT", "applications/demo/mappings/facebook", #"{"name": "nick"}"#),
            ("POST", "applications/demo/mappings/facebook/rollback", #"{"revision": 1}"#),
            ("PUT", "applications/demo/document", #"{"application": "demo", "name": "Other"}"#),
            ("PATCH", person, #"{"user": {"userStatus": "DISABLED"}}"#),
            ("DELETE", "\(person)?confirm=\(user.objectID)", nil),
            ("DELETE", "\(person)/sessions", nil),
            ("DELETE", "\(person)/identities/facebook/1234567890/\(visitor.id)", nil),
            ("PATCH", "operators/viewer", #"{"role": "editor"}"#),
            ("DELETE", "operators/viewer", nil),
        ]
    }

    @Test("a change without If-Match, or with a tag that was never there, is refused and changes nothing")
    func required() async throws {
        let owner = try await deployment.admin()
        _ = try await deployment.admin(.viewer)
        let visitor = try await deployment.newcomer(#"{"first_name": "Ann"}"#)
        let user = try await deployment.loggedIn(visitor)
        try await deployment.expectNothingWritten(except: ["federation.operator_tokens"]) {
            for (method, path, json) in changes(of: user, by: visitor) {
                let without = try await owner.send(method, path, json, ifMatch: nil)
                try expectProblem(without, "precondition_required", "\(method) \(path)")
                for tag in [#""never""#, #""0""#, #"W/"1""#, #""""#, "never", #"",*,""#] {
                    let stale = try await owner.send(method, path, json, ifMatch: tag)
                    let reasons = ["precondition_failed", "malformed_request"]
                    let data = try expectProblem(stale, oneOf: reasons, "\(method) \(path) \(tag)")
                    if data["reason"]?.string == "precondition_failed" {
                        let current = try #require(data["etag"]?.string, "\(method) \(path): what is there is said")
                        #expect(current.hasPrefix("\"") && current.hasSuffix("\"") && stale.header("ETag") == current)
                    }
                }
            }
        }
    }

    @Test("the tag that was read is good for one change, and each resource of an application has the application's")
    func lostUpdate() async throws {
        let owner = try await deployment.admin()
        let paths = [
            "", "/keys", "/providers/facebook", "/properties", "/properties/nick", "/mappings/facebook", "/document",
        ]
        for path in paths.map({ "applications/demo" + $0 }) {
            #expect(try await owner.tag(of: path) == owner.tag(of: "applications/demo"), "\(path)")
        }
        let read = try await owner.tag(of: "applications/demo/properties/nick")
        let changed = try await owner.send("PATCH", "applications/demo", #"{"name": "One"}"#, ifMatch: read)
        #expect(changed.status == 200, "\(changed.text)")
        let tag = try #require(changed.header("ETag"))
        #expect(tag != read)
        #expect(try await owner.tag(of: "applications/demo") == tag, "a change answers with the tag of what it made")
        try await deployment.expectNothingWritten(except: ["federation.operator_tokens"]) {
            let lost = try await owner.send("PATCH", "applications/demo", #"{"name": "Two"}"#, ifMatch: read)
            let data = try expectProblem(lost, "precondition_failed")
            #expect(data["etag"]?.string == tag)
            #expect(lost.header("ETag") == tag, "as it can be sent back")
        }
        let list = try await owner.send("PATCH", "applications/demo", #"{"name": "Three"}"#, ifMatch: "\"x\", \(tag)")
        #expect(list.status == 200, "one of several tags: \(list.text)")
        #expect(try await owner.get("applications/demo")["name"]?.string == "Three")
    }

    @Test("of two changes at the same moment with the same tag exactly one wins, in 20 rounds")
    func simultaneous() async throws {
        let owner = try await deployment.admin()
        for round in 1...20 {
            let tag = try await owner.tag(of: "applications/demo")
            let names = ["left \(round)", "right \(round)"]
            let replies = try await withThrowingTaskGroup(of: (String, HTTPReply).self) { group in
                for name in names {
                    group.addTask {
                        let json = #"{"name": "\#(name)"}"#
                        return (name, try await owner.send("PATCH", "applications/demo", json, ifMatch: tag))
                    }
                }
                var replies: [(String, HTTPReply)] = []
                for try await reply in group { replies.append(reply) }
                return replies
            }
            #expect(replies.map(\.1.status).sorted() == [200, 412], "round \(round)")
            let winner = try #require(replies.first { $0.1.status == 200 })
            #expect(try await owner.get("applications/demo")["name"]?.string == winner.0, "round \(round)")
            if let loser = replies.first(where: { $0.1.status != 200 }) {
                try expectProblem(loser.1, "precondition_failed", "round \(round)")
            }
        }
    }

    @Test("a change that changes nothing writes no revision and no entry of the audit log")
    func noChange() async throws {
        let owner = try await deployment.admin()
        let tag = try await owner.tag(of: "applications/demo")
        let name = try await owner.get("applications/demo")["name"]?.string ?? ""
        let mapping = try #require(try await owner.get("applications/demo/mappings/facebook")["entries"])
        let same: [(String, String, String)] = [
            ("PATCH", "applications/demo", #"{"name": \#(JSON.quoted(name))}"#),
            ("PATCH", "applications/demo", "{}"),
            ("PATCH", "applications/demo/keys/tests", #"{"label": "tests"}"#),
            ("PATCH", "applications/demo/providers/facebook", #"{"enabled": true}"#),
            ("PATCH", "applications/demo/properties/nick", #"{"type": "STRING", "required": false}"#),
            ("PUT", "applications/demo/mappings/facebook", mapping.text),
        ]
        try await deployment.expectNothingWritten(except: ["federation.operator_tokens"]) {
            for (method, path, json) in same {
                let reply = try await owner.send(method, path, json, ifMatch: tag)
                #expect(reply.status == 200, "\(method) \(path): \(reply.text)")
                #expect(reply.header("ETag") == tag, "\(method) \(path)")
            }
        }
    }
}
