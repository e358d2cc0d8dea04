import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// Each later request of a session reads what it stored, in PostgreSQL's text form: `1e131071` has 131,072 digits.
@Suite(
    "Numbers from outside are stored in their bounds",
    .serialized,
    .deployed(
        Document(
            settings: #"{"dynamicProperties": true}"#,
            properties: """
                {"extra": {"type": "JSON", "clientMappable": true}, "share": {"type": "DOUBLE", "clientMappable": true}}
                """
        )
    )
)
struct StoredNumberTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func put(_ session: LoginResult, _ json: String) async throws -> HTTPReply {
        try await deployment.send("PUT", "users/\(session.objectID)", json, token: session.token)
    }

    /// Returns the size of the user's row in PostgreSQL's text form, in bytes.
    private func size(of session: LoginResult) async throws -> Int {
        let size = try await deployment.value(
            "select octet_length(u::text) from demo.users u where object_id = '\(session.objectID)'"
        )
        return Int(size ?? "") ?? .max
    }

    @Test("500 numbers of 131,072 digits in 4.5 KB are refused, in a declared property and in an undeclared one")
    func bomb() async throws {
        let ann = try await deployment.loggedIn(try await deployment.newcomer())
        let bomb = "[" + Array(repeating: "1e131071", count: 500).joined(separator: ",") + "]"
        for name in ["extra", "undeclared"] {
            let reply = try await put(ann, #"{"\#(name)": \#(bomb)}"#)
            try expectProblem(reply, "malformed_request", "\(name)")
            #expect(JSON.object(reply.text)?["message"]?.string?.contains("number") == true, "\(reply.text)")
        }
        #expect(try await size(of: ann) < 1000)
    }

    @Test(
        "numbers that are no finite double are refused",
        arguments: [
            "1e400", "-1e400", "1e131071", "1e-131071", "1e-400", "0e999999", "0e-16383", "1e99999999999999999999",
        ]
    )
    func refused(number: String) async throws {
        let ann = try await deployment.loggedIn(try await deployment.newcomer())
        for body in [#"{"extra": \#(number)}"#, #"{"extra": {"a": [\#(number)]}}"#, #"{"undeclared": \#(number)}"#] {
            try expectProblem(try await put(ann, body), "malformed_request", "\(body)")
        }
        try expectProblem(try await put(ann, #"{"share": "\#(number)"}"#), "value_not_convertible")
    }

    @Test("what is stored comes back, and the whole object may be sent again")
    func again() async throws {
        let ann = try await deployment.loggedIn(try await deployment.newcomer())
        let numbers = "[1e308, -1e-308, 2.5e-308, 0.1, 12345678901234567168, 1E2, 0e0]"
        let reply = try await put(ann, #"{"extra": \#(numbers), "undeclared": 1e308}"#)
        let user = try #require(JSON.object(reply.text), "\(reply.text)")
        let doubles = user["extra"]?.array?.map { element -> Double? in
            guard case .number(let number) = element else { return nil }
            return number.double
        }
        #expect(doubles == [1e308, -1e-308, 2.5e-308, 0.1, 12_345_678_901_234_567_168, 100, 0])
        #expect(user["undeclared"]?.isNull == false)
        let again = try await put(ann, reply.text)
        #expect(again.status == 200, "\(again.text)")
        #expect(JSON.object(again.text)?["extra"] == user["extra"])
    }

    @Test("the size counts that PostgreSQL stores, not the one that was sent")
    func storedSize() async throws {
        let ann = try await deployment.loggedIn(try await deployment.newcomer())
        // Each number has 309 digits: 154 KB in 3 KB.
        let numbers = "[" + Array(repeating: "1e308", count: 500).joined(separator: ",") + "]"
        try expectProblem(try await put(ann, #"{"undeclared": \#(numbers)}"#), "payload_too_large")
        #expect(try await size(of: ann) < 1000)
    }

    @Test("undeclared properties that logins bring in are bounded as well, and the session of before goes on")
    func logins() async throws {
        let texts = (0..<700).map { #""k\#($0)": "\#(String(repeating: "a", count: 200))""# }.joined(separator: ",")
        let granted = #""permissions": {"public_profile": "granted", "user_age_range": "granted"}"#
        let visitor = try await deployment.newcomer(#"{"age_range": {\#(texts)}, \#(granted)}"#)
        let ann = try await deployment.loggedIn(visitor, mapping: #"{"age_range": "one"}"#)
        #expect(ann.user["one"]?.object?.members.count == 700)
        try expectProblem(try await deployment.login(visitor, mapping: #"{"age_range": "two"}"#), "payload_too_large")
        #expect(try await deployment.isValid(ann.token))
        let again = try await deployment.loggedIn(visitor)
        #expect(again.user["one"] == ann.user["one"] && again.user["two"] == nil)
    }

    @Test("stored JSON that cannot be read is an error that names the property, never null")
    func unreadable() async throws {
        let bomb = "[1e400]"
        for (column, value) in [("extra", bomb), ("dynamic", #"{"undeclared": \#(bomb)}"#)] {
            let visitor = try await deployment.newcomer()
            let ann = try await deployment.loggedIn(visitor)
            try await deployment.database.psql(
                "update demo.users set \(column) = '\(value)' where object_id = '\(ann.objectID)'"
            )
            let replies = [
                try await deployment.get("users/\(ann.objectID)", token: ann.token),
                try await deployment.login(visitor),
                try await deployment.admin().send("GET", "applications/demo/users/\(ann.objectID)"),
                try await deployment.admin().send("GET", "applications/demo/users"),
            ]
            for reply in replies {
                let data = try expectProblem(reply, "stored_value_unreadable")
                #expect(data["property"]?.string == column, "\(reply.text)")
            }
            let own = [(message: "login", member: "outcome"), (message: "request failed", member: "reason")]
            for (message, member) in own {
                try await eventually("the log has it as the service's own fault: \(message)") {
                    deployment.service.process.standardOutput.split(separator: "\n")
                        .compactMap { JSON.object(String($0)) }
                        .contains { line in
                            line["message"]?.string == message && line["level"]?.string == "error"
                                && line[member]?.string == "stored_value_unreadable"
                        }
                }
            }
            // The query by which docs/operations/users-table.md tells operators to find and repair such values.
            let found = try await deployment.database.psql(
                """
                select object_id from demo.users where octet_length(\(column)::text) > 262144 or \(column) @?
                    '$.** ? (@.type() == "number" && (@ > 1.8e308 || @ < -1.8e308 || @ != 0 && @ < 2e-324 && @ > -2e-324))'
                """
            )
            #expect(found == [[ann.objectID.lowercased()]])
            try await deployment.database.psql(
                "update demo.users set \(column) = default where object_id = '\(ann.objectID)'"
            )
            #expect(try await deployment.get("users/\(ann.objectID)", token: ann.token).status == 200)
        }
    }
}
