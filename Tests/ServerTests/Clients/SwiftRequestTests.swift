import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

@Suite(
    "The requests of the Swift SDK",
    .serialized,
    .deployed(
        Document(
            settings: #"{"roles": ["Editor"]}"#,
            properties:
                #"{"nick": {"type": "STRING", "clientMappable": true}, "age": {"type": "INT", "clientMappable": true}}"#,
            mapping: #"{"name": "name"}"#
        )
    )
)
struct SwiftRequestTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let password = "four canary words tonight"

    /// Members in an order that nobody chose.
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

        // Every property, `user-token` and the password among them, which is still the one that it registered with.
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
