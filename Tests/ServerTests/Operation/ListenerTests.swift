import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("The two listeners", .serialized, .deployed(Document(mapping: #"{"name": "name"}"#)))
struct ListenerTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("what does not exist is not found, in the same shape as every error")
    func notFound() async throws {
        let paths = [
            "/", "/health/live", "/health", "/metrics", "/admin", "/admin/v1/operator", "/api", "/api/people", "/demo",
            "/demo/\(Canary.apiKey)",
            deployment.path(""), deployment.path("people"), deployment.path("login"), deployment.path("data"),
            "/v1" + deployment.path("users/loginWithFacebook"), deployment.path("users/loginWithFacebook/x"), "//",
            "/%2e%2e/%2e%2e/etc/passwd", "/openapi.json/", "//openapi.json", "/./openapi.json", "/x/../openapi.json",
            "/%2fopenapi.json", "/%6fpenapi.json",
        ]
        for path in paths {
            try expectProblem(try await deployment.client.get(path), "not_found", "\(path)")
            try expectProblem(try await deployment.client.post(path, json: "{}"), "not_found", "\(path)")
        }
    }

    @Test("a path that exists takes its own method only")
    func methodNotAllowed() async throws {
        let login = deployment.path("users/loginWithFacebook")
        for method in ["GET", "PUT", "PATCH", "DELETE"] {
            try expectProblem(try await deployment.client.send(method, login), "method_not_allowed", "\(method)")
        }
        for path in [deployment.path("users/logout"), deployment.path("users/isvalidusertoken/x")] {
            try expectProblem(try await deployment.client.post(path, json: "{}"), "method_not_allowed", "\(path)")
        }
        for method in ["TRACE", "CONNECT", "PROPFIND", "BREW"] {
            let reply = try await deployment.client.exchange(
                "\(method) \(login) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            )
            #expect(reply.text.hasPrefix("HTTP/1.1 40"), "\(method): \(reply.text.prefix(40))")
        }
    }

    @Test("HEAD is answered without a body and logs nobody in")
    func head() async throws {
        try await deployment.expectNothingWritten {
            for path in [deployment.path("users/loginWithFacebook"), "/"] {
                let reply = try await deployment.client.exchange(
                    "HEAD \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                )
                let parts = reply.text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
                #expect(parts.first?.hasPrefix("HTTP/1.1 40") == true, "\(reply.text)")
                #expect(parts.last == "", "\(reply.text)")
            }
        }
    }

    @Test("the management listener serves health, and nothing of the public API or without a token")
    func management() async throws {
        let management = deployment.service.management
        for path in ["/health/live", "/health/ready"] {
            let reply = try await management.get(path)
            #expect(reply.status == 200)
            #expect(JSON.object(reply.text)?["status"]?.string == (path == "/health/live" ? "live" : "ready"))
            #expect(reply.header("X-Request-Id") != nil)
        }
        // Without a session the console redirects to its login page.
        let console = try await management.get("/console")
        #expect(console.status == 303 && console.header("Location") == "/console/login" && console.body.isEmpty)
        let token = try await deployment.newcomer().token
        try await deployment.expectNothingWritten {
            for path in [
                deployment.path("users/loginWithFacebook"), "/applications", "/consoles", "/",
            ] {
                try expectProblem(
                    try await management.post(path, json: #"{"accessToken": "\#(token)"}"#),
                    "not_found",
                    "\(path)"
                )
                try expectProblem(try await management.get(path), "not_found", "\(path)")
            }
            for path in ["/admin", "/admin/v1/applications"] {
                try expectProblem(try await management.get(path), "operator_token_invalid", "\(path)")
            }
            for path in [
                "//admin", "/admin/", "/admin//v1/applications", "/health//ready", "/health/ready/", "/./health/ready",
            ] {
                try expectProblem(try await management.get(path), "not_found", "\(path)")
            }
        }
    }

    /// Both listeners, each with a path that returns 200.
    private var listeners: [(client: HTTPClient, path: String)] {
        [(deployment.client, "/openapi.json"), (deployment.service.management, "/health/live")]
    }

    /// Returns the statuses and reasons of all responses to the bytes, such as `200 400 malformed_request`.
    private func answers(of client: HTTPClient, to text: String) async throws -> String {
        let reply = try await client.exchange(text)
        let statuses = reply.text.matches(of: /HTTP\/1\.1 (\d+)/).map { $0.1 }
        let reasons = reply.text.matches(of: /"reason":"(\w+)"/).map { $0.1 }
        #expect(reply.end == .closed, "\(reply.text)")
        return (statuses + reasons).joined(separator: " ")
    }

    @Test(
        "T-99: a request has one Host and a plain target of at most 8,000 bytes, on both listeners; behind any other the connection ends"
    )
    func heads() async throws {
        for (client, path) in listeners {
            let long = String(repeating: "x", count: 8000 - path.utf8.count - 1)
            let fields = String(repeating: "A: \(long.prefix(7000))\r\n", count: 5)
            let requests: [(String, String)] = [
                ("GET \(path) HTTP/1.1\r\n", "400 malformed_request"),
                ("GET \(path) HTTP/1.1\r\nHost: a\r\nHost: b\r\n", "400 malformed_request"),
                ("GET \(path) HTTP/1.1\r\nHost: a\r\nhost: a\r\n", "400 malformed_request"),
                ("GET \(path) HTTP/1.1\r\nHost: a,b\r\n", "400 malformed_request"),
                ("GET http://b\(path) HTTP/1.1\r\n", "400 malformed_request"),
                ("GET \(path)#x HTTP/1.1\r\nHost: a\r\n", "400 malformed_request"),
                ("GET host HTTP/1.1\r\nHost: a\r\n", "400 malformed_request"),
                ("GET ftp://b\(path) HTTP/1.1\r\nHost: a\r\n", "400 malformed_request"),
                ("CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n", "400 malformed_request"),
                ("GET \(path)?\(long)x HTTP/1.1\r\nHost: a\r\n", "414 target_too_long"),
                ("GET \(path)?\(long)\(long)\(long) HTTP/1.1\r\nHost: a\r\n", "414 target_too_long"),
                ("GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)", "400 malformed_request"),
                ("GET \(path) HTTP/1.1\nHost: a\n", "400 malformed_request"),
                ("GET \(path) HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n", "400 malformed_request"),
                ("GET \(path) HTTP/1.1\r\nHost : a\r\n", "400 malformed_request"),
                ("GET \(path) HTTP/1.1\r\nHost: a\rA: b\r\n", "400 malformed_request"),
                ("GET \(path) HTTP/1.2\r\nHost: a\r\n", "400 malformed_request"),
                ("GET \(path)\r\n", "400 malformed_request"),
                ("GET \(path)?\(long) HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n", "200"),
                ("GET http://b\(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", "200"),
                ("GET \(path) HTTP/1.0\r\n", "200"),
                ("GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n", "200"),
            ]
            for (request, expected) in requests {
                let first = "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n"
                #expect(try await answers(of: client, to: request + "\r\n") == expected, "\(request.prefix(80))")
                // Responses come in the order of the requests, and none after the refused one.
                let middle = try await answers(of: client, to: first + request + "\r\n" + first)
                let (status, reason) = (expected.prefix(3), expected.dropFirst(3))
                #expect(middle == "200 \(status)\(reason)", "\(request.prefix(80))")
            }
        }
    }

    @Test("T-99: trailers change nothing; those about connection or framing end it, and nothing behind is refused")
    func trailers() async throws {
        for (client, path) in listeners {
            let chunked = "GET \(path) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
            let last = "GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            for field in ["A: b", "Host: b", "Authorization: b", "Upgrade: h2c"] {
                let answers = try await answers(of: client, to: "\(chunked)\(field)\r\n\r\n\(last)")
                #expect(answers == "200 200", "\(field)")
            }
            for field in ["Connection: close", "Proxy-Connection: x", "Content-Length: 1", "Transfer-Encoding: x"] {
                let answers = try await answers(of: client, to: "\(chunked)\(field)\r\n\r\n\(last)")
                // A route that reads no body may respond before the trailer is refused.
                #expect(["", "200"].contains(answers), "\(field): \(answers)")
            }
        }
    }

    @Test("who waits to be told to send a body is told, once, and who has none is not")
    func expectation() async throws {
        let login = deployment.path("users/loginWithFacebook")
        let head = "POST \(login) HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
        let reply = try await deployment.client.exchange(
            head + "Connection: close\r\nContent-Length: 2\r\n\r\n{}"
        )
        #expect(reply.text.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 "), "\(reply.text)")
        for none in ["", "Content-Length: 0\r\n"] {
            let reply = try await deployment.client.exchange(head + none + "Connection: close\r\n\r\n")
            #expect(reply.text.hasPrefix("HTTP/1.1 400 "), "\(reply.text)")
        }
        let get = try await deployment.client.exchange(
            "GET /openapi.json HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
        )
        #expect(get.text.hasPrefix("HTTP/1.1 200 "), "\(get.text.prefix(200))")
    }

    @Test("T-99: a request that is no HTTP is refused, and the hidden second one is not executed")
    func smuggling() async throws {
        let body = #"{"accessToken": "\#(try await deployment.newcomer().token)"}"#
        let login =
            "POST \(deployment.path("users/loginWithFacebook")) HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        let hidden = "\(login)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        try await deployment.expectNothingWritten {
            let framings = [
                "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
                "Content-Length: -1\r\n\r\n", "Content-Length: 1e3\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
                "Transfer-Encoding: gzip\r\n\r\n", "Content-Length: 99999999999999999999\r\n\r\n",
                "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding: xchunked\r\n\r\n",
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\n0\n\n", "Transfer-Encoding: chunked\r\n\r\n0;a\n\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: y\n\r\n", "Content-Length: 5, 5\r\n\r\n",
                "Host: y\r\nContent-Length: 0\r\n\r\n",
                "Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n",
            ]
            for framing in framings {
                let reply = try await deployment.client.exchange(login + framing + hidden, within: .seconds(2))
                #expect(!reply.text.contains("HTTP/1.1 200"), "\(framing.debugDescription): \(reply.text.prefix(300))")
            }
        }
    }
}
