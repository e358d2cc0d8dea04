@testable import AdministrationAPI
import Domain
import EmbeddedFiles
import Encodings
import HTTPTypes
import Testing
import TestSupport

@Suite("Administrative requests and replies")
struct RequestTests {
    private static let shop = #"{"application": "shop"}"#

    @Test("what is made has a location and a tag; a tag guards changes and saves reading")
    func tags() async throws {
        try await Operators.lend { operators in
            let made = try await operators.send(.post, "applications", json: Self.shop)
            #expect(made.status == 201)
            let path = try #require(made.headers[.location])
            #expect(path == "/admin/v1/applications/shop")
            let tag = try #require(made.headers[.eTag])
            #expect(try await operators.send(.get, path).headers[.eTag] == tag)

            let unchanged = try await operators.send(.get, path, headers: [.ifNoneMatch: "W/\(tag), \"x\""])
            #expect(unchanged.status == 304)
            #expect(unchanged.text == "")
            #expect(unchanged.headers[.eTag] == tag)
            #expect(try await operators.send(.get, path, headers: [.ifNoneMatch: "\"x\""]).status == 200)
            #expect(try await operators.send(.get, path, headers: [.ifNoneMatch: "x"]).status == 400)

            let patch = #"{"name": "Shop"}"#
            func change(_ match: String?) async throws -> Reply {
                let headers: HTTPFields = match.map { [.ifMatch: $0] } ?? [:]
                return try await operators.send(.patch, path, headers: headers, json: patch)
            }
            #expect(try await change(nil).reason == "precondition_required")
            #expect(try await change("\"x\"").reason == "precondition_failed")
            #expect(try await change("W/\(tag)").reason == "precondition_failed")
            #expect(try await change("x").reason == "malformed_request")
            let changed = try await change("\"x\", \(tag)")
            #expect(changed.status == 200)
            #expect(changed.headers[.eTag] != tag)
            #expect(try await change(tag).reason == "precondition_failed")
            #expect(try await change("*").status == 200)

            let headers: HTTPFields = [.ifMatch: "*"]
            #expect(try await operators.send(.delete, path, headers: headers).status == 400)
            #expect(try await operators.send(.delete, path + "?confirm=shop", headers: headers).status == 204)
            #expect(try await operators.send(.get, path).reason == "not_found")
        }
    }

