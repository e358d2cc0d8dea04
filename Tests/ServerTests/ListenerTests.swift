import Identity
import TestSupport
import Testing

@Suite("The two listeners", .serialized, .deployed(Document(mapping: #"{"name": "name"}"#)))
struct ListenerTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("what does not exist is not found, in the same shape as every error")
    func notFound() async throws {
        let paths = [
            "/", "/health/live", "/health", "/metrics", "/admin", "/admin/v1/operator", "/api", "/api/users", "/demo",
            "/demo/\(Canary.apiKey)",
            deployment.path(""), deployment.path("users"), deployment.path("login"), deployment.path("data"),
            "/v1" + deployment.path("users/loginWithFacebook"), deployment.path("users/loginWithFacebook/x"), "//",
            "/%2e%2e/%2e%2e/etc/passwd",
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
        let token = try await deployment.newcomer().token
        try await deployment.expectNothingWritten {
            for path in [
                deployment.path("users/loginWithFacebook"), "/applications", "/console", "/metrics", "/",
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
        }
    }

    @Test("a request that is no HTTP is refused, and the hidden second one is not executed")
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
            ]
            for framing in framings {
                let reply = try await deployment.client.exchange(login + framing + hidden, within: .seconds(2))
                #expect(!reply.text.contains("HTTP/1.1 200"), "\(framing.debugDescription): \(reply.text.prefix(300))")
            }
        }
    }
}
