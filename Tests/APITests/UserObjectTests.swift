@testable import AdministrationAPI
import Applications
import Encodings
import HTTPTypes
import Testing
import TestSupport

@Suite("The user object of clients and that of operators")
struct UserObjectTests {
    private static let key = "0123456789abcdef"

    @Test("a user whose properties have values of every type is the same to both, member by member")
    func sameMembers() async throws {
        try await Operators.lend { operators in
            func ask(_ path: String, _ json: String) async throws {
                let reply = try await operators.send(.post, path, headers: [.ifMatch: "*"], json: json)
                try #require(reply.status == 201, "\(path): \(reply.text)")
            }
            try await ask("applications", #"{"application": "demo"}"#)
            try await ask("applications/demo/keys", #"{"label": "ios", "key": "\#(Self.key)"}"#)
            let types = ["STRING", "TEXT", "INT", "DOUBLE", "BOOLEAN", "DATE", "DATETIME", "JSON"]
            for (name, type) in types.map({ ("a_" + $0.lowercased(), $0) }) + [("empty", "STRING")] {
                try await ask("applications/demo/properties", #"{"name": "\#(name)", "type": "\#(type)"}"#)
            }
            try await operators.listeners.parts.directory.refresh()
            let password = #""password": "four words of a song""#
            let registered = try await operators.listeners.call(
                .post,
                "/demo/\(Self.key)/users/register",
                headers: [.contentType: "application/json"],
                body: #"{"email": "ann@example.com", \#(password)}"#
            )
            let id = try #require(registered.json?["objectId"]?.string, "\(registered.text)")
            try await operators.database.psql(
                #"""
                update demo.users set name = 'Ann "O" Zoë', locale = 'en', updated = now(), email_verified = true,
                    a_string = 'é', a_text = E'two\nlines', a_int = 9007199254740993, a_double = 0.1, a_boolean = false,
                    a_date = '0044-03-15', a_datetime = '1969-12-31T23:59:59.9995Z', a_json = '{"b": [1.50, null], "a": {}}',
                    dynamic = '{"undeclared": {"b": 1, "a": [true]}, "city": "Bern"}'
                """#
            )
            let mine = try await operators.listeners.call(
                .post,
                "/demo/\(Self.key)/users/login",
                headers: [.contentType: "application/json"],
                body: #"{"login": "ann@example.com", \#(password)}"#
            )
            let theirs = try await operators.send(.get, "applications/demo/users/\(id)")
            func members(_ object: JSONObject?, without own: String) throws -> [String] {
                try #require(object).members.filter { $0.key != own }.map { "\($0.key): \($0.value.text)" }
            }
            let client = try members(mine.json, without: "user-token")
            let person = try members(theirs.json?["user"]?.object, without: "emailVerified")
            #expect(client == person)
            #expect(client.count == 10 + 2 + types.count + 1 + 2, "\(client)")
            #expect(client.contains("a_datetime: -1") && client.contains("empty: null"), "\(client)")
            #expect(theirs.json?["user"]?.object?["emailVerified"]?.bool == true)
        }
    }
}
