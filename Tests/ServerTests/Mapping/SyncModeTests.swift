import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Repeated logins update the row by each sync mode",
    .serialized,
    .deployed(
        Document(
            properties: """
                {"always": {"type": "STRING"}, "first": {"type": "STRING"}, "empty": {"type": "STRING"},
                 "kept": {"type": "STRING"}}
                """,
            mapping: """
                [{"from": "name", "to": "always"}, {"from": "name", "to": "first", "sync": "firstLogin"},
                 {"from": "name", "to": "empty", "sync": "ifEmpty"}, {"from": "name", "to": "kept", "sync": "untilEdited"}]
                """
        )
    )
)
struct SyncModeTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("the first login writes in every mode, a later one only where the mode says so, and no user is added")
    func modes() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let first = try await deployment.loggedIn(ann)
        #expect(first.created)
        #expect(first.user["updated"] == .null)
        try await expect(["always": "Ann", "first": "Ann", "empty": "Ann", "kept": "Ann"], of: first)

        try await deployment.simulator.patch(person: ann.key, #"{"name": "Anna"}"#)
        let second = try await deployment.loggedIn(ann)
        #expect(!second.created)
        #expect(second.objectID == first.objectID)
        #expect(second.user["updated"]?.integer != nil)
        try await expect(["always": "Anna", "first": "Ann", "empty": "Ann", "kept": "Anna"], of: second)
        #expect(try await deployment.value("select count(*) from demo.identities where subject = '\(ann.id)'") == "1")
    }

    @Test("what an operator edits by SQL in between stays where the mode says so")
    func edits() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let first = try await deployment.loggedIn(ann)
        try await deployment.database.psql(
            "update demo.users set always = 'x', first = 'x', empty = '', kept = 'x' where object_id = '\(first.objectID)'"
        )
        try await deployment.simulator.patch(person: ann.key, #"{"name": "Anna"}"#)
        let second = try await deployment.loggedIn(ann)
        try await expect(["always": "Anna", "first": "x", "empty": "Anna", "kept": "x"], of: second)

        // An edited value stays, even when Facebook's value changes again.
        try await deployment.simulator.patch(person: ann.key, #"{"name": "Anneliese"}"#)
        let third = try await deployment.loggedIn(ann)
        try await expect(["always": "Anneliese", "first": "x", "empty": "Anna", "kept": "x"], of: third)
    }

    @Test("a field that the profile lacks at a later login leaves the property as it is")
    func missingField() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        _ = try await deployment.loggedIn(ann)
        try await deployment.simulator.put(person: ann.key, #"{"ids": {"1234567890": "\#(ann.id)"}}"#)
        let second = try await deployment.loggedIn(ann)
        #expect(!second.created)
        try await expect(["always": "Ann", "first": "Ann", "empty": "Ann", "kept": "Ann"], of: second)
    }

    private func expect(
        _ values: KeyValuePairs<String, String>,
        of signedIn: LoginResult,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let row = try #require(try await deployment.row(of: signedIn.objectID), sourceLocation: sourceLocation)
        for (property, value) in values {
            #expect(signedIn.user[property]?.string == value, "\(property)", sourceLocation: sourceLocation)
            #expect(row[property]?.string == value, "\(property)", sourceLocation: sourceLocation)
        }
    }
}
