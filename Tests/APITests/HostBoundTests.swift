import Accounts
import Applications
import HTTPTypes
import Testing
import TestSupport

@Suite("The base path /api")
struct HostBoundTests {
    @Test("leads to the application that has the host name, and to no other")
    func byHost() async throws {
        try await withApplications { listeners in
            // The refusal of an unknown session shows that an application was found.
            for host in ["one.example", "ONE.example:8443", "one.example:", "uno.example"] {
                #expect(try await listeners.call(.get, "/api/users/sessions", host: host).reason == "session_invalid")
            }
            for host in [
                "two.example", "api", "", "one.example.", "one.example:80x", "x.one.example", "one.example/",
                "both.example",
                "öne.example", String(repeating: "a", count: 5000),
            ] {
                #expect(
                    try await listeners.call(.get, "/api/users/sessions", host: host).reason == "unknown_application"
                )
            }
            #expect(try await listeners.call(.get, "/api/users/sessions", host: nil).reason == "unknown_application")
            let forwarded: HTTPFields = [try #require(HTTPField.Name("X-Forwarded-Host")): "one.example"]
            let reply = try await listeners.call(.get, "/api/users/sessions", host: "evil.example", headers: forwarded)
            #expect(reply.reason == "unknown_application")
        }
    }

    @Test("leaves an application whose id is api its paths with a key")
    func applicationNamedAPI() async throws {
        try await withApplications { listeners in
            for host in ["one.example", "elsewhere.example"] {
                let reply = try await listeners.call(.get, "/api/\(Self.key)/users/sessions", host: host)
                #expect(reply.reason == "session_invalid")
            }
            let wrong = try await listeners.call(.get, "/api/\(Self.key)x/users/sessions", host: "one.example")
            #expect(wrong.reason == "unknown_application")
            #expect(try await listeners.call(.get, "/one/\(Self.key)/users/sessions").reason == "unknown_application")
        }
    }

    @Test(
        "has the same routes and methods as the other forms",
        arguments: ["/api", "/api/\(key)", "/one/\(key)", "/v1", "/v1/\(key)"]
    )
    func routes(base: String) async throws {
        let listeners = try Listeners()
        for (path, allowed) in [
            ("users/loginWithFacebook", "POST"), ("users/social/facebook/login", "POST"), ("users/logout", "GET"),
            ("data/Users", "GET, POST, PUT"), ("data/Users/x", "DELETE, GET, PUT"), ("users/x", "DELETE, GET, PUT"),
            ("users/register/guest", "POST"),
            ("register", "POST"),
        ] {
            for method in [HTTPRequest.Method.get, .head, .post, .put, .trace] where !allowed.contains(method.rawValue)
            {
                let reply = try await listeners.call(method, "\(base)/\(path)")
                #expect(reply.status == 405, "\(method) \(path)")
                #expect(reply.headers[.allow] == allowed)
            }
        }
        #expect(try await listeners.call(.get, "\(base)/nothing").reason == "not_found")
    }

    @Test("follows the origins that the application of the host allows")
    func origins() async throws {
        try await withApplications { listeners in
            func allowed(_ host: String, _ path: String) async throws -> String? {
                let headers: HTTPFields = [.origin: "https://evil.example"]
                return try await listeners.call(.get, path, host: host, headers: headers)
                    .headers[.accessControlAllowOrigin]
            }
            #expect(try await allowed("one.example", "/api/users/logout") == nil)
            #expect(try await allowed("uno.example", "/api") == nil)
            #expect(try await allowed("one.example", "/api/\(Self.key)/users/logout") == "*")
            #expect(try await allowed("two.example", "/api/users/logout") == "*")
            let good: HTTPFields = [.origin: "https://app.example"]
            let reply = try await listeners.call(.get, "/api/users/logout", host: "one.example", headers: good)
            #expect(reply.headers[.accessControlAllowOrigin] == "https://app.example")
        }
    }

    private static let key = "key-0123456789abcdef"

    /// Lends listeners that know three applications: `one`, `two` and `api`.
    ///
    /// `one` has host names, and `two` claims one of them, too; `api` has an API key.
    private func withApplications(_ body: @escaping @Sendable (Listeners) async throws -> Void) async throws {
        try await withDatabase(.schema) { database in
            try await database.psql(
                """
                insert into federation.applications (id, name, schema_name, settings) values
                    ('one', 'One', 'one', '{"hostNames": ["one.example", "uno.example", "both.example"],
                                            "allowedOrigins": ["https://app.example"]}'),
                    ('two', 'Two', 'two', '{"hostNames": ["both.example"]}'),
                    ('api', 'API', 'api', '{}');
                select federation.create_application_schema(schema_name) from federation.applications;
                insert into federation.api_keys (application_id, key_hash, label)
                    values ('api', sha256('\(Self.key)'), 'key');
                """
            )
            try await Listeners.onDatabase(database.url) { listeners in
                try await listeners.parts.directory.refresh()
                try await body(listeners)
            }
        }
    }
}
