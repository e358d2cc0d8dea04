import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The requests of the Swift SDK",
    .serialized,
    .deployed(
        Document(
            settings: #"{"roles": ["Editor"]}"#,
            properties:
                """
                {"nick": {"type": "STRING", "clientMappable": true}, "age": {"type": "INT", "clientMappable": true},
                 "seen": {"type": "DATETIME", "clientMappable": true}}
                """,
            mapping: #"{"name": "name"}"#
        )
    )
)
struct SwiftRequestTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let password = "four canary words tonight"

    /// Sends members in random order.
    private func send(
        _ method: String,
        _ endpoint: String,
        _ members: [String: JSONValue]? = nil,
        token: String? = nil
    ) async throws -> HTTPReply {
        let body = members.map { members in
            JSONValue.object(JSONObject(members.shuffled().map { JSONObject.Member($0.key, $0.value) })).text
        }
        var headers: [(String, String)] = token.map { [("user-token", $0)] } ?? []
        if body != nil { headers.append(("Content-Type", "application/json")) }
        return try await deployment.client.send(
            method,
            deployment.path(endpoint),
            headers: headers,
            body: Array((body ?? "").utf8)
        )
    }

    @Test("register, log in, send every property back with the password, log out")
    func story() async throws {
        let email = JSONValue.string("swift.canary@example.com")
        let registered = try SwiftClient.user(
            try await send(
                "POST",
                "users/register",
                [
                    "email": email, "password": .string(Self.password), "blUserLocale": .string("de"),
                    "nick": .string("S"),
                ]
            )
        )
        #expect(registered?["nick"]?.string == "S")
        let login = try #require(
            try SwiftClient.user(
                try await send("POST", "users/login", ["login": email, "password": .string(Self.password)])
            )
        )
        let token = try #require(login["user-token"]?.string)
        let id = try #require(login["objectId"]?.string)

        // Every property, with `user-token` and the unchanged password.
        var members = Dictionary(uniqueKeysWithValues: login.members.map { ($0.key, $0.value) })
        members["password"] = .string(Self.password)
        members["age"] = .string("41")
        let updated = try SwiftClient.user(try await send("PUT", "users/\(id)", members, token: token))
        #expect(updated?["age"]?.integer == 41)
        #expect(updated?["objectId"]?.string == id)
        #expect(updated?["password"] == nil && updated?["user-token"] == nil)
        let valid = try SwiftClient.value(try await send("GET", "users/isvalidusertoken/\(token)", token: token))
        #expect(valid == .bool(true), "the session lives on")
        #expect(try SwiftClient.value(try await send("GET", "users/userroles", token: token))?.array?.count == 1)
        try SwiftClient.nothing(try await send("GET", "users/logout", token: token))
    }

    @Test("a social login always has a mapping, and a guest has its class")
    func social() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let members: [String: JSONValue] = ["accessToken": .string(ann.token), "fieldsMapping": .object([:])]
        let user = try #require(try SwiftClient.user(try await send("POST", "users/social/facebook/login", members)))
        #expect(user["name"]?.string == "Ann")
        #expect(user["user-token"]?.string?.utf8.count == 43)
        let guest = try #require(try SwiftClient.user(try await send("POST", "users/register/guest")))
        #expect(guest["userStatus"]?.string == "GUEST")
    }

    @Test("the own record by the data service: read, saved and removed; what is not the own is a fault with its code")
    func dataService() async throws {
        let email = JSONValue.string("swift.data.canary@example.com")
        let password = JSONValue.string(Self.password)
        _ = try await send("POST", "users/register", ["email": email, "password": password])
        let login = try #require(
            try SwiftClient.user(try await send("POST", "users/login", ["login": email, "password": password]))
        )
        let token = try #require(login["user-token"]?.string)
        let id = try #require(login["objectId"]?.string)
        let read = try SwiftClient.user(try await send("GET", "data/Users/\(id)?relationsPageSize=10", token: token))
        #expect(read?["email"] == email)
        // Every column of the read object, as Swift's mapping to a class writes it.
        var columns = Dictionary(uniqueKeysWithValues: try #require(read).members.map { ($0.key, $0.value) })
        (columns["age"], columns["seen"]) = (.integer(42), .integer(1_700_000_123_456))
        for path in ["data/Users/\(id)", "data/Users/upsert", "data/Users/deep-save"] {
            let saved = try SwiftClient.user(try await send("PUT", path, columns, token: token))
            #expect(saved?["age"]?.integer == 42 && saved?["seen"]?.integer == 1_700_000_123_456, "\(path)")
        }
        let query: [String: JSONValue] = [
            "where": .string("email = 'swift.data.canary@example.com'"), "relationsPageSize": .integer(10),
            "pageSize": .integer(10), "offset": .integer(0), "distinct": .bool(false),
        ]
        let expression = JSONValue.object([
            "___class": .string("BackendlessExpression"), "value": .string("age + 1"),
        ])
        let other = "data/Users/00000000-0000-0000-0000-000000000000"
        let refused: [(method: String, path: String, members: [String: JSONValue]?, code: Int64)] = [
            ("POST", "data/Users/find", query, 1013), ("GET", "data/Users/count?where=age%20%3E%201", nil, 1013),
            ("GET", "data/Users/count", nil, 1013), ("POST", "data/Users", ["age": .integer(1)], 1002),
            ("PUT", "data/Users/\(id)", ["age": expression], 8132), ("PUT", other, ["age": .integer(1)], 3029),
            ("DELETE", other, nil, 1014), ("GET", "users/role/Editor?loadRoles=false", nil, 3054),
        ]
        for (method, path, members, code) in refused {
            let reply = try await send(method, path, members, token: token)
            let fault = #expect(throws: SwiftClient.Fault.self, "\(path)") { try SwiftClient.value(reply) }
            #expect(fault?.code == code && fault?.message?.isEmpty == false, "\(path): \(reply.text)")
        }
        let removed = try SwiftClient.value(try await send("DELETE", "data/Users/\(id)", token: token))
        #expect(removed?.object?["deletionTime"]?.integer != nil)
    }

    @Test("a user can have no properties that make a reply look like a fault")
    func faultLikeProperties() async throws {
        let email = JSONValue.string("fault.canary@example.com")
        let reply = try await send(
            "POST",
            "users/register",
            ["email": email, "password": .string(Self.password), "code": .integer(1), "message": .string("boo")]
        )
        let data = try expectProblem(reply, "property_undeclared")
        #expect(Set((data["properties"]?.array ?? []).compactMap(\.string)) == ["code", "message"])
    }
}
