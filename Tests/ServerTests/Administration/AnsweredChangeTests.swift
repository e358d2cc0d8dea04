import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "What the administration has answered counts from the next request on",
    .serialized,
    .deployed(Document(settings: #"{"dynamicProperties": true}"#))
)
struct AnsweredChangeTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let rounds = 100
    private static let application = "applications/demo"

    @Test("T-63: a new key serves the next call, and a revoked one does not")
    func keys() async throws {
        let owner = try await deployment.admin()
        var unserved = 0
        var served = 0
        for round in 0..<Self.rounds {
            let path = "\(Self.application)/keys"
            let key = try await owner.ask("POST", path, #"{"label": "spare\#(round)"}"#)
            let call = "/demo/\(try #require(key["key"]?.string))/users/isvalidusertoken/x"
            if try await deployment.client.get(call).status != 200 { unserved += 1 }
            try await owner.ask("DELETE", "\(path)/spare\(round)")
            if try await deployment.client.get(call).status != 401 { served += 1 }
        }
        #expect(unserved == 0, "new keys that the next call did not find")
        #expect(served == 0, "revoked keys that still served the next call")
    }

    @Test("T-50: what was forbidden is not written by the next call")
    func dynamicProperties() async throws {
        let owner = try await deployment.admin()
        let ann = try await deployment.loggedIn(try await deployment.newcomer())
        func put(_ value: Int) async throws -> JSONObject {
            let reply = try await deployment.send(
                "PUT",
                "users/\(ann.objectID)",
                #"{"undeclared": \#(value)}"#,
                token: ann.token
            )
            try #require(reply.status == 200, "\(reply.text)")
            return try #require(JSON.object(reply.text))
        }
        var refused = 0
        var stored = 0
        for round in 0..<Self.rounds {
            try await owner.ask("PATCH", Self.application, #"{"settings": {"dynamicProperties": true}}"#)
            if try await put(2 * round)["undeclared"]?.integer != Int64(2 * round) { refused += 1 }
            try await owner.ask("PATCH", Self.application, #"{"settings": {"dynamicProperties": false}}"#)
            if try await put(2 * round + 1)["undeclared"]?.integer == Int64(2 * round + 1) { stored += 1 }
        }
        #expect(refused == 0, "values that had just been allowed")
        #expect(stored == 0, "values that had just been forbidden")
    }

    @Test("of changes that are made at once, each counts when it has been answered")
    func concurrent() async throws {
        let owner = try await deployment.admin()
        let late = try await withThrowingTaskGroup(of: Int.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var late = 0
                    for round in 0..<10 {
                        let path = "\(Self.application)/keys"
                        let label = "of\(worker)in\(round)"
                        let key = try await owner.ask("POST", path, #"{"label": "\#(label)"}"#)
                        let call = "/demo/\(try #require(key["key"]?.string))/users/isvalidusertoken/x"
                        if try await deployment.client.get(call).status != 200 { late += 1 }
                        try await owner.ask("DELETE", "\(path)/\(label)")
                        if try await deployment.client.get(call).status != 401 { late += 1 }
                    }
                    return late
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(late == 0)
    }
}
