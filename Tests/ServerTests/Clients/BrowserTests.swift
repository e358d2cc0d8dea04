import Domain
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Browsers of other origins",
    .serialized,
    .deployed(
        Document(mapping: #"{"name": "name"}"#),
        Document(application: "closed", settings: #"{"allowedOrigins": ["https://app.example.com"]}"#)
    )
)
struct BrowserTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let page = "https://page.example.com"

    private func preflight(from origin: String, of document: Document? = nil) async throws -> HTTPReply {
        try await deployment.client.send(
            "OPTIONS",
            deployment.path("users/loginWithFacebook", of: document),
            headers: [
                ("Origin", origin), ("Access-Control-Request-Method", "POST"),
                ("Access-Control-Request-Headers", "content-type,user-token"),
            ]
        )
    }

    @Test("a preflight is answered with what browser SDKs send")
    func preflight() async throws {
        let reply = try await preflight(from: Self.page)
        #expect(reply.status == 204)
        #expect(reply.header("Access-Control-Allow-Origin") == "*")
        let methods = reply.header("Access-Control-Allow-Methods") ?? ""
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] { #expect(methods.contains(method)) }
        let headers = reply.header("Access-Control-Allow-Headers")?.lowercased() ?? ""
        #expect(headers.contains("content-type") && headers.contains("user-token"))
        #expect(reply.header("Access-Control-Allow-Credentials") == nil)
    }

    @Test("headers that mean nothing to the service are allowed, whoever adds them; those that forge a request are not")
    func anyHeaders() async throws {
        func allowed(_ asked: String?, at path: String) async throws -> String? {
            let reply = try await deployment.client.send(
                "OPTIONS",
                path,
                headers: [("Origin", Self.page), ("Access-Control-Request-Method", "GET")]
                    + (asked.map { [("Access-Control-Request-Headers", $0)] } ?? [])
            )
            #expect(reply.status == 204)
            #expect(reply.header("Access-Control-Allow-Origin") == "*")
            return reply.header("Access-Control-Allow-Headers")
        }
        let traces = "baggage,sentry-trace,traceparent,tracestate,x-requested-with,x-nobody-knows-this-one"
        let login = deployment.path("users/loginWithFacebook")
        for path in [login, "/api/users/login", "/v1/users/login", "/openapi.json"] {
            #expect(try await allowed(traces, at: path) == traces.replacing(",", with: ", "), "\(path)")
        }
        let forged = "content-type, x-forwarded-for, Forwarded, X-Real-IP, x-http-method-override, x-original-url"
        let path = deployment.path("users/login")
        #expect(try await allowed(forged, at: path) == "content-type")
        #expect(try await allowed("x-forwarded-for", at: path) == nil)
        #expect(try await allowed(nil, at: path) == nil)
        #expect(try await allowed("x\u{e4}, (, a b, content-type", at: path) == "a, content-type")
    }

    @Test("replies and errors can be read by a page, with the headers that are ours")
    func exposedHeaders() async throws {
        let ann = try await deployment.newcomer()
        let origin = [("Origin", Self.page)]
        let login = try await deployment.login(ann, headers: origin)
        let refusal = try await deployment.login(body: "{}", headers: origin)
        try expectProblem(refusal, "credential_missing")
        let nowhere = try await deployment.client.get("/nowhere", headers: origin)
        for reply in [login, refusal, nowhere] {
            #expect(reply.header("Access-Control-Allow-Origin") == "*")
            let exposed = reply.header("Access-Control-Expose-Headers") ?? ""
            #expect(exposed.contains("Federation-User-Created") && exposed.contains("Federation-Missing-Permissions"))
            #expect(reply.header("Access-Control-Allow-Credentials") == nil)
        }
        #expect(try await deployment.login(ann).header("Access-Control-Allow-Origin") == nil, "no origin, no CORS")
    }

    @Test("an operator's list of origins is compared as a whole")
    func allowedOrigins() async throws {
        let closed = deployment.documents[1]
        let ours = try await preflight(from: "https://app.example.com", of: closed)
        #expect(ours.header("Access-Control-Allow-Origin") == "https://app.example.com")
        #expect(ours.header("Vary")?.contains("Origin") == true)
        for origin in [
            Self.page, "http://app.example.com", "https://app.example.com.evil.example", "https://evil-app.example.com",
            "https://app.example.com:8443", "null", "https://APP.example.com", "",
        ] {
            #expect(
                try await preflight(from: origin, of: closed).header("Access-Control-Allow-Origin") == nil,
                "\(origin)"
            )
            let reply = try await deployment.login(body: "{}", to: closed, headers: [("Origin", origin)])
            #expect(reply.header("Access-Control-Allow-Origin") == nil, "\(origin)")
        }
    }
}