    @Test("a label may hold any text; its path is the location", arguments: ["ios", "a/b c?d#e%2F+&=", "ü😀", "%"])
    func labels(label: String) async throws {
        try await Operators.lend { operators in
            try await operators.send(.post, "applications", json: Self.shop)
            let body = JSONValue.object(["label": .string(label)]).text
            let made = try await operators.send(.post, "applications/shop/keys", json: body)
            #expect(made.status == 201)
            let path = try #require(made.headers[.location])
            let headers: HTTPFields = [.ifMatch: "*", .contentType: "application/merge-patch+json"]
            let renamed = try await operators.send(.patch, path, headers: headers, json: #"{"label": "other"}"#)
            #expect(renamed.status == 200)
            #expect(try await operators.send(.delete, path, headers: headers).reason == "not_found")
            let other = try await operators.send(.delete, "applications/shop/keys/other", headers: headers)
            #expect(other.status == 204)
        }
    }

    @Test("bodies have their media type and their limit, and pass the JSON gate")
    func bodies() async throws {
        try await Operators.lend { operators in
            func post(_ json: String, _ type: String) async throws -> String? {
                try await operators.send(.post, "applications", headers: [.contentType: type], json: json).reason
            }
            for type in [
                "text/plain", "application/merge-patch+json", "application/jsonx", "application/x-www-form-urlencoded",
            ] {
                #expect(try await post(Self.shop, type) == "unsupported_media_type")
            }
            #expect(try await operators.send(.post, "applications").reason == "unsupported_media_type")
            for json in [
                "", "{", "{}x", #"{"application": "a", "application": "b"}"#, "\u{FEFF}{}",
                #"{"application": "\u0000"}"#,
            ] {
                #expect(try await post(json, "application/json") == "malformed_request", "\(json)")
            }
            for json in ["[]", "null", "1", "{}", #"{"application": "a", "x": 1}"#] {
                #expect(try await post(json, "application/json; charset=utf-8") == "document_invalid", "\(json)")
            }
            let limit = AdministrationCall.bodyLimits.bytes
            let large = #"{"application": "shop"}"# + String(repeating: " ", count: limit)
            #expect(try await post(String(large.prefix(limit)), "application/json") == nil)
            #expect(try await post(String(large.prefix(limit + 1)), "application/json") == "payload_too_large")
            let headers: HTTPFields = [.ifMatch: "*", .contentType: "application/merge-patch+json"]
            let put = try await operators.send(
                .put,
                "applications/shop/mappings/facebook",
                headers: headers,
                json: "[]"
            )
            #expect(put.reason == "unsupported_media_type")
        }
    }

    @Test("every route refuses query parameters that it does not know, and those that are there twice")
    func queries() async throws {
        try await Operators.lend { operators in
            // The setup token creates the first owner, and only while there is no operator.
            for route in AdministrationRoute.all where !route.path.hasSuffix("/setup") {
                let unknown = try await operators.send(route.method, route.filledPath + "?x=1")
                #expect(unknown.reason == "malformed_request", "\(route.path)")
                for name in route.query {
                    let twice = try await operators.send(route.method, route.filledPath + "?\(name)=1&\(name)=1")
                    #expect(twice.reason == "malformed_request", "\(route.path)")
                }
            }
            for query in ["limit=0", "limit=201", "limit=x", "limit=-1", "limit=99999999999999999999", "cursor=%00"] {
                #expect(try await operators.send(.get, "applications?" + query).reason == "malformed_request")
            }
            let half = try await operators.send(.get, "applications/x/users?property=nick")
            #expect(half.reason == "malformed_request")
        }
    }

    @Test("a path is decoded once; what cannot be decoded is refused, and what no name can be is not found")
    func paths() async throws {
        try await Operators.lend { operators in
            try await operators.send(.post, "applications", json: Self.shop)
            #expect(try await operators.send(.get, "applications/%73hop").status == 200)
            #expect(try await operators.send(.get, "applications/%2573hop").reason == "not_found")
            #expect(try await operators.send(.get, "applications/shop%2Fkeys").reason == "not_found")
            for name in ["%", "%zz", "%00", "%C3", "shop%00"] {
                #expect(try await operators.send(.get, "applications/\(name)").reason == "malformed_request")
            }
            let long = String(repeating: "a", count: 513)
            #expect(try await operators.send(.get, "applications/\(long)").reason == "not_found")
        }
    }

    @Test("a provider that there is not is not found before the database is asked")
    func providers() async throws {
        try await Operators.lend { operators in
            for path in [
                "providers/twitter", "providers/Facebook", "mappings/twitter", "users/x/identities/twitter/1/2",
            ] {
                let method: HTTPRequest.Method = path.hasPrefix("users") ? .delete : .get
                let reply = try await operators.send(method, "applications/x/\(path)")
                #expect(reply.reason == "not_found", "\(path)")
            }
        }
    }

    @Test("an application's document is for the application of the path only, and dryRun is true or false")
    func documents() async throws {
        try await Operators.lend { operators in
            let other = try await operators.send(.put, "applications/other/document", json: Self.shop)
            #expect(other.reason == "document_invalid")
            let problem = other.json?["errorData"]?.object?["problems"]?.array?.first?.object
            #expect(problem?["pointer"]?.string == "/application")
            func apply(_ query: String) async throws -> Reply {
                try await operators.send(.put, "applications/shop/document" + query, json: Self.shop)
            }
            #expect(try await apply("?dryRun=yes").reason == "malformed_request")
            #expect(try await apply("?dryRun=true").status == 200)
            #expect(try await operators.send(.get, "applications/shop").reason == "not_found")
            #expect(try await apply("?dryRun=false").status == 200)
            #expect(try await operators.send(.get, "applications/shop").status == 200)
        }
    }

    @Test("the document of the management listener is served to operators")
    func openAPI() async throws {
        try await Operators.lend { operators in
            let reply = try await operators.send(.get, "openapi.json", as: .viewer)
            #expect(Array(reply.text.utf8) == EmbeddedFiles.managementOpenAPI)
        }
    }
}
