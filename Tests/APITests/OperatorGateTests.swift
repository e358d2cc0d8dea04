@testable import AdministrationAPI
@testable import Backendless
import Domain
import Encodings
import HTTPTypes
import Testing

@Suite("Without a token that counts")
struct OperatorGateTests {
    private static let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options, .trace]

    @Test("T-113: every administrative route is refused in the same words", arguments: AdministrationRoute.all)
    func everyRoute(route: AdministrationRoute) async throws {
        let listeners = try Listeners()
        for method in Self.methods {
            try await expectRefusal(try await listeners.manage(method, route.filledPath), of: method)
        }
    }

    @Test(
        "T-113: so is everything else under /admin, whether it exists or not",
        arguments: [
            "/admin", "/admin/v1", "/admin/v2/applications", "/admin/v1/nothing",
            "/admin/v1/applications/x/providers/twitter",
            "/admin/v1/operator?x=y", "/admin/%2e%2e/health/live", "/admin/v1/applications/x/keys/%00",
        ]
    )
    func everyPath(path: String) async throws {
        let listeners = try Listeners()
        for method in Self.methods { try await expectRefusal(try await listeners.manage(method, path), of: method) }
    }

    @Test(
        "what is not under /admin is not there, but health is",
        arguments: [
            "/", "/%61dmin/v1/operator", "/administer", "/admin/", "//admin", "//admin//v1//applications",
            "/admin/v1/applications/",
        ]
    )
    func elsewhere(path: String) async throws {
        let listeners = try Listeners()
        #expect(try await listeners.manage(.get, path).reason == "not_found")
        #expect(try await listeners.manage(.get, "/health/live").status == 200)
        let reply = try await listeners.manage(.post, "/health/live")
        #expect(reply.reason == "method_not_allowed")
        #expect(reply.headers[.allow] == "GET")
    }

    private static let token = "fedop_" + String(repeating: "A", count: 43)

    @Test(
        "what cannot be a token is refused without asking the database",
        arguments: [
            "", "Bearer", "Bearer ", "Basic YTpi", token, "Bearer \(token.dropLast())", "Bearer \(token)A",
            "Bearer \(token.dropLast())=", "Bearer FEDOP_\(token.dropFirst(6))", "Bearer x\(token)",
            "Bearer \(token), Bearer \(token)", "Token \(token)", "Bearer\t\(token)", "\(token) Bearer",
        ]
    )
    func malformed(header: String) async throws {
        let reply = try await Listeners().manage(.get, "/admin/v1/operator", headers: [.authorization: header])
        try await expectRefusal(reply, of: .get)
    }

    @Test("a token counts in its own header only")
    func elsewhereInTheRequest() async throws {
        let listeners = try Listeners()
        let headers: HTTPFields = [.userToken: Self.token, .cookie: "token=\(Self.token)"]
        let reply = try await listeners.manage(.get, "/admin/v1/operator?access_token=\(Self.token)", headers: headers)
        try await expectRefusal(reply, of: .get)
    }

    @Test("T-80: from the fifth failure on a source waits, whatever headers say of it; others do not")
    func slowed() async throws {
        let listeners = try Listeners()
        func attempt(_ address: String, _ headers: HTTPFields = [:]) async throws -> Reply {
            let headers = HTTPFields([.init(name: .authorization, value: "Bearer wrong")] + Array(headers))
            return try await listeners.manage(.get, "/admin/v1/operator", headers: headers, from: address)
        }
        for number in 1...5 {
            let forwarded = try #require(HTTPField.Name("X-Forwarded-For"))
            #expect(try await attempt("192.0.2.1", [forwarded: "198.51.100.\(number)"]).status == 401)
        }
        for name in ["X-Forwarded-For", "Forwarded", "X-Real-IP", "CF-Connecting-IP", "True-Client-IP"] {
            let name = try #require(HTTPField.Name(name))
            let reply = try await attempt("192.0.2.1", [name: "198.51.100.99"])
            #expect(reply.status == 429)
            #expect(reply.reason == "rate_limited")
            #expect(reply.headers[.retryAfter] == "1")
        }
        #expect(try await attempt("::ffff:192.0.2.1").status == 429)
        #expect(try await attempt("192.0.2.2").status == 401)
        for number in 1...5 { #expect(try await attempt("2001:db8::\(number)").status == 401) }
        #expect(try await attempt("2001:db8::ffff:1").status == 429)
        #expect(try await attempt("2001:db8:0:1::1").status == 401)
    }

    @Test("a request without any token is no attempt")
    func nothingSent() async throws {
        let listeners = try Listeners()
        for _ in 1...20 { #expect(try await listeners.manage(.get, "/admin/v1/operator").status == 401) }
    }

    @Test("no page of another origin gets anything: there are no CORS headers on this listener")
    func origins() async throws {
        let listeners = try Listeners()
        let headers: HTTPFields = [.origin: "https://evil.example", .accessControlRequestMethod: "GET"]
        for path in ["/admin/v1/operator", "/health/live"] {
            for method in [HTTPRequest.Method.get, .options] {
                let reply = try await listeners.manage(method, path, headers: headers)
                #expect(!reply.headers.contains { $0.name.canonicalName.hasPrefix("access-control-") })
            }
        }
    }

    private func expectRefusal(_ reply: Reply, of method: HTTPRequest.Method) async throws {
        #expect(reply.status == 401)
        #expect(reply.headers[.wwwAuthenticate] == "Bearer")
        #expect(reply.headers[.allow] == nil)
        #expect(reply.headers[.cacheControl] == "no-store")
        #expect(reply.headers[.xContentTypeOptions] == "nosniff")
        guard method != .head else { return #expect(reply.text == "") }
        let refusal = OperatorGate.refusal
        #expect(reply.reason == "operator_token_invalid")
        #expect(reply.json?["message"]?.string == refusal.message)
        #expect(reply.json?["errorData"]?.object?.members.map(\.key) == ["reason", "requestId"])
    }
}
